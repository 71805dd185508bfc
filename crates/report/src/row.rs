//! What the names of rows say: `xdp-native` is an arm, `lost/xdp-native` a further value of its
//! turn, `xdp-native@1000000` what it gave at one place of a curve.
//!
//! Rule: only arms, at whatever place, are compared with each other. Not here: values.

/// Whether this is what its arm is measured for.
pub(crate) fn is_main(name: &str) -> bool {
    !name.contains('/')
}

/// Whether this is the most that any arm could give, such as what the sender can do.
pub(crate) fn is_bound(name: &str) -> bool {
    name.split('@').next() == Some("limit")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_is_compared() {
        assert!(is_main("a@3") && !is_main("lost/a"));
        assert!(is_bound("limit") && is_bound("limit@5") && !is_bound("unlimited"));
    }
}
