//! AF_PACKET with rings: TPACKET_V3 to receive, TPACKET_V2 to send, and to do both, where a block
//! that is delivered after a millisecond would be late. Also the client of round trips.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::process::ExitCode;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use libc::{c_int, tpacket_block_desc, tpacket2_hdr, tpacket3_hdr};
use peers::kernel::{check, ifindex, shared_memory, wait_readable};
use peers::{Bridge, Dropped, Options, Port, Role};

fn main() -> ExitCode {
    match Options::read() {
        Ok(options) if options.role == Role::Rtt => peers::ask::<One>(&options),
        _ => peers::main::<One, Two>(),
    }
}

/// A socket on one interface.
struct Packets {
    fd: OwnedFd,
    rx: Receiver,
    tx: Slots,
}

enum Receiver {
    Slots(Slots),
    Blocks(Blocks),
}

impl Packets {
    fn open(options: &Options) -> io::Result<Self> {
        let blocks = options.role == Role::Rx;
        // SAFETY: no memory is passed.
        let fd = check(unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW, 0) })?;
        // SAFETY: the call has just given us this descriptor.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let raw = fd.as_raw_fd();
        let version = if blocks {
            libc::tpacket_versions::TPACKET_V3
        } else {
            libc::tpacket_versions::TPACKET_V2
        };
        set(raw, libc::PACKET_VERSION, &(version as c_int))?;
        set(raw, PACKET_IGNORE_OUTGOING, &1)?;
        set(raw, libc::PACKET_QDISC_BYPASS, &1)?;
        let slots = libc::tpacket_req {
            tp_block_size: SLOT_BYTES * SLOTS_IN_BLOCK,
            tp_block_nr: SLOTS / SLOTS_IN_BLOCK,
            tp_frame_size: SLOT_BYTES,
            tp_frame_nr: SLOTS,
        };
        let bytes = (SLOTS * SLOT_BYTES) as usize;
        let (rx, tx) = if blocks {
            let ring = libc::tpacket_req3 {
                tp_block_size: BLOCK_BYTES,
                tp_block_nr: BLOCKS,
                tp_frame_size: SLOT_BYTES,
                tp_frame_nr: BLOCKS * BLOCK_BYTES / SLOT_BYTES,
                tp_retire_blk_tov: 1,
                tp_sizeof_priv: 0,
                tp_feature_req_word: 0,
            };
            set(raw, libc::PACKET_RX_RING, &ring)?;
            let start = shared_memory(raw, (BLOCKS * BLOCK_BYTES) as usize)?.cast();
            (Receiver::Blocks(Blocks { start, at: 0, left: 0, next: start }), Slots::none())
        } else {
            set(raw, libc::PACKET_RX_RING, &slots)?;
            set(raw, libc::PACKET_TX_RING, &slots)?;
            let start: NonNull<u8> = shared_memory(raw, 2 * bytes)?.cast();
            // SAFETY: the second half of the mapping.
            let behind = unsafe { start.add(bytes) };
            (Receiver::Slots(Slots { start, at: 0 }), Slots { start: behind, at: 0 })
        };
        bind(raw, &options.device)?;
        Ok(Self { fd, rx, tx })
    }

    /// Fills up to `n` slots and passes them to the kernel.
    fn send(
        &mut self,
        n: usize,
        size: usize,
        mut write: impl FnMut(&mut [u8]),
    ) -> io::Result<usize> {
        let mut sent = 0;
        while sent < n && self.tx.status().load(Ordering::Acquire) == libc::TP_STATUS_AVAILABLE {
            write(self.tx.data(DATA, size));
            self.tx.submit(size);
            sent += 1;
        }
        self.kick()?;
        Ok(sent)
    }

    fn kick(&self) -> io::Result<()> {
        // SAFETY: no memory is passed.
        let fd = self.fd.as_raw_fd();
        match unsafe { libc::send(fd, std::ptr::null(), 0, libc::MSG_DONTWAIT) } {
            0.. => Ok(()),
            _ => match io::Error::last_os_error() {
                error if is_transient(&error) => Ok(()),
                error => Err(error),
            },
        }
    }

    fn in_flight(&mut self) -> io::Result<usize> {
        let left = self.tx.count(libc::TP_STATUS_AVAILABLE);
        if left > 0 {
            self.kick()?;
        }
        Ok(left)
    }

    fn dropped(&self) -> Dropped {
        // The kernel's counters begin anew when they are read: this is called once.
        let mut statistics = [0u32; 3];
        let mut length = size_of_val(&statistics) as libc::socklen_t;
        let place = (&raw mut statistics).cast();
        let (fd, option) = (self.fd.as_raw_fd(), libc::PACKET_STATISTICS);
        // SAFETY: the value has space for the stated number of bytes.
        unsafe { libc::getsockopt(fd, libc::SOL_PACKET, option, place, &mut length) };
        Dropped { ring_full: statistics[1].into(), others: 0 }
    }
}

fn is_transient(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::ENOBUFS))
}

/// A ring of TPACKET_V2.
struct Slots {
    start: NonNull<u8>,
    at: u32,
}

impl Slots {
    fn none() -> Self {
        Self { start: NonNull::dangling(), at: 0 }
    }

    #[inline(always)]
    fn header(&self, at: u32) -> *mut tpacket2_hdr {
        // SAFETY: every slot is inside of the mapping.
        unsafe { self.start.add((at * SLOT_BYTES) as usize) }.as_ptr().cast()
    }

    #[inline(always)]
    fn status(&self) -> &AtomicU32 {
        status_of(self.header(self.at))
    }

    /// Bytes of the slot at hand.
    #[inline(always)]
    fn data(&mut self, offset: usize, length: usize) -> &mut [u8] {
        let start: *mut u8 = self.header(self.at).cast();
        // SAFETY: the data are inside of the slot.
        let start = unsafe { start.add(offset) };
        // SAFETY: the slot's status marks it as ours.
        unsafe { std::slice::from_raw_parts_mut(start, length) }
    }

    /// Passes the current slot, which is filled, to the kernel.
    #[inline(always)]
    fn submit(&mut self, size: usize) {
        // SAFETY: the slot's status marks it as ours.
        unsafe { (*self.header(self.at)).tp_len = size as u32 };
        self.status().store(libc::TP_STATUS_SEND_REQUEST, Ordering::Release);
        self.at = (self.at + 1) % SLOTS;
    }

    /// Shows the slot at hand if a frame has come.
    #[inline(always)]
    fn take(&mut self, read: impl FnOnce(&mut [u8])) -> bool {
        if self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return false;
        }
        let header = self.header(self.at);
        // SAFETY: the slot's status marks it as ours.
        let (mac, length) = unsafe { ((*header).tp_mac, (*header).tp_snaplen) };
        read(self.data(mac.into(), length as usize));
        self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.at = (self.at + 1) % SLOTS;
        true
    }

    fn count(&self, but: u32) -> usize {
        let statuses = (0..SLOTS).map(|at| status_of(self.header(at)).load(Ordering::Acquire));
        statuses.filter(|status| *status != but).count()
    }
}

/// A ring of TPACKET_V3.
struct Blocks {
    start: NonNull<u8>,
    at: u32,
    /// Frames of this block that were not shown.
    left: u32,
    next: NonNull<u8>,
}

impl Blocks {
    #[inline(always)]
    fn take(&mut self, read: impl FnOnce(&[u8])) -> bool {
        if self.left == 0 && !self.open() {
            return false;
        }
        let header: *const tpacket3_hdr = self.next.as_ptr().cast();
        // SAFETY: the block's status marks it as ours.
        let header = unsafe { &*header };
        // SAFETY: the data are inside of the block.
        let start = unsafe { self.next.add(header.tp_mac.into()) };
        let length = header.tp_snaplen as usize;
        // SAFETY: the same.
        read(unsafe { std::slice::from_raw_parts(start.as_ptr(), length) });
        self.left -= 1;
        if self.left == 0 {
            self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.at = (self.at + 1) % BLOCKS;
        } else {
            // SAFETY: the kernel stores the offset of the next one.
            self.next = unsafe { self.next.add(header.tp_next_offset as usize) };
        }
        true
    }

    fn open(&mut self) -> bool {
        if self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return false;
        }
        let block = self.block();
        // SAFETY: the block's status marks it as ours, and blocks have no other header.
        let header = unsafe { &(*block).hdr.bh1 };
        self.left = header.num_pkts;
        let first = header.offset_to_first_pkt as usize;
        // SAFETY: the kernel stores the offset of the first one.
        self.next = unsafe { NonNull::new_unchecked(block.cast::<u8>().add(first)) };
        if self.left == 0 {
            self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.at = (self.at + 1) % BLOCKS;
        }
        self.left > 0
    }

    fn block(&self) -> *mut tpacket_block_desc {
        // SAFETY: every block is inside of the mapping.
        unsafe { self.start.add((self.at * BLOCK_BYTES) as usize) }.as_ptr().cast()
    }

    fn status(&self) -> &AtomicU32 {
        // SAFETY: the first word of a block's header, which the kernel writes atomically.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.block()).hdr.bh1.block_status) }
    }
}

fn status_of<'a>(header: *mut tpacket2_hdr) -> &'a AtomicU32 {
    // SAFETY: the first word of a slot, which the kernel writes atomically.
    unsafe { AtomicU32::from_ptr(&raw mut (*header).tp_status) }
}

fn set<T>(fd: RawFd, option: c_int, value: &T) -> io::Result<()> {
    let (place, length) = ((&raw const *value).cast(), size_of::<T>() as libc::socklen_t);
    // SAFETY: the value has the stated number of bytes.
    check(unsafe { libc::setsockopt(fd, libc::SOL_PACKET, option, place, length) }).map(drop)
}

fn bind(fd: RawFd, device: &str) -> io::Result<()> {
    // SAFETY: all zeros are an address.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = ifindex(device)? as i32;
    let (place, length) = ((&raw const address).cast(), size_of_val(&address) as libc::socklen_t);
    // SAFETY: the address has the stated number of bytes.
    check(unsafe { libc::bind(fd, place, length) }).map(drop)
}

/// One interface.
struct One(Packets);

impl Port for One {
    fn open(options: &Options) -> io::Result<Self> {
        Packets::open(options).map(Self)
    }

    fn send(&mut self, n: usize, size: usize, write: impl FnMut(&mut [u8])) -> io::Result<usize> {
        self.0.send(n, size, write)
    }

    fn receive(&mut self, n: usize, mut read: impl FnMut(&[u8])) -> io::Result<usize> {
        let mut came = 0;
        while came < n
            && match &mut self.0.rx {
                Receiver::Blocks(blocks) => blocks.take(&mut read),
                Receiver::Slots(slots) => slots.take(|frame| read(frame)),
            }
        {
            came += 1;
        }
        Ok(came)
    }

    fn echo(&mut self, n: usize, turn: impl FnMut(&mut [u8])) -> io::Result<(usize, usize)> {
        let Packets { rx, tx, .. } = &mut self.0;
        let moved = pass(rx, tx, n, turn);
        if moved.1 > 0 {
            self.0.kick()?;
        }
        Ok(moved)
    }

    fn wait(&mut self) -> io::Result<()> {
        wait_readable(self.0.fd.as_raw_fd())
    }

    fn in_flight(&mut self) -> io::Result<usize> {
        self.0.in_flight()
    }

    fn dropped(&self) -> Dropped {
        self.0.dropped()
    }
}

/// Two interfaces.
struct Two {
    from: Packets,
    to: Packets,
}

impl Bridge for Two {
    fn open(options: &Options) -> io::Result<Self> {
        Ok(Self { from: Packets::open(options)?, to: Packets::open(&options.out())? })
    }

    fn forward(&mut self, n: usize, turn: impl FnMut(&mut [u8])) -> io::Result<(usize, usize)> {
        let moved = pass(&mut self.from.rx, &mut self.to.tx, n, turn);
        if moved.1 > 0 {
            self.to.kick()?;
        }
        Ok(moved)
    }

    fn wait(&mut self) -> io::Result<()> {
        wait_readable(self.from.fd.as_raw_fd())
    }

    fn in_flight(&mut self) -> io::Result<usize> {
        self.to.in_flight()
    }

    fn dropped(&self) -> Dropped {
        self.from.dropped()
    }
}

/// Copies frames from one ring to the other; those for which there is no room are gone.
fn pass(
    rx: &mut Receiver,
    tx: &mut Slots,
    n: usize,
    mut turn: impl FnMut(&mut [u8]),
) -> (usize, usize) {
    let Receiver::Slots(rx) = rx else { return (0, 0) };
    let (mut came, mut left) = (0, 0);
    while came < n {
        let is_room = tx.status().load(Ordering::Acquire) == libc::TP_STATUS_AVAILABLE;
        let taken = rx.take(|frame| {
            turn(frame);
            if is_room {
                tx.data(DATA, frame.len()).copy_from_slice(frame);
                tx.submit(frame.len());
                left += 1;
            }
        });
        if !taken {
            break;
        }
        came += 1;
    }
    (came, left)
}

const SLOTS: u32 = 2048;
const SLOT_BYTES: u32 = 2048;
const SLOTS_IN_BLOCK: u32 = 32;
const BLOCKS: u32 = 32;
const BLOCK_BYTES: u32 = 1 << 18;
/// Where a slot's frame begins when it is sent.
const DATA: usize = (size_of::<tpacket2_hdr>() + 15) & !15;
const PACKET_IGNORE_OUTGOING: c_int = 23;
