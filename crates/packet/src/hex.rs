//! Bytes as hexadecimal text.

/// Two digits a byte, nothing between.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
