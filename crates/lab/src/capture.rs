//! Frames in and out of a host's interface, for tests and demonstrations.
//!
//! It sees what the stack sees: a frame that an XDP program dropped, sent back or redirected never
//! gets here.

use std::thread;
use std::time::{Duration, Instant};

use sys::errno::ENOBUFS;
use sys::net::PacketSocket;

use crate::error::{Error, Result};
use crate::host::Host;

/// Listens from the moment of opening; frames wait in the socket until they are read.
#[derive(Debug)]
pub struct Capture {
    socket: PacketSocket,
    place: String,
}

impl Capture {
    /// Opens a capture socket in the host's namespace, on one of its interfaces.
    pub fn open(host: &Host, interface: &str) -> Result<Self> {
        let ifindex = host.ifindex(interface)?;
        let socket = host.run(|| PacketSocket::open(ifindex))??;
        Ok(Self { socket, place: format!("{} {interface}", host.name()) })
    }

    /// The next frame that `wanted` likes; others are thrown away. [`Error::Timeout`] after
    /// `limit`.
    pub fn next(&self, limit: Duration, wanted: impl Fn(&[u8]) -> bool) -> Result<Vec<u8>> {
        let start = Instant::now();
        loop {
            let left = limit.saturating_sub(start.elapsed());
            match self.socket.receive(left)? {
                Some(frame) if wanted(&frame) => return Ok(frame),
                None if left.is_zero() => {
                    let what = format!("arrival of a frame at {}", self.place);
                    return Err(Error::Timeout { what, limit });
                }
                _ => {}
            }
        }
    }

    /// Everything that arrives until `quiet` passes without a frame that `wanted` likes; at most
    /// `most` frames.
    pub fn all(
        &self,
        quiet: Duration,
        most: usize,
        wanted: impl Fn(&[u8]) -> bool,
    ) -> Result<Vec<Vec<u8>>> {
        let mut frames = Vec::new();
        while frames.len() < most {
            match self.next(quiet, &wanted) {
                Ok(frame) => frames.push(frame),
                Err(Error::Timeout { .. }) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(frames)
    }

    /// Sends one whole frame out of the interface. While the other end of a veth pair has no room,
    /// because its processor is busy, the kernel drops the frame and reports that: then it is sent
    /// again.
    pub fn send(&self, frame: &[u8]) -> Result<()> {
        let begin = Instant::now();
        loop {
            match self.socket.send(frame) {
                Err(error) if error.is(ENOBUFS) && begin.elapsed() < ROOM => thread::yield_now(),
                other => return Ok(other?),
            }
        }
    }
}

/// How long a frame waits for room at the other end.
const ROOM: Duration = Duration::from_secs(1);
