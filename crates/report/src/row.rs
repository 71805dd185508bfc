//! The parts of the names of rows: `xdp-native` is an arm, `lost/xdp-native` a further value of its
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

/// Whether a greater value is a better one: of rates it is, of times, losses and costs it is not.
pub(crate) fn is_more_better(name: &str, unit: &str) -> bool {
    let is_rate = unit.ends_with("/s") || unit.ends_with("pps") || unit.ends_with("tps");
    let is_good_share = unit == "%" && GOOD_SHARES.iter().any(|word| name.starts_with(word));
    is_rate || is_good_share
}

/// How the names of shares begin that are better when they are greater.
const GOOD_SHARES: [&str; 4] = ["idle", "below", "within", "kept"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_units_say_what_is_better() {
        let better = [("a", "pps"), ("a", "Gbit/s"), ("a", "tps"), ("idle/a@2", "%"), ("a", "/s")];
        let worse = [("a", "ns"), ("a", "µs"), ("lost/a", "%"), ("a", "ns/packet"), ("a", "s")];
        assert!(better.iter().all(|(name, unit)| is_more_better(name, unit)));
        assert!(!worse.iter().any(|(name, unit)| is_more_better(name, unit)));
        assert!(is_main("a@3") && !is_main("lost/a"));
        assert!(is_bound("limit") && is_bound("limit@5") && !is_bound("unlimited"));
    }
}
