//! Descriptions of streams, from text to bytes.

mod judge;
mod protocols;
