//! AF_XDP sockets, in Rust and C.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

mod asynchronous;
mod c;
mod device;
mod examples;
mod faults;
mod metadata;
mod packets;
mod queues;
mod sharing;
mod soak;
mod sockets;
mod steer;
mod wait;
