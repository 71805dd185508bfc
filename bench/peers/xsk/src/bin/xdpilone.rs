//! The crate `xdpilone`. Frames are numbers that the application keeps, memory is its own.

use std::ffi::CString;
use std::io;
use std::num::NonZeroU32;
use std::process::ExitCode;
use std::ptr::NonNull;

use peers::kernel::{memory, steer, until_free, wait_readable, xdp_dropped};
use peers::{Bridge, Dropped, Options, Port};
use xdpilone::xdp::XdpDesc;
use xdpilone::{
    DeviceQueue, Errno, IfInfo, RingRx, RingTx, Socket, SocketConfig, Umem, UmemConfig,
};

fn main() -> ExitCode {
    peers::main::<One, Two>()
}

/// Memory and the frames of it that are ours to use.
struct Pool {
    start: NonNull<u8>,
    free: Vec<u64>,
}

impl Pool {
    fn new() -> io::Result<(Self, Umem)> {
        let area = memory(FRAMES as usize * CHUNK as usize)?;
        let config = UmemConfig {
            fill_size: RING,
            complete_size: RING,
            frame_size: CHUNK,
            headroom: 0,
            flags: 0,
        };
        // SAFETY: the memory lives as long as the process, and frames alone are used.
        let umem = unsafe { Umem::new(config, area) }.map_err(error)?;
        let free = (0..u64::from(FRAMES)).map(|frame| frame * u64::from(CHUNK)).collect();
        Ok((Self { start: area.cast(), free }, umem))
    }

    /// A frame that is ours: from the free ones, or just received.
    #[inline(always)]
    fn bytes(&mut self, address: u64, length: usize) -> &mut [u8] {
        // SAFETY: addresses are of frames inside of the memory.
        let start = unsafe { self.start.add(address as usize) };
        // SAFETY: the frame is ours until it is put into a ring.
        unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), length) }
    }
}

/// The rings of one queue.
struct Rings {
    rx: RingRx,
    tx: RingTx,
    device: DeviceQueue,
    flying: usize,
}

impl Rings {
    fn open(umem: &Umem, pool: &mut Pool, options: &Options, first: bool) -> io::Result<Self> {
        let mut info = IfInfo::invalid();
        info.from_name(&CString::new(options.device.as_str())?).map_err(error)?;
        info.set_queue(options.queue);
        let socket = if first { Socket::with_shared(&info, umem) } else { Socket::new(&info) };
        let socket = socket.map_err(error)?;
        let mut device = umem.fq_cq(&socket).map_err(error)?;
        let sizes = NonZeroU32::new(RING);
        // One that shares memory has the flags of the first, and must not pass them.
        let bind_flags = if first { SocketConfig::XDP_BIND_NEED_WAKEUP } else { 0 };
        let config = SocketConfig { rx_size: sizes, tx_size: sizes, bind_flags };
        let user = umem.rx_tx(&socket, &config).map_err(error)?;
        if first {
            fill(&mut device, pool, FILLED);
        }
        umem.bind(&user).map_err(error)?;
        let (rx, tx) = (user.map_rx().map_err(error)?, user.map_tx().map_err(error)?);
        steer(options.map, options.queue, tx.as_raw_fd())?;
        Ok(Self { rx, tx, device, flying: 0 })
    }

    /// Takes back what was sent.
    fn reclaim(&mut self, pool: &mut Pool) {
        let mut done = self.device.complete(RING);
        let before = pool.free.len();
        while let Some(address) = done.read() {
            pool.free.push(address);
        }
        done.release();
        self.flying -= pool.free.len() - before;
    }

    fn submit(&mut self, frames: &mut Vec<XdpDesc>) -> usize {
        let mut writer = self.tx.transmit(frames.len() as u32);
        let taken = writer.insert(frames.iter().copied()) as usize;
        writer.commit();
        drop(writer);
        frames.drain(..taken);
        self.flying += taken;
        if self.tx.needs_wakeup() {
            self.tx.wake();
        }
        taken
    }

    fn refill(&mut self, pool: &mut Pool, n: usize) {
        fill(&mut self.device, pool, n);
        if self.device.needs_wakeup() {
            self.device.wake();
        }
    }

    /// Takes up to `n` received frames, after `turn` has seen them.
    fn take(
        &mut self,
        pool: &mut Pool,
        n: usize,
        frames: &mut Vec<XdpDesc>,
        mut turn: impl FnMut(&mut [u8]),
    ) -> usize {
        let mut reader = self.rx.receive(n as u32);
        let mut came = 0;
        while let Some(desc) = reader.read() {
            turn(pool.bytes(desc.addr, desc.len as usize));
            frames.push(desc);
            came += 1;
        }
        reader.release();
        came
    }
}

fn fill(device: &mut DeviceQueue, pool: &mut Pool, n: usize) {
    let n = n.min(pool.free.len());
    let mut writer = device.fill(n as u32);
    let from = pool.free.len() - n;
    let taken = writer.insert(pool.free[from..].iter().rev().copied()) as usize;
    writer.commit();
    drop(writer);
    pool.free.truncate(pool.free.len() - taken);
}

/// One queue.
struct One {
    rings: Rings,
    pool: Pool,
    frames: Vec<XdpDesc>,
}

impl Port for One {
    fn open(options: &Options) -> io::Result<Self> {
        until_free(|| {
            let (mut pool, umem) = Pool::new()?;
            let rings = Rings::open(&umem, &mut pool, options, true)?;
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
            let Some(addr) = self.pool.free.pop() else { break };
            write(self.pool.bytes(addr, size));
            self.frames.push(XdpDesc { addr, len: size as u32, options: 0 });
        }
        Ok(self.rings.submit(&mut self.frames))
    }

    fn receive(&mut self, n: usize, mut read: impl FnMut(&[u8])) -> io::Result<usize> {
        let (rings, pool) = (&mut self.rings, &mut self.pool);
        let came = rings.take(pool, n, &mut self.frames, |frame| read(frame));
        pool.free.extend(self.frames.drain(..).map(|desc| desc.addr));
        if came > 0 {
            rings.refill(pool, came);
        }
        Ok(came)
    }

    fn echo(&mut self, n: usize, turn: impl FnMut(&mut [u8])) -> io::Result<(usize, usize)> {
        let (rings, pool) = (&mut self.rings, &mut self.pool);
        rings.reclaim(pool);
        let came = rings.take(pool, n, &mut self.frames, turn);
        let left = if came + rings.flying > 0 { rings.submit(&mut self.frames) } else { 0 };
        pool.free.extend(self.frames.drain(..).map(|desc| desc.addr));
        if came > 0 {
            rings.refill(pool, came);
        }
        Ok((came, left))
    }

    fn wait(&mut self) -> io::Result<()> {
        wait_readable(self.rings.rx.as_raw_fd())
    }

    fn in_flight(&mut self) -> io::Result<usize> {
        self.rings.reclaim(&mut self.pool);
        if self.rings.flying > 0 {
            self.rings.tx.wake();
        }
        Ok(self.rings.flying)
    }

    fn dropped(&self) -> Dropped {
        xdp_dropped(self.rings.rx.as_raw_fd())
    }
}

/// Two queues of one memory.
struct Two {
    from: Rings,
    to: Rings,
    pool: Pool,
    frames: Vec<XdpDesc>,
}

impl Bridge for Two {
    fn open(options: &Options) -> io::Result<Self> {
        until_free(|| {
            let (mut pool, umem) = Pool::new()?;
            let from = Rings::open(&umem, &mut pool, options, true)?;
            let to = Rings::open(&umem, &mut pool, &options.out(), false)?;
            Ok(Self { from, to, pool, frames: Vec::with_capacity(RING as usize) })
        })
    }

    fn forward(&mut self, n: usize, turn: impl FnMut(&mut [u8])) -> io::Result<(usize, usize)> {
        let pool = &mut self.pool;
        self.to.reclaim(pool);
        let came = self.from.take(pool, n, &mut self.frames, turn);
        let left = if came + self.to.flying > 0 { self.to.submit(&mut self.frames) } else { 0 };
        pool.free.extend(self.frames.drain(..).map(|desc| desc.addr));
        if came > 0 {
            self.from.refill(pool, came);
        }
        Ok((came, left))
    }

    fn wait(&mut self) -> io::Result<()> {
        wait_readable(self.from.rx.as_raw_fd())
    }

    fn in_flight(&mut self) -> io::Result<usize> {
        self.to.reclaim(&mut self.pool);
        if self.to.flying > 0 {
            self.to.tx.wake();
        }
        Ok(self.to.flying)
    }

    fn dropped(&self) -> Dropped {
        xdp_dropped(self.from.rx.as_raw_fd())
    }
}

fn error(errno: Errno) -> io::Error {
    io::Error::from_raw_os_error(errno.get_raw())
}

const RING: u32 = 2048;
const CHUNK: u32 = 2048;
const FRAMES: u32 = 4096;
/// Frames that wait for packets; the rest is for sending.
const FILLED: usize = RING as usize;
