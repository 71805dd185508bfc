//! The sending half of a socket.

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

/// The sending half of a socket. Only one thread may use it at a time.
#[derive(Debug)]
pub struct TxHandle;

#[derive(Debug)]
pub struct Sending {
    pub tx: Tx,
    pub queue: u32,
    pub zero_copy: bool,
    /// Required to open another socket on the same queue.
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

/// Close this half; closing both halves closes the socket. Packets that were not transmitted yet
/// may be lost: see xway_xsk_tx_drain().
#[unsafe(no_mangle)]
pub extern "C" fn xway_xsk_tx_close(tx: *mut TxHandle) -> c_int {
    call(|| handle::close(tx).map(|()| 0))
}

/// Copy one packet, which begins with its Ethernet header, and send it. With the option `batch`, it
/// may be delayed until xway_xsk_tx_flush(). After XWAY_XSK_ERROR_FULL, the call can be repeated.
/// After XWAY_XSK_ERROR_SYSTEM, when the kernel refuses to transmit on the interface, the packet
/// remains queued.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_send(
    tx: *mut TxHandle,
    packet: *const c_void,
    len: usize,
) -> c_int {
    call(|| {
        // SAFETY: the caller guarantees the bytes, see `border`.
        let packet = unsafe { border::bytes(packet, len) }?;
        handle::with(tx, |half| Ok(half.tx.send(packet)?))?;
        Ok(0)
    })
}

/// Copy packets and send them together. Returns the number of packets that were accepted; if not
/// all were, xway_xsk_error() returns the reason.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_send_batch(
    tx: *mut TxHandle,
    packets: *const Packet,
    count: u32,
) -> c_int {
    call(|| {
        // SAFETY: the caller guarantees the packets, see `border`.
        let packets = unsafe { border::array(packets, count, "packets") }?;
        handle::with(tx, |half| {
            let mut batch = half.tx.batch(count);
            let mut sent = 0;
            let mut failed = None;
            for packet in packets {
                // SAFETY: the caller guarantees the bytes of each packet, see `border`.
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

/// Take up to `count` free frames, to be filled and submitted. Returns their number, which may be
/// 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_tx_reserve(
    tx: *mut TxHandle,
    frames: *mut CFrame,
    count: u32,
) -> c_int {
    call(|| {
        // SAFETY: the caller guarantees the memory, see `border`.
        let places = unsafe { border::places(frames, count, "frames") }?;
        handle::with(tx, |half| Ok(frame::hand_out(&half.memory.books, places, || half.tx.alloc())))
    })
}

/// Send frames together, without copying them: reserved ones, or received ones of any socket with
/// the same umem. Returns the number of frames that were accepted, counted from the first. These
/// are empty afterwards; the program still owns the others. If not all were accepted,
/// xway_xsk_error() returns the reason.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_tx_submit(
    tx: *mut TxHandle,
    frames: *mut CFrame,
    count: u32,
) -> c_int {
    call(|| {
        // SAFETY: the caller guarantees the frames, see `border`.
        let frames = unsafe { border::array_mut(frames, count, "frames") }?;
        handle::with(tx, |half| {
            let mut batch = half.tx.batch(count);
            let sent = frame::submit(&half.memory.books, frames, |frame| batch.push(frame));
            batch.finish()?;
            sent
        })
    })
}

/// Release frames without sending them. Returns their number; stops at the first frame that the
/// program does not own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_tx_release(
    tx: *mut TxHandle,
    frames: *mut CFrame,
    count: u32,
) -> c_int {
    call(|| {
        // SAFETY: the caller guarantees the frames, see `border`.
        let frames = unsafe { border::array_mut(frames, count, "frames") }?;
        handle::with(tx, |half| {
            frame::take_back(&half.memory.books, frames, |frame| half.tx.recycle(frame))
        })
    })
}

/// Send the packets that were delayed, and reclaim frames that the kernel has completed.
#[unsafe(no_mangle)]
pub extern "C" fn xway_xsk_tx_flush(tx: *mut TxHandle) -> c_int {
    call(|| {
        handle::with(tx, |half| Ok(half.tx.flush()?))?;
        Ok(0)
    })
}

/// Send the packets that were delayed, and wait up to `timeout_ms` until the kernel has sent all of
/// them; -1 for no limit. Returns the number of frames that the kernel still holds.
#[unsafe(no_mangle)]
pub extern "C" fn xway_xsk_tx_drain(tx: *mut TxHandle, timeout_ms: c_int) -> c_int {
    call(|| {
        handle::with(tx, |half| {
            let drained = half.tx.drain(deadline(timeout_ms));
            drained.failed.map_or(Ok(drained.left as c_int), |error| Err(error.into()))
        })
    })
}

/// Wait up to `timeout_ms` until a packet can be sent: 0 does not wait, -1 waits until then or
/// until a signal arrives. Returns 1 if a packet can be sent, otherwise 0.
#[unsafe(no_mangle)]
pub extern "C" fn xway_xsk_tx_wait(tx: *mut TxHandle, timeout_ms: c_int) -> c_int {
    call(|| handle::with(tx, |half| Ok(half.tx.wait(deadline(timeout_ms))?.into())))
}

/// Return the socket's file descriptor, for poll(2) and epoll(7): writable when the tx ring has
/// space. The library owns it; do not close it.
#[unsafe(no_mangle)]
pub extern "C" fn xway_xsk_tx_fd(tx: *mut TxHandle) -> c_int {
    call(|| handle::with(tx, |half| Ok(half.tx.as_raw_fd())))
}

/// Return 1 if the driver accesses the umem directly (zero copy), 0 if the kernel copies packets.
#[unsafe(no_mangle)]
pub extern "C" fn xway_xsk_tx_is_zero_copy(tx: *mut TxHandle) -> c_int {
    call(|| handle::with(tx, |half| Ok(half.zero_copy.into())))
}

/// Return the counters of this half.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_tx_stats(tx: *mut TxHandle, stats: *mut TxStats) -> c_int {
    call(|| {
        let counted = handle::with(tx, |half| Ok(TxStats::of(&half.tx)))?;
        // SAFETY: the caller guarantees a struct with its size, see `border`.
        unsafe { border::fill(stats, counted) }?;
        Ok(0)
    })
}
