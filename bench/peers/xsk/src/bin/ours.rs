//! This repository's crate `xsk`.

use std::io;
use std::os::fd::AsRawFd;
use std::process::ExitCode;
use std::time::Duration;

use ours::{Interface, Rx, Tx, Umem};
use peers::kernel::{steer, xdp_dropped};
use peers::{Bridge, Dropped, Options, Port};

fn main() -> ExitCode {
    peers::main::<One, Two>()
}

fn memory() -> io::Result<Umem> {
    Umem::builder().frames(FRAMES).build().map_err(io::Error::other)
}

/// A socket, with the interface's program attached for as long as it lives; or in the map of a
/// program that is there.
fn open(umem: &Umem, options: &Options) -> io::Result<(Tx, Rx)> {
    let mut interface = Interface::builder(&options.device);
    if options.map.is_some() {
        interface = interface.without_steering();
    }
    let interface = interface.open().map_err(io::Error::other)?;
    let socket = interface.socket(options.queue).umem(umem).rings(RING).fill(RING).open();
    let (tx, rx) = socket.map_err(io::Error::other)?.split();
    steer(options.map, options.queue, rx.as_raw_fd())?;
    Ok((tx, rx))
}

/// One queue.
struct One {
    tx: Tx,
    rx: Rx,
}

impl Port for One {
    fn open(options: &Options) -> io::Result<Self> {
        let (tx, rx) = open(&memory()?, options)?;
        Ok(Self { tx, rx })
    }

    fn send(&mut self, n: usize, size: usize, write: impl FnMut(&mut [u8])) -> io::Result<usize> {
        let mut batch = self.tx.batch(n as u32);
        let sent = batch.send_burst(n, size, write).map_err(io::Error::other)?;
        batch.finish().map_err(io::Error::other)?;
        Ok(sent)
    }

    fn receive(&mut self, n: usize, mut read: impl FnMut(&[u8])) -> io::Result<usize> {
        Ok(self.rx.for_each(n, |frame| read(frame)))
    }

    fn echo(&mut self, n: usize, turn: impl FnMut(&mut [u8])) -> io::Result<(usize, usize)> {
        pass(&mut self.rx, &mut self.tx, n, turn)
    }

    fn wait(&mut self) -> io::Result<()> {
        self.rx.wait(WAIT).map(drop).map_err(io::Error::other)
    }

    fn in_flight(&mut self) -> io::Result<usize> {
        self.tx.flush().map_err(io::Error::other)?;
        Ok(self.tx.in_flight() as usize)
    }

    fn dropped(&self) -> Dropped {
        xdp_dropped(self.rx.as_raw_fd())
    }
}

/// Two queues of one memory; what the other halves would do is nobody's.
struct Two {
    from: (Tx, Rx),
    to: (Tx, Rx),
}

impl Bridge for Two {
    fn open(options: &Options) -> io::Result<Self> {
        let umem = memory()?;
        let from = open(&umem, options)?;
        let to = open(&umem, &options.out())?;
        Ok(Self { from, to })
    }

    fn forward(&mut self, n: usize, turn: impl FnMut(&mut [u8])) -> io::Result<(usize, usize)> {
        pass(&mut self.from.1, &mut self.to.0, n, turn)
    }

    fn wait(&mut self) -> io::Result<()> {
        self.from.1.wait(WAIT).map(drop).map_err(io::Error::other)
    }

    fn in_flight(&mut self) -> io::Result<usize> {
        self.to.0.flush().map_err(io::Error::other)?;
        Ok(self.to.0.in_flight() as usize)
    }

    fn dropped(&self) -> Dropped {
        xdp_dropped(self.from.1.as_raw_fd())
    }
}

/// Frames move from one half to the other; for which there is no room, back.
fn pass(
    rx: &mut Rx,
    tx: &mut Tx,
    n: usize,
    mut turn: impl FnMut(&mut [u8]),
) -> io::Result<(usize, usize)> {
    let (mut came, mut left) = (0, 0);
    let mut sending = tx.batch(n as u32);
    let mut receiving = rx.batch(n);
    while let Some(mut frame) = receiving.next() {
        turn(&mut frame);
        came += 1;
        match sending.push(frame) {
            Ok(()) => left += 1,
            Err(rejected) => receiving.recycle(rejected.frame),
        }
    }
    drop(receiving);
    sending.finish().map_err(io::Error::other)?;
    Ok((came, left))
}

const RING: u32 = 2048;
const FRAMES: u32 = 4096;
const WAIT: Duration = Duration::from_millis(1);
