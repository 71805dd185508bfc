//! Metadata of received packets, and requests for packets to be transmitted.

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

/// Flags of `known` in `struct xway_xsk_received`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub enum Known {
    /// `hash` and `hash_type` are valid.
    Hash = 1,
    /// `time_ns` is valid.
    Time = 2,
    /// `time_ns` is a time of the device's clock, otherwise of CLOCK_MONOTONIC.
    DeviceTime = 4,
    /// `vlan_control` and `vlan_protocol` are valid.
    Vlan = 8,
    /// The VLAN tag is still in the packet; otherwise the device removed it.
    VlanInside = 16,
}

/// Metadata of a received packet.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ReceivedInfo {
    /// `sizeof(struct xway_xsk_received)`, set by the caller.
    pub size: usize,
    /// Time of reception.
    pub time_ns: u64,
    /// Bitwise OR of enum xway_xsk_known: which of the other fields are valid.
    pub known: u32,
    /// RSS hash of the device, over the fields in `hash_type`.
    pub hash: u32,
    /// A value of the kernel's enum xdp_rss_hash_type.
    pub hash_type: u32,
    /// TCI of the outermost VLAN tag: priority, drop eligibility and VLAN ID.
    pub vlan_control: u32,
    /// EtherType of that tag: 0x8100 or 0x88a8.
    pub vlan_protocol: u32,
    pub reserved: u32,
}

/// The time of transmission of a packet, requested with xway_xsk_tx_request_time().
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SentAt {
    /// The number that was passed with the request.
    pub number: u64,
    /// Time of the device's clock in zero-copy mode, of CLOCK_TAI in copy mode; 0 if the driver
    /// reported none.
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

/// Return the metadata of a packet in `received`. The interface must have been opened with
/// `rx_metadata`. Returns 1, or 0 without metadata.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_rx_received(
    rx: *mut RxHandle,
    frame: *const CFrame,
    received: *mut ReceivedInfo,
) -> c_int {
    call(|| {
        // SAFETY: the caller guarantees the frame, see `border`.
        let frame = unsafe { border::array(frame, 1, "frame") }?[0];
        let known = handle::with(rx, |half| {
            frame::edit(&half.memory.books, &frame, |frame| Ok(frame.received()))
        })?;
        let info = known.map_or_else(ReceivedInfo::default, ReceivedInfo::from);
        // SAFETY: the caller guarantees a struct with its size, see `border`.
        unsafe { border::fill(received, info) }?;
        Ok(known.is_some().into())
    })
}

/// Request the Internet checksum of the bytes from `start` to the end of the packet. The device
/// stores it at `start` + `offset`, which must contain the sum of the pseudo header. If both are 0,
/// the library determines them and writes that sum, for TCP and UDP. All requests need a umem with
/// `transmit_metadata`, and must follow the last change of the frame's `data` and `len`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_tx_request_checksum(
    tx: *mut TxHandle,
    frame: *const CFrame,
    start: u32,
    offset: u32,
) -> c_int {
    let asked = |frame: &mut Frame| match (u16::try_from(start), u16::try_from(offset)) {
        (Ok(0), Ok(0)) => checksum::prepare(frame).ok_or_else(|| {
            Error::argument("the packet is neither TCP nor UDP: pass the offset of the checksum")
        }),
        (Ok(start), Ok(offset)) => Ok(Offload::Checksum { start, offset }),
        _ => Err(Error::argument("the checksum is beyond the end of the packet")),
    };
    // SAFETY: the caller guarantees the frame, see `border`.
    call(|| unsafe { request(tx, frame, asked) })
}

/// Request the time of transmission, which xway_xsk_tx_sent_at() returns with this number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_tx_request_time(
    tx: *mut TxHandle,
    frame: *const CFrame,
    number: u64,
) -> c_int {
    // SAFETY: the caller guarantees the frame, see `border`.
    call(|| unsafe { request(tx, frame, |_| Ok(Offload::Timestamp { number })) })
}

/// Request that the device transmits this packet, and all after it, not before a time of its own
/// clock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_tx_request_launch(
    tx: *mut TxHandle,
    frame: *const CFrame,
    at_ns: u64,
) -> c_int {
    // SAFETY: the caller guarantees the frame, see `border`.
    call(|| unsafe { request(tx, frame, |_| Ok(Offload::Launch { at_ns })) })
}

/// Return up to `count` times of transmission, in the order in which frames were completed. Returns
/// their number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_tx_sent_at(
    tx: *mut TxHandle,
    times: *mut SentAt,
    count: u32,
) -> c_int {
    call(|| {
        // SAFETY: the caller guarantees the memory, see `border`.
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
    // SAFETY: required of the caller of this function.
    let frame = unsafe { border::array(frame, 1, "frame") }?[0];
    let ask = |frame: &mut Frame| {
        let offload = asked(frame)?;
        frame.request(offload).map_err(|error| SendError::Request(error).into())
    };
    handle::with(tx, |half| frame::edit(&half.memory.books, &frame, ask))?;
    Ok(0)
}
