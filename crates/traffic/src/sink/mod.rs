//! `Sink`: counts what arrives, by stream, packet by packet.

mod report;

pub use report::{SinkReport, StreamReport};
