//! Descriptions of streams: protocols, fields and sizes by name, as text, flags or values; they
//! become [`Template`](crate::Template)s.

/// A description that cannot be sent: where in it, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {why}")]
pub struct Error {
    /// `stream "a", layer udp, field "dst"`, or a line of a file.
    pub place: String,
    pub why: String,
}
