//! The engine beside the kernel.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

mod delivery;
mod differential;
mod helpers;
mod inner_maps;
mod map_creation;
mod maps;
mod net;
mod net_tracking;
mod objects;
mod packets;
mod queues;
mod records;
mod redirect_maps;
