//! The half of a socket that sends.

use std::ffi::{c_int, c_void};
use std::os::fd::AsRawFd;

use xsk::Tx;
use xsk::socket::SharedQueue;

use crate::border;
use crate::error::{call, partly};
use crate::frame::{self, CFrame, Packet};
use crate::handle::{self, Kind, Table};
use crate::limits::deadline;
use crate::stats::TxStats;
use crate::umem::Memory;

/// The half of a socket that sends: for one thread at a time.
#[derive(Debug)]
pub struct TxHandle;

#[derive(Debug)]
pub struct Sending {
    pub tx: Tx,
    pub queue: u32,
    pub zero_copy: bool,
    /// What a socket beside this one needs.
    pub shared: Option<SharedQueue>,
    pub memory: Memory,
}

static TABLE: Table<Sending> = Table::new();

impl Kind for TxHandle {
    type Value = Sending;
    const TAG: u8 = 0x55;
    const NAME: &'static str = "struct xway_xsk_tx";

    fn table() -> &'static Table<Sending> {
        &TABLE
    }
}

/// Closes this half; the socket closes with the second one. What was not transmitted may be lost:
/// see xway_xsk_tx_drain().
#[unsafe(no_mangle)]
pub extern "C" fn xway_xsk_tx_close(tx: *mut TxHandle) -> c_int {
    call(|| handle::close(tx).map(|()| 0))
}

/// Copies one packet, Ethernet header first, and sends it. With a `batch` in the options it may
/// wait until xway_xsk_tx_flush(). After XWAY_XSK_ERROR_FULL it can be tried again; when the kernel
/// refuses the interface (XWAY_XSK_ERROR_SYSTEM), the packet is queued nevertheless.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_send(
    tx: *mut TxHandle,
    packet: *const c_void,
    len: usize,
) -> c_int {
    call(|| {
        // SAFETY: the caller promised the bytes, see `border`.
        let packet = unsafe { border::bytes(packet, len) }?;
        handle::with(tx, |half| Ok(half.tx.send(packet)?))?;
        Ok(0)
    })
}

/// Copies packets and sends them together. Answers how many it took; if not all, xway_xsk_error()
/// says why.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_send_batch(
    tx: *mut TxHandle,
    packets: *const Packet,
    count: u32,
) -> c_int {
    call(|| {
        // SAFETY: the caller promised the packets, see `border`.
        let packets = unsafe { border::array(packets, count, "packets") }?;
        handle::with(tx, |half| {
            let mut batch = half.tx.batch(count);
            let mut sent = 0;
            let mut failed = None;
            for packet in packets {
                // SAFETY: the caller promised the bytes of each packet, see `border`.
                let bytes = unsafe { border::bytes(packet.data, packet.len) };
                match bytes.and_then(|bytes| Ok(batch.send(bytes)?)) {
                    Ok(()) => sent += 1,
                    Err(error) => {
                        failed = Some(error);
                        break;
                    }
                }
            }
            batch.finish()?;
            failed.map_or(Ok(sent), |error| partly(sent, error))
        })
    })
}

/// Takes up to `count` free frames to be written and submitted. Answers how many were free, which
/// may be none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_tx_reserve(
    tx: *mut TxHandle,
    frames: *mut CFrame,
    count: u32,
) -> c_int {
    call(|| {
        // SAFETY: the caller promised the room, see `border`.
        let places = unsafe { border::places(frames, count, "frames") }?;
        handle::with(tx, |half| Ok(frame::hand_out(&half.memory.books, places, || half.tx.alloc())))
    })
}

/// Sends frames without a copy, together: reserved ones, or received ones of the same memory, of
/// whatever socket. Answers how many it took, from the first on; these are empty then, the others
/// are the program's as before. If not all, xway_xsk_error() says why.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_tx_submit(
    tx: *mut TxHandle,
    frames: *mut CFrame,
    count: u32,
) -> c_int {
    call(|| {
        // SAFETY: the caller promised the frames, see `border`.
        let frames = unsafe { border::array_mut(frames, count, "frames") }?;
        handle::with(tx, |half| {
            let mut batch = half.tx.batch(count);
            let sent = frame::submit(&half.memory.books, frames, |frame| batch.push(frame));
            batch.finish()?;
            sent
        })
    })
}

/// Gives frames back unsent, to be reserved again. Answers how many; the first that is none of the
/// program's frames ends it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_tx_release(
    tx: *mut TxHandle,
    frames: *mut CFrame,
    count: u32,
) -> c_int {
    call(|| {
        // SAFETY: the caller promised the frames, see `border`.
        let frames = unsafe { border::array_mut(frames, count, "frames") }?;
        handle::with(tx, |half| {
            frame::take_back(&half.memory.books, frames, |frame| half.tx.recycle(frame))
        })
    })
}

/// Sends what waits, and takes back frames that are done.
#[unsafe(no_mangle)]
pub extern "C" fn xway_xsk_tx_flush(tx: *mut TxHandle) -> c_int {
    call(|| {
        handle::with(tx, |half| Ok(half.tx.flush()?))?;
        Ok(0)
    })
}

/// Sends what waits, and waits until the kernel has sent all, `timeout_ms` at most; -1 for no
/// limit. Answers how many frames the kernel still has.
#[unsafe(no_mangle)]
pub extern "C" fn xway_xsk_tx_drain(tx: *mut TxHandle, timeout_ms: c_int) -> c_int {
    call(|| {
        handle::with(tx, |half| {
            let drained = half.tx.drain(deadline(timeout_ms));
            drained.failed.map_or(Ok(drained.left as c_int), |error| Err(error.into()))
        })
    })
}

/// Waits until a packet can be sent, `timeout_ms` at most; 0 not at all, -1 until then or until a
/// signal comes. Answers 1 if one can, else 0.
#[unsafe(no_mangle)]
pub extern "C" fn xway_xsk_tx_wait(tx: *mut TxHandle, timeout_ms: c_int) -> c_int {
    call(|| handle::with(tx, |half| Ok(half.tx.wait(deadline(timeout_ms))?.into())))
}

/// The socket's descriptor, for poll(2) and epoll(7): writable when the tx ring has room. It stays
/// the library's.
#[unsafe(no_mangle)]
pub extern "C" fn xway_xsk_tx_fd(tx: *mut TxHandle) -> c_int {
    call(|| handle::with(tx, |half| Ok(half.tx.as_raw_fd())))
}

/// 1 if the driver works on the memory itself, 0 if packets are copied.
#[unsafe(no_mangle)]
pub extern "C" fn xway_xsk_tx_is_zero_copy(tx: *mut TxHandle) -> c_int {
    call(|| handle::with(tx, |half| Ok(half.zero_copy.into())))
}

/// Fills in what this half counted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_tx_stats(tx: *mut TxHandle, stats: *mut TxStats) -> c_int {
    call(|| {
        let counted = handle::with(tx, |half| Ok(TxStats::of(&half.tx)))?;
        // SAFETY: the caller promised a struct with its size, see `border`.
        unsafe { border::fill(stats, counted) }?;
        Ok(0)
    })
}
