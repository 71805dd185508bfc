//! Interfaces, and the steering of their packets to sockets.

use std::ffi::{c_char, c_int};
use std::mem::size_of;

use xsk::Interface;
use xsk::steer::Rule;

use crate::border::{self, Plain, Versioned};
use crate::error::{Error, call};
use crate::handle::{self, Kind, Table};
use crate::options::InterfaceOptions;

/// A network interface. It may be used by several threads at the same time. Its packets are steered
/// to sockets while its handle, or that of a socket on it, is open.
#[derive(Debug)]
pub struct InterfaceHandle;

static TABLE: Table<Interface> = Table::new();

impl Kind for InterfaceHandle {
    type Value = Interface;
    const TAG: u8 = 0x53;
    const NAME: &'static str = "struct xway_xsk_interface";

    fn table() -> &'static Table<Interface> {
        &TABLE
    }
}

/// Properties of an interface at the time when it was opened.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct InterfaceInfo {
    /// `sizeof(struct xway_xsk_interface_info)`, set by the caller.
    pub size: usize,
    pub ifindex: u32,
    /// MTU: maximum number of bytes after the Ethernet header.
    pub mtu: u32,
    /// Number of queues; they are numbered from 0.
    pub rx_queues: u32,
    pub tx_queues: u32,
}

impl Default for InterfaceInfo {
    fn default() -> Self {
        Self { size: size_of::<Self>(), ifindex: 0, mtu: 0, rx_queues: 0, tx_queues: 0 }
    }
}

impl InterfaceInfo {
    fn of(interface: &Interface) -> Self {
        let device = interface.device();
        Self {
            ifindex: device.ifindex.0,
            mtu: device.mtu,
            rx_queues: device.queues.rx,
            tx_queues: device.queues.tx,
            ..Self::default()
        }
    }
}

// SAFETY: of integers alone.
unsafe impl Plain for InterfaceInfo {}
// SAFETY: begins with its size.
unsafe impl Versioned for InterfaceInfo {
    const NAME: &'static str = "struct xway_xsk_interface_info";
    const LEAST: usize = 24;
}

/// Open an interface of the calling thread's network namespace. This attaches the XDP program that
/// steers its packets, or shares the one that sockets of another process use. `options` may be NULL
/// for the defaults: each packet goes to the socket of its queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_interface_open(
    name: *const c_char,
    options: *const InterfaceOptions,
    interface: *mut *mut InterfaceHandle,
) -> c_int {
    call(|| {
        // SAFETY: the caller guarantees the memory, see `border`.
        let place = unsafe { border::place(interface, "interface") }?;
        // SAFETY: the caller guarantees a string, see `border`.
        let name = unsafe { border::text(name, "name") }?;
        // SAFETY: the caller guarantees a struct with its size, see `border`.
        let options = unsafe { border::options(options) }?;
        // SAFETY: the caller guarantees the rules in it.
        let builder = unsafe { options.builder(name) }?;
        place.write(handle::open(builder.open()?)?);
        Ok(0)
    })
}

/// Close the handle. Sockets on the interface remain open; after the last one is closed, all
/// packets go to the network stack again.
#[unsafe(no_mangle)]
pub extern "C" fn xway_xsk_interface_close(interface: *mut InterfaceHandle) -> c_int {
    call(|| handle::close(interface).map(|()| 0))
}

/// Return the properties of the interface in `info`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_interface_info(
    interface: *mut InterfaceHandle,
    info: *mut InterfaceInfo,
) -> c_int {
    call(|| {
        let interface = handle::share(interface)?;
        // SAFETY: the caller guarantees a struct with its size, see `border`.
        unsafe { border::fill(info, InterfaceInfo::of(&interface)) }?;
        Ok(0)
    })
}

/// Check a steering rule, as for `rules` of struct xway_xsk_interface_options. Returns 0 if it is
/// valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_rule_check(rule: *const c_char) -> c_int {
    call(|| {
        // SAFETY: the caller guarantees a string, see `border`.
        let rule = unsafe { border::text(rule, "rule") }?;
        match rule.parse::<Rule>() {
            Ok(_) => Ok(0),
            Err(error) => Err(Error::argument(error.to_string())),
        }
    })
}
