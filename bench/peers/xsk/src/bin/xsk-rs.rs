//! The crate `xsk-rs`, over libxdp. Frames are descriptors that the application keeps.

use std::ffi::CString;
use std::io;
use std::num::NonZeroU32;
use std::os::fd::AsRawFd;
use std::process::ExitCode;

use peers::kernel::{steer, until_free, wait_readable, xdp_dropped};
use peers::{Bridge, Dropped, Options, Port};
use xsk_rs::config::{
    BindFlags, FrameSize, Interface, LibxdpFlags, QueueSize, SocketConfig, UmemConfig,
};
use xsk_rs::{CompQueue, FillQueue, FrameDesc, RxQueue, Socket, TxQueue, Umem};

fn main() -> ExitCode {
    peers::main::<One, Two>()
}

/// Memory and the frames of it that are ours to use.
struct Pool {
    umem: Umem,
    free: Vec<FrameDesc>,
}

impl Pool {
    fn new() -> io::Result<Self> {
        let mut config = UmemConfig::builder();
        config.frame_size(FrameSize::new(CHUNK).map_err(io::Error::other)?);
        config.fill_queue_size(ring()?).comp_queue_size(ring()?);
        let config = config.build().map_err(io::Error::other)?;
        let frames = NonZeroU32::new(FRAMES).expect("there are frames");
        let (umem, free) = Umem::new(config, frames, false).map_err(because)?;
        Ok(Self { umem, free })
    }
}

/// The rings of one queue.
struct Rings {
    rx: RxQueue,
    tx: TxQueue,
    fill: FillQueue,
    done: CompQueue,
    flying: usize,
    /// What completions are read into.
    room: Vec<FrameDesc>,
}

impl Rings {
    fn open(pool: &mut Pool, options: &Options, filled: usize) -> io::Result<Self> {
        let mut config = SocketConfig::builder();
        config.rx_queue_size(ring()?).tx_queue_size(ring()?);
        config.libxdp_flags(LibxdpFlags::XSK_LIBXDP_FLAGS_INHIBIT_PROG_LOAD);
        config.bind_flags(BindFlags::XDP_USE_NEED_WAKEUP);
        let device = Interface::new(CString::new(options.device.as_str())?);
        // SAFETY: the queue is bound once, and no program is loaded.
        let made = unsafe { Socket::new(config.build(), &pool.umem, &device, options.queue) };
        let (tx, rx, rings) = made.map_err(because)?;
        let (fill, done) = rings.ok_or_else(|| io::Error::other("the queue has no rings"))?;
        steer(options.map, options.queue, tx.fd().as_raw_fd())?;
        let room = vec![FrameDesc::default(); RING as usize];
        let mut rings = Self { rx, tx, fill, done, flying: 0, room };
        rings.refill(pool, filled)?;
        Ok(rings)
    }

    /// Takes back what was sent.
    fn reclaim(&mut self, pool: &mut Pool) {
        // SAFETY: the ring is of the pool's memory.
        let count = unsafe { self.done.consume(&mut self.room) };
        pool.free.extend_from_slice(&self.room[..count]);
        self.flying -= count;
    }

    fn submit(&mut self, frames: &mut Vec<FrameDesc>) -> io::Result<usize> {
        // All or none are taken.
        let room = (RING as usize - self.flying).min(frames.len());
        // SAFETY: the frames are the pool's, and are kept nowhere else from here on.
        let taken = unsafe { self.tx.produce_and_wakeup(&frames[..room]) }?;
        frames.drain(..taken);
        self.flying += taken;
        Ok(taken)
    }

    fn refill(&mut self, pool: &mut Pool, n: usize) -> io::Result<()> {
        let from = pool.free.len() - n.min(pool.free.len());
        let fd = self.rx.fd_mut();
        // SAFETY: the frames are the pool's, and are kept nowhere else from here on.
        let taken = unsafe { self.fill.produce_and_wakeup(&pool.free[from..], fd, 0) }?;
        pool.free.truncate(pool.free.len() - taken);
        Ok(())
    }

    /// Received frames, at most as many as there is room for.
    fn take(&mut self, frames: &mut [FrameDesc]) -> usize {
        // SAFETY: the ring is of the pool's memory.
        unsafe { self.rx.consume(frames) }
    }
}

/// One queue.
struct One {
    rings: Rings,
    pool: Pool,
    frames: Vec<FrameDesc>,
}

impl Port for One {
    fn open(options: &Options) -> io::Result<Self> {
        until_free(|| {
            let mut pool = Pool::new()?;
            let rings = Rings::open(&mut pool, options, FILLED)?;
            Ok(Self { rings, pool, frames: Vec::with_capacity(RING as usize) })
        })
    }

    fn send(
        &mut self,
        n: usize,
        size: usize,
        mut write: impl FnMut(&mut [u8]),
    ) -> io::Result<usize> {
        self.rings.reclaim(&mut self.pool);
        let room = RING as usize - self.rings.flying;
        for _ in 0..n.min(room) {
            let Some(mut frame) = self.pool.free.pop() else { break };
            // SAFETY: the frame is free, and is kept nowhere else.
            let mut data = unsafe { self.pool.umem.data_mut(&mut frame) };
            let mut cursor = data.cursor();
            cursor.set_pos(size);
            write(data.contents_mut());
            self.frames.push(frame);
        }
        self.rings.submit(&mut self.frames)
    }

    fn receive(&mut self, n: usize, mut read: impl FnMut(&[u8])) -> io::Result<usize> {
        self.frames.resize(n, FrameDesc::default());
        let came = self.rings.take(&mut self.frames);
        for frame in &self.frames[..came] {
            // SAFETY: the frame has just been received.
            read(unsafe { self.pool.umem.data(frame) }.contents());
        }
        self.pool.free.extend_from_slice(&self.frames[..came]);
        if came > 0 {
            self.rings.refill(&mut self.pool, came)?;
        }
        Ok(came)
    }

    fn echo(&mut self, n: usize, mut turn: impl FnMut(&mut [u8])) -> io::Result<(usize, usize)> {
        let (rings, pool) = (&mut self.rings, &mut self.pool);
        rings.reclaim(pool);
        self.frames.resize(n, FrameDesc::default());
        let came = rings.take(&mut self.frames);
        self.frames.truncate(came);
        for frame in &mut self.frames {
            // SAFETY: the frame has just been received.
            turn(unsafe { pool.umem.data_mut(frame) }.contents_mut());
        }
        let left = if came + rings.flying > 0 { rings.submit(&mut self.frames)? } else { 0 };
        pool.free.append(&mut self.frames);
        if came > 0 {
            rings.refill(pool, came)?;
        }
        Ok((came, left))
    }

    fn wait(&mut self) -> io::Result<()> {
        wait_readable(self.rings.rx.fd().as_raw_fd())
    }

    fn in_flight(&mut self) -> io::Result<usize> {
        self.rings.reclaim(&mut self.pool);
        if self.rings.flying > 0 {
            self.rings.tx.wakeup()?;
        }
        Ok(self.rings.flying)
    }

    fn dropped(&self) -> Dropped {
        xdp_dropped(self.rings.rx.fd().as_raw_fd())
    }
}

/// Two queues of one memory.
struct Two {
    from: Rings,
    to: Rings,
    pool: Pool,
    frames: Vec<FrameDesc>,
}

impl Bridge for Two {
    fn open(options: &Options) -> io::Result<Self> {
        until_free(|| {
            let mut pool = Pool::new()?;
            let from = Rings::open(&mut pool, options, FILLED)?;
            let to = Rings::open(&mut pool, &options.out(), 0)?;
            Ok(Self { from, to, pool, frames: Vec::with_capacity(RING as usize) })
        })
    }

    fn forward(&mut self, n: usize, mut turn: impl FnMut(&mut [u8])) -> io::Result<(usize, usize)> {
        let pool = &mut self.pool;
        self.to.reclaim(pool);
        self.frames.resize(n, FrameDesc::default());
        let came = self.from.take(&mut self.frames);
        self.frames.truncate(came);
        for frame in &mut self.frames {
            // SAFETY: the frame has just been received.
            turn(unsafe { pool.umem.data_mut(frame) }.contents_mut());
        }
        let left = if came + self.to.flying > 0 { self.to.submit(&mut self.frames)? } else { 0 };
        pool.free.append(&mut self.frames);
        if came > 0 {
            self.from.refill(pool, came)?;
        }
        Ok((came, left))
    }

    fn wait(&mut self) -> io::Result<()> {
        wait_readable(self.from.rx.fd().as_raw_fd())
    }

    fn in_flight(&mut self) -> io::Result<usize> {
        self.to.reclaim(&mut self.pool);
        if self.to.flying > 0 {
            self.to.tx.wakeup()?;
        }
        Ok(self.to.flying)
    }

    fn dropped(&self) -> Dropped {
        xdp_dropped(self.from.rx.fd().as_raw_fd())
    }
}

fn ring() -> io::Result<QueueSize> {
    QueueSize::new(RING).map_err(io::Error::other)
}

/// The library's errors keep the kernel's as their source.
fn because(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    match source.and_then(io::Error::raw_os_error) {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::other(error),
    }
}

const RING: u32 = 2048;
const CHUNK: u32 = 2048;
const FRAMES: u32 = 4096;
/// Frames that wait for packets; the rest is for sending.
const FILLED: usize = RING as usize;
