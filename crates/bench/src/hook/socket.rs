//! A UDP socket of this process: the whole stack, and the copy to user space.

use std::net::UdpSocket;

use anyhow::{Context, Result};
use sys::net::Datagrams;

use super::reader::{PATIENCE, Reader};
use super::{ActiveHook, Hook};
use crate::field::{Field, PORT};

/// Packets are received by a UDP socket.
pub const SOCKET: Hook = Hook::new(
    "socket",
    "a UDP socket that a thread on another processor reads, 64 packets a call (recvmmsg)",
    set,
)
.read();

fn set(field: &Field) -> Result<Box<dyn ActiveHook>> {
    let address = (field.receiver.ipv4()?, PORT);
    let socket = field.receiver.run(|| UdpSocket::bind(address))?;
    let socket = socket.with_context(|| format!("a socket at {}:{PORT}", address.0))?;
    socket.set_read_timeout(Some(PATIENCE)).context("a socket's patience")?;
    let mut datagrams = Datagrams::new();
    let read = move || Ok(datagrams.receive(&socket)?);
    Ok(Box::new(Reader::start(field.receiver_cpu, read)?))
}
