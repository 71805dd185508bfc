//! Descriptions of streams, from text to bytes.

mod judge;
mod protocols;
mod random;
mod refused;
mod tshark;
