//! Bytes as text, in the form that the command line takes back.

/// Two digits a byte, nothing between.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// `hex:0a0b`, as `map update` reads it.
pub fn tagged(bytes: &[u8]) -> String {
    format!("hex:{}", hex(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_can_be_typed() {
        let bytes = [0, 10, 255];
        let text = tagged(&bytes);
        assert_eq!(text, "hex:000aff");
        assert_eq!(crate::args::parse_bytes(&text, 3).unwrap(), bytes.as_slice());
    }
}
