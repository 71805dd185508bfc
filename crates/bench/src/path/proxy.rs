//! The smallest proxy for UDP in user space: two sockets, one thread, 64 packets a call.

use std::net::UdpSocket;
use std::time::Duration;

use anyhow::{Context, Result};
use sys::net::Datagrams;

use super::{ActivePath, Journey, Path};
use crate::field::{Line, PORT, Worker};

/// A UDP proxy of one thread.
pub const PROXY: Path = Path {
    name: "proxy",
    about: "user space: one thread, recvmmsg and sendmmsg of 64 packets on two UDP sockets",
    journey: Journey::Translated,
    set: |line| Ok(Box::new(start(line)?)),
};

fn start(line: &Line) -> Result<Worker> {
    let (own, far, sink) = (line.near.ipv4()?, line.far.ipv4()?, line.sink.ipv4()?);
    let sockets = line.near.run(|| -> std::io::Result<_> {
        let (from, to) = (UdpSocket::bind((own, PORT))?, UdpSocket::bind((far, 0))?);
        from.set_read_timeout(Some(TURN))?;
        to.connect((sink, PORT))?;
        Ok((from, to))
    })?;
    let (from, to) = sockets.context("sockets of the proxy")?;
    let mut datagrams = Datagrams::new();
    Worker::start(line.cpus.process, move || {
        datagrams.receive(&from)?;
        datagrams.send(&to)?;
        Ok(())
    })
}

impl ActivePath for Worker {
    fn check(&mut self) -> Result<()> {
        Self::check(self)
    }
}

/// How long the thread sleeps when no packets arrive.
const TURN: Duration = Duration::from_millis(2);
