//! What people write about packets: address prefixes and protocols, as text and as values.
//!
//! Rule: text is parsed once, here, into values that can only be right; functions and sockets speak
//! of packets in the same words. Not here: rules made of them, and matching.

mod prefix;
mod protocol;

pub use prefix::{Prefix, mask4, mask6};
pub use protocol::Protocol;

/// Text that is not what its place asks for; Display says what was meant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}`: {reason}")]
pub struct ParseError {
    pub text: String,
    pub reason: String,
}

impl ParseError {
    pub fn new(text: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { text: text.into(), reason: reason.into() }
    }
}
