//! Bits of the flags byte of a TCP header (RFC 9293, section 3.1), at offset 13.

/// No more data from the sender.
pub const FIN: u8 = 0x01;
/// Synchronize sequence numbers.
pub const SYN: u8 = 0x02;
/// Reset the connection.
pub const RST: u8 = 0x04;
/// Deliver the data to the application now.
pub const PSH: u8 = 0x08;
/// The acknowledgment number is valid.
pub const ACK: u8 = 0x10;
/// The urgent pointer is valid.
pub const URG: u8 = 0x20;
/// Echo of a congestion mark (RFC 3168).
pub const ECE: u8 = 0x40;
/// The sender has reduced its congestion window (RFC 3168).
pub const CWR: u8 = 0x80;
