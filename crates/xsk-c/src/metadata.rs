//! What is known of a packet, or asked for it, beside its bytes.

use std::ffi::c_int;
use std::mem::size_of;

use xsk::metadata::{Clock, Offload, Received, Timestamp, Transmitted, checksum};
use xsk::{Frame, SendError};

use crate::border::{self, Plain, Versioned};
use crate::error::{Error, Result, call};
use crate::frame::{self, CFrame};
use crate::handle;
use crate::rx::RxHandle;
use crate::tx::{Sending, TxHandle};

/// For `known` of `struct xway_xsk_received`, which is a sum of these.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub enum Known {
    /// `hash` and `hash_type`.
    Hash = 1,
    /// `time_ns`.
    Time = 2,
    /// `time_ns` is of the device's own clock, else of CLOCK_MONOTONIC.
    DeviceTime = 4,
    /// `vlan_control` and `vlan_protocol`.
    Vlan = 8,
    /// The tag is still in the packet, else the device took it off.
    VlanInside = 16,
}

/// What is known of a received packet beside its bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ReceivedInfo {
    /// `sizeof(struct xway_xsk_received)`, set by the caller.
    pub size: usize,
    /// When it was received.
    pub time_ns: u64,
    /// A sum of enum xway_xsk_known: which of the others are there.
    pub known: u32,
    /// The device's, over what `hash_type` says.
    pub hash: u32,
    /// As the kernel's enum xdp_rss_hash_type.
    pub hash_type: u32,
    /// Priority, drop bit and number of the outermost VLAN tag.
    pub vlan_control: u32,
    /// 0x8100 or 0x88a8.
    pub vlan_protocol: u32,
    pub reserved: u32,
}

/// When a packet was transmitted that was asked with xway_xsk_tx_request_time().
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SentAt {
    /// As it was asked with.
    pub number: u64,
    /// With zero copy a time of the device's clock; in copy mode of CLOCK_TAI. 0 if the driver
    /// told none.
    pub time_ns: u64,
}

impl Default for ReceivedInfo {
    fn default() -> Self {
        Self {
            size: size_of::<Self>(),
            time_ns: 0,
            known: 0,
            hash: 0,
            hash_type: 0,
            vlan_control: 0,
            vlan_protocol: 0,
            reserved: 0,
        }
    }
}

impl From<Received> for ReceivedInfo {
    fn from(received: Received) -> Self {
        let mut info = Self::default();
        if let Some((hash, of)) = received.hash {
            info.known |= Known::Hash as u32;
            (info.hash, info.hash_type) = (hash, of.0);
        }
        if let Some(Timestamp { ns, clock }) = received.timestamp {
            info.known |= Known::Time as u32;
            info.known |= if clock == Clock::Device { Known::DeviceTime as u32 } else { 0 };
            info.time_ns = ns;
        }
        if let Some(vlan) = received.vlan {
            info.known |= Known::Vlan as u32;
            info.known |= if vlan.is_inside { Known::VlanInside as u32 } else { 0 };
            (info.vlan_control, info.vlan_protocol) = (vlan.control.into(), vlan.protocol.into());
        }
        info
    }
}

impl From<Transmitted> for SentAt {
    fn from(sent: Transmitted) -> Self {
        Self { number: sent.number, time_ns: sent.timestamp_ns.unwrap_or(0) }
    }
}

// SAFETY: of integers alone.
unsafe impl Plain for ReceivedInfo {}
// SAFETY: of integers alone.
unsafe impl Plain for SentAt {}
// SAFETY: begins with its size.
unsafe impl Versioned for ReceivedInfo {
    const NAME: &'static str = "struct xway_xsk_received";
    const LEAST: usize = 40;
}

/// Tells what is known of a packet beside its bytes, if the interface was opened with
/// `rx_metadata`. Answers 1, or 0 if nothing is known.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_rx_received(
    rx: *mut RxHandle,
    frame: *const CFrame,
    received: *mut ReceivedInfo,
) -> c_int {
    call(|| {
        // SAFETY: the caller promised the frame, see `border`.
        let frame = unsafe { border::array(frame, 1, "frame") }?[0];
        let known = handle::with(rx, |half| {
            frame::edit(&half.memory.books, &frame, |frame| Ok(frame.received()))
        })?;
        let info = known.map_or_else(ReceivedInfo::default, ReceivedInfo::from);
        // SAFETY: the caller promised a struct with its size, see `border`.
        unsafe { border::fill(received, info) }?;
        Ok(known.is_some().into())
    })
}

/// Asks the device for the Internet checksum of the bytes from `start` to the packet's end. It is
/// put `offset` bytes behind `start`, where the sum of the pseudo header must be already. With both
/// 0, that is done here, for TCP and UDP. All requests need memory with `transmit_metadata`, and
/// come after the last change to the frame's `data` and `len`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_tx_request_checksum(
    tx: *mut TxHandle,
    frame: *const CFrame,
    start: u32,
    offset: u32,
) -> c_int {
    let asked = |frame: &mut Frame| match (u16::try_from(start), u16::try_from(offset)) {
        (Ok(0), Ok(0)) => checksum::prepare(frame).ok_or_else(|| {
            Error::argument("the packet is neither TCP nor UDP: say where the checksum goes")
        }),
        (Ok(start), Ok(offset)) => Ok(Offload::Checksum { start, offset }),
        _ => Err(Error::argument("a checksum behind the end of any packet")),
    };
    // SAFETY: the caller promised the frame, see `border`.
    call(|| unsafe { request(tx, frame, asked) })
}

/// Asks when the packet is transmitted; xway_xsk_tx_sent_at() tells, with this number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_tx_request_time(
    tx: *mut TxHandle,
    frame: *const CFrame,
    number: u64,
) -> c_int {
    // SAFETY: the caller promised the frame, see `border`.
    call(|| unsafe { request(tx, frame, |_| Ok(Offload::Timestamp { number })) })
}

/// Asks the device not to transmit the packet before a time of its own clock, nor those behind it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_tx_request_launch(
    tx: *mut TxHandle,
    frame: *const CFrame,
    at_ns: u64,
) -> c_int {
    // SAFETY: the caller promised the frame, see `border`.
    call(|| unsafe { request(tx, frame, |_| Ok(Offload::Launch { at_ns })) })
}

/// Tells when packets were transmitted, in the order in which their frames came back, `count` at
/// most. Answers how many.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_tx_sent_at(
    tx: *mut TxHandle,
    times: *mut SentAt,
    count: u32,
) -> c_int {
    call(|| {
        // SAFETY: the caller promised the room, see `border`.
        let places = unsafe { border::places(times, count, "times") }?;
        handle::with(tx, |Sending { tx, .. }| {
            let told = places.iter_mut().zip(tx.transmissions());
            Ok(told.map(|(place, sent)| place.write(sent.into())).count() as c_int)
        })
    })
}

/// # Safety
/// `frame` is NULL or names a frame, for the length of the call.
unsafe fn request(
    tx: *mut TxHandle,
    frame: *const CFrame,
    asked: impl FnOnce(&mut Frame) -> Result<Offload>,
) -> Result<c_int> {
    // SAFETY: the caller passes on its own promise.
    let frame = unsafe { border::array(frame, 1, "frame") }?[0];
    let ask = |frame: &mut Frame| {
        let offload = asked(frame)?;
        frame.request(offload).map_err(|error| SendError::Request(error).into())
    };
    handle::with(tx, |half| frame::edit(&half.memory.books, &frame, ask))?;
    Ok(0)
}
