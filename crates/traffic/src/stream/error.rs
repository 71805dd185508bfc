//! `Error`: a description that cannot be sent.

/// Where in a description, and why it cannot be sent: the author of the description must act.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {why}")]
pub struct Error {
    /// `stream "a", layer 3 (udp), field "dst"`, or `file` with the line in `why`.
    pub place: String,
    pub why: String,
}

impl Error {
    pub(super) fn new(place: impl Into<String>, why: impl Into<String>) -> Self {
        Self { place: place.into(), why: why.into() }
    }

    /// For one of a stream's own keys.
    pub(super) fn of_stream(name: &str, field: &str, why: impl Into<String>) -> Self {
        Self::new(format!("stream \"{name}\", field \"{field}\""), why)
    }
}
