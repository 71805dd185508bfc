//! What a peer can do, a batch at a time.

use std::io;

use crate::{Options, Wait};

/// Frames that the kernel had for a socket and did not deliver.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dropped {
    /// There was no room for it where the application takes its frames from.
    pub ring_full: u64,
    /// Something else: to AF_XDP, an empty frame was missing.
    pub others: u64,
}

/// One implementation's socket on one queue of one interface.
pub trait Port: Sized {
    /// Open, bound, and put into the map that frames are redirected by.
    fn open(options: &Options) -> io::Result<Self>;

    /// Takes back what was sent, lets `write` fill up to `n` frames of `size` bytes and hands them
    /// to the kernel. How many it were; none when there is no room.
    fn send(&mut self, n: usize, size: usize, write: impl FnMut(&mut [u8])) -> io::Result<usize>;

    /// Passes up to `n` received frames to `read`, and releases their slots.
    fn receive(&mut self, n: usize, read: impl FnMut(&[u8])) -> io::Result<usize>;

    /// Lets `turn` change up to `n` frames that have come, and sends them back. Returns how many
    /// came and how many of them were sent.
    fn echo(&mut self, n: usize, turn: impl FnMut(&mut [u8])) -> io::Result<(usize, usize)>;

    /// Until frames have come, or a millisecond has passed.
    fn wait(&mut self) -> io::Result<()>;

    /// Frames that were handed to the kernel and have not come back; wakes it up.
    fn in_flight(&mut self) -> io::Result<usize>;

    /// Drops since it was opened; read only once.
    fn dropped(&self) -> Dropped;
}

/// Two ports: what comes to the first leaves by the second.
pub trait Bridge: Sized {
    fn open(options: &Options) -> io::Result<Self>;

    /// As [`Port::echo`].
    fn forward(&mut self, n: usize, turn: impl FnMut(&mut [u8])) -> io::Result<(usize, usize)>;
    fn wait(&mut self) -> io::Result<()>;
    fn in_flight(&mut self) -> io::Result<usize>;
    fn dropped(&self) -> Dropped;
}

/// A port as a bridge from itself to itself.
pub(crate) struct Echo<P>(P);

impl<P: Port> Bridge for Echo<P> {
    fn open(options: &Options) -> io::Result<Self> {
        P::open(options).map(Self)
    }

    #[inline(always)]
    fn forward(&mut self, n: usize, turn: impl FnMut(&mut [u8])) -> io::Result<(usize, usize)> {
        self.0.echo(n, turn)
    }

    fn wait(&mut self) -> io::Result<()> {
        self.0.wait()
    }

    fn in_flight(&mut self) -> io::Result<usize> {
        self.0.in_flight()
    }

    fn dropped(&self) -> Dropped {
        self.0.dropped()
    }
}

/// Waits in the requested mode.
pub(crate) fn rest(wait: Wait, sleep: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    match wait {
        Wait::Poll => sleep(),
        Wait::Spin => {
            std::hint::spin_loop();
            Ok(())
        }
    }
}
