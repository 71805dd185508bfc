//! The crate `xdp`. Packets are values that must not outlive their memory; memory cannot be shared
//! by two queues, so a bridge copies.

use std::ffi::CString;
use std::io;
use std::process::ExitCode;

use peers::kernel::{steer, until_free, wait_readable, xdp_dropped};
use peers::{Bridge, Dropped, Options, Port};
use xdp::nic::NicIndex;
use xdp::slab::{HeapSlab, Slab};
use xdp::socket::{BindFlags, XdpSocket, XdpSocketBuilder};
use xdp::umem::{FrameSize, UmemCfgBuilder};
use xdp::{RingConfigBuilder, Umem, WakableRings};

fn main() -> ExitCode {
    peers::main::<One, Two>()
}

/// One queue.
struct One {
    umem: Umem,
    rings: WakableRings,
    socket: XdpSocket,
    slab: HeapSlab,
    flying: usize,
}

impl One {
    fn try_open(options: &Options) -> io::Result<Self> {
        let config = UmemCfgBuilder {
            frame_size: FrameSize::TwoK,
            frame_count: FRAMES,
            ..UmemCfgBuilder::default()
        };
        let mut umem = Umem::map(config.build().map_err(io::Error::other)?)?;
        let mut builder = XdpSocketBuilder::new().map_err(io::Error::other)?;
        let rings = RingConfigBuilder {
            rx_count: RING,
            tx_count: RING,
            fill_count: RING,
            completion_count: RING,
        };
        let rings = rings.build().map_err(io::Error::other)?;
        let (mut rings, flags) =
            builder.build_wakable_rings(&umem, rings).map_err(io::Error::other)?;
        // SAFETY: the memory lives as long as the socket.
        unsafe { rings.fill_ring.enqueue(&mut umem, FILLED, false) }?;
        let name = CString::new(options.device.as_str())?;
        let nic = NicIndex::lookup_by_name(&name)?.ok_or(io::ErrorKind::NotFound)?;
        let socket = bind(builder, nic, options.queue, flags)?;
        steer(options.map, options.queue, socket.raw_fd())?;
        Ok(Self { umem, rings, socket, slab: HeapSlab::with_capacity(SLAB), flying: 0 })
    }

    /// Takes back what was sent.
    fn reclaim(&mut self) {
        let done = &mut self.rings.completion_ring;
        self.flying -= done.dequeue(&mut self.umem, RING as usize);
    }

    fn submit(&mut self) -> io::Result<usize> {
        let Some(tx) = &mut self.rings.tx_ring else { return Ok(0) };
        let before = self.slab.len();
        // SAFETY: the memory lives as long as the socket.
        let sent = unsafe { tx.send(&mut self.slab, true) };
        let taken = before - self.slab.len();
        self.flying += taken;
        // It reports when the kernel has not sent all of them yet; they are queued nevertheless.
        match sent {
            Err(error) if !is_transient(&error) => Err(error),
            _ => Ok(taken),
        }
    }

    /// Fills the slab with at most `n` received frames; the slab must be empty.
    fn take(&mut self, n: usize) -> usize {
        let Some(rx) = &mut self.rings.rx_ring else { return 0 };
        let mut few = Few(&mut self.slab, n);
        // SAFETY: the packets go back before the memory does.
        unsafe { rx.recv(&self.umem, &mut few) }
    }

    fn refill(&mut self, n: usize) -> io::Result<()> {
        // SAFETY: the memory lives as long as the socket.
        unsafe { self.rings.fill_ring.enqueue(&mut self.umem, n, false) }.map(drop)
    }

    fn give_back(&mut self) {
        while let Some(packet) = self.slab.pop_back() {
            self.umem.free_packet(packet);
        }
    }

    fn kick(&mut self) -> io::Result<()> {
        // An empty slab wakes no one: make the call that the library makes.
        let fd = self.socket.raw_fd();
        // SAFETY: no memory is passed.
        let answer = unsafe {
            libc::sendto(fd, std::ptr::null(), 0, libc::MSG_DONTWAIT, std::ptr::null(), 0)
        };
        match answer {
            0.. => Ok(()),
            _ => match io::Error::last_os_error() {
                error if is_transient(&error) => Ok(()),
                error => Err(error),
            },
        }
    }
}

/// At most the given number of frames of a slab.
struct Few<'a>(&'a mut HeapSlab, usize);

impl Slab for Few<'_> {
    fn available(&self) -> usize {
        self.1 - self.0.len()
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn push_front(&mut self, packet: xdp::Packet) -> Option<xdp::Packet> {
        self.0.push_front(packet)
    }

    fn pop_back(&mut self) -> Option<xdp::Packet> {
        self.0.pop_back()
    }
}

impl Port for One {
    fn open(options: &Options) -> io::Result<Self> {
        until_free(|| Self::try_open(options))
    }

    fn send(
        &mut self,
        n: usize,
        size: usize,
        mut write: impl FnMut(&mut [u8]),
    ) -> io::Result<usize> {
        self.reclaim();
        let room = RING as usize - self.flying;
        for _ in 0..n.min(room) {
            // SAFETY: the packet goes back before the memory does.
            let Some(mut packet) = (unsafe { self.umem.alloc() }) else { break };
            packet.adjust_tail(size as i32).map_err(io::Error::other)?;
            write(&mut packet);
            self.slab.push_front(packet);
        }
        self.submit()
    }

    fn receive(&mut self, n: usize, mut read: impl FnMut(&[u8])) -> io::Result<usize> {
        let came = self.take(n);
        while let Some(packet) = self.slab.pop_back() {
            read(&packet);
            self.umem.free_packet(packet);
        }
        if came > 0 {
            self.refill(came)?;
        }
        Ok(came)
    }

    fn echo(&mut self, n: usize, mut turn: impl FnMut(&mut [u8])) -> io::Result<(usize, usize)> {
        self.reclaim();
        let came = self.take(n);
        for _ in 0..came {
            let Some(mut packet) = self.slab.pop_back() else { break };
            turn(&mut packet);
            self.slab.push_front(packet);
        }
        let left = self.submit()?;
        if came == 0 && self.flying > 0 {
            self.kick()?;
        }
        self.give_back();
        if came > 0 {
            self.refill(came)?;
        }
        Ok((came, left))
    }

    fn wait(&mut self) -> io::Result<()> {
        wait_readable(self.socket.raw_fd())
    }

    fn in_flight(&mut self) -> io::Result<usize> {
        self.reclaim();
        if self.flying > 0 {
            self.kick()?;
        }
        Ok(self.flying)
    }

    fn dropped(&self) -> Dropped {
        xdp_dropped(self.socket.raw_fd())
    }
}

/// Two queues, each with its memory.
struct Two {
    from: One,
    to: One,
    /// Bytes of a frame.
    size: usize,
}

impl Bridge for Two {
    fn open(options: &Options) -> io::Result<Self> {
        let (from, to) = (One::open(options)?, One::open(&options.out())?);
        Ok(Self { from, to, size: options.size })
    }

    fn forward(&mut self, n: usize, mut turn: impl FnMut(&mut [u8])) -> io::Result<(usize, usize)> {
        let Self { from, to, size } = self;
        let came = from.take(n);
        to.reclaim();
        for _ in 0..came.min(RING as usize - to.flying) {
            // SAFETY: the packet goes back before the memory does.
            let Some(mut packet) = (unsafe { to.umem.alloc() }) else { break };
            packet.adjust_tail(*size as i32).map_err(io::Error::other)?;
            if let Some(mut received) = from.slab.pop_back() {
                turn(&mut received);
                packet.copy_from_slice(&received);
                from.umem.free_packet(received);
            }
            to.slab.push_front(packet);
        }
        let left = to.submit()?;
        if left == 0 && to.flying > 0 {
            to.kick()?;
        }
        to.give_back();
        // For these there is no room, but they have come.
        while let Some(mut received) = from.slab.pop_back() {
            turn(&mut received);
            from.umem.free_packet(received);
        }
        if came > 0 {
            from.refill(came)?;
        }
        Ok((came, left))
    }

    fn wait(&mut self) -> io::Result<()> {
        self.from.wait()
    }

    fn in_flight(&mut self) -> io::Result<usize> {
        self.to.in_flight()
    }

    fn dropped(&self) -> Dropped {
        self.from.dropped()
    }
}

fn bind(
    builder: XdpSocketBuilder,
    nic: NicIndex,
    queue: u32,
    flags: BindFlags,
) -> io::Result<XdpSocket> {
    builder.bind(nic, queue, flags).map_err(|error| match error {
        xdp::socket::SocketError::Bind(error) => error,
        error => io::Error::other(error),
    })
}

fn is_transient(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EBUSY | libc::ENOBUFS))
}

const RING: u32 = 2048;
const FRAMES: u32 = 4096;
const SLAB: usize = 2048;
/// Frames that wait for packets; the rest is for sending.
const FILLED: usize = RING as usize;
