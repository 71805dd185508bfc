//! Options: structs that can get more fields, and their defaults.
//!
//! Rule: a struct begins with its size, so that a program which was built with an older header runs
//! on. A new field goes behind the last, and its 0 means what was before it. Numbers are the
//! caller's until [`choice`] has made sense of them.

use std::ffi::{c_char, c_int};
use std::mem::size_of;
use std::ptr;
use std::time::Duration;

use xsk::socket;
use xsk::steer::{self, Rule, Steer};
use xsk::umem::{self, HugePages};
use xsk::wait::{BusyPoll, Wait};

use crate::border::{self, Plain, Versioned};
use crate::error::{Error, Result, call};

/// For `huge_pages` of `struct xway_xsk_umem_options`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub enum Pages {
    /// Plain pages.
    Plain = 0,
    /// Huge pages if there are any, else plain ones.
    TryHuge = 1,
    /// Huge pages, or an error.
    Huge = 2,
}

/// For `mode` of `struct xway_xsk_socket_options`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub enum CopyMode {
    /// Zero copy where the driver has it.
    Auto = 0,
    /// The kernel copies packets.
    Copy = 1,
    /// Zero copy, or an error.
    ZeroCopy = 2,
}

/// For `wait` of `struct xway_xsk_socket_options`: how calls wait.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub enum WaitBy {
    /// Looks for a moment where packets come one by one and soon; else sleeps.
    Adaptive = 0,
    /// Sleeps: packets gather meanwhile, which is the least work for each.
    Poll = 1,
    /// Never sleeps: the shortest answers, for a whole processor.
    Spin = 2,
    /// Never sleeps, and does the driver's work; needs `busy_poll_us`.
    Busy = 3,
}

/// For `steer` of `struct xway_xsk_interface_options`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub enum SteerWhat {
    /// All that a queue with a socket receives.
    All = 0,
    /// What any of `rules` matches; the rest goes to the stack.
    Rules = 1,
    /// Nothing, and no program is attached: for programs that only send.
    Nothing = 2,
}

/// For `mode` of `struct xway_xsk_interface_options`: where the program runs that steers.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub enum XdpMode {
    /// In the driver if it can, else in the stack.
    Auto = 0,
    Native = 1,
    Generic = 2,
}

/// Memory for packets. Sizes are in bytes; a switch is 0 for off and anything else for on.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct UmemOptions {
    /// `sizeof(struct xway_xsk_umem_options)`; set by xway_xsk_umem_options_init().
    pub size: usize,
    /// How many frames; 4096 by default.
    pub frames: u32,
    /// A power of two from 2048, the default, to the size of a page.
    pub frame_size: u32,
    /// Bytes that stay free in front of each packet, besides the kernel's own 256 on receive.
    pub headroom: u32,
    /// One of enum xway_xsk_pages.
    pub huge_pages: u32,
    /// Memory of this NUMA node; -1, the default, for the node that touches it first.
    pub numa_node: i32,
    /// Switch: frames need not be a power of two.
    pub unaligned: u32,
    /// Switch: room in front of each packet for what the device is asked to do when it sends.
    pub transmit_metadata: u32,
    /// Switch: in copy mode the kernel computes the checksums that packets ask for.
    pub software_checksum: u32,
}

/// An interface, and which of its packets go to sockets.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct InterfaceOptions {
    /// `sizeof(struct xway_xsk_interface_options)`; set by xway_xsk_interface_options_init().
    pub size: usize,
    /// One of enum xway_xsk_steer.
    pub steer: u32,
    /// One of enum xway_xsk_xdp.
    pub mode: u32,
    /// With XWAY_XSK_STEER_RULES: `rules_count` texts, such as "10.1.0.2 udp 1234",
    /// "any udp from any 53" or "ethertype 0x0806".
    pub rules: *const *const c_char,
    pub rules_count: u32,
    /// Switch: time, hash and VLAN tag are written in front of each packet that is received.
    pub rx_metadata: u32,
    /// Switch: takes off whatever program the interface has. It is not put back.
    pub replace: u32,
    pub reserved: u32,
}

/// One socket. A switch is 0 for off and anything else for on.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SocketOptions {
    /// `sizeof(struct xway_xsk_socket_options)`; set by xway_xsk_socket_options_init().
    pub size: usize,
    /// One of enum xway_xsk_mode.
    pub mode: u32,
    /// Slots of the rx, tx and completion rings: a power of two; 2048 by default.
    pub rings: u32,
    /// Slots of the fill ring, a power of two; 2048 by default.
    pub fill: u32,
    /// How many packets of xway_xsk_send() wait for each other; 1 by default.
    pub batch: u32,
    /// Switch, on by default: the kernel says when it wants to be called.
    pub need_wakeup: u32,
    /// Switch: packets may be longer than a frame.
    pub multi_buffer: u32,
    /// Packets that one call of the kernel sends in copy mode; 0, the default, for as many as
    /// it may.
    pub transmit_budget: u32,
    /// How long to wait for a queue that is still being closed; 500 by default.
    pub patience_ms: u32,
    /// Switch: other sockets may be opened beside it, on the same queue.
    pub shareable: u32,
    /// One of enum xway_xsk_wait.
    pub wait: u32,
    /// Busy polling: microseconds that a call of the kernel may poll; 0, the default, for none.
    pub busy_poll_us: u32,
    /// Busy polling: packets that one poll handles at most; 64 by default.
    pub busy_poll_budget: u32,
    /// Switch of busy polling: the kernel does not poll by itself while the program does.
    pub prefer_busy_poll: u32,
    /// A packet that waited so long for its batch is sent by the next call; 0, the default,
    /// for no such limit.
    pub longest_delay_us: u32,
}

impl Default for UmemOptions {
    fn default() -> Self {
        Self {
            size: size_of::<Self>(),
            frames: 4096,
            frame_size: 2048,
            headroom: 0,
            huge_pages: Pages::Plain as u32,
            numa_node: -1,
            unaligned: 0,
            transmit_metadata: 0,
            software_checksum: 0,
        }
    }
}

impl Default for InterfaceOptions {
    fn default() -> Self {
        Self {
            size: size_of::<Self>(),
            steer: SteerWhat::All as u32,
            mode: XdpMode::Auto as u32,
            rules: ptr::null(),
            rules_count: 0,
            rx_metadata: 0,
            replace: 0,
            reserved: 0,
        }
    }
}

impl Default for SocketOptions {
    fn default() -> Self {
        Self {
            size: size_of::<Self>(),
            mode: CopyMode::Auto as u32,
            rings: 2048,
            fill: 2048,
            batch: 1,
            need_wakeup: 1,
            multi_buffer: 0,
            transmit_budget: 0,
            patience_ms: 500,
            shareable: 0,
            wait: WaitBy::Adaptive as u32,
            busy_poll_us: 0,
            busy_poll_budget: BusyPoll::default().budget,
            prefer_busy_poll: 0,
            longest_delay_us: 0,
        }
    }
}

impl UmemOptions {
    pub fn builder(&self) -> Result<umem::Builder> {
        let pages = [
            (Pages::Plain as u32, HugePages::No),
            (Pages::TryHuge as u32, HugePages::Try),
            (Pages::Huge as u32, HugePages::Require),
        ];
        let builder = xsk::Umem::builder()
            .frames(self.frames)
            .frame_size(self.frame_size)
            .headroom(self.headroom)
            .huge_pages(choice("huge_pages", self.huge_pages, &pages)?)
            .unaligned(self.unaligned != 0)
            .transmit_metadata(self.transmit_metadata != 0)
            .software_checksum(self.software_checksum != 0);
        match u32::try_from(self.numa_node) {
            Ok(node) => Ok(builder.numa_node(node)),
            Err(_) if self.numa_node == -1 => Ok(builder),
            Err(_) => Err(wrong("numa_node", self.numa_node)),
        }
    }
}

impl InterfaceOptions {
    /// # Safety
    /// `rules` is NULL or names `rules_count` strings, each ending with a zero, for the length of
    /// the call.
    pub unsafe fn builder(&self, name: &str) -> Result<xsk::interface::Builder> {
        let modes = [
            (XdpMode::Auto as u32, steer::Mode::Auto),
            (XdpMode::Native as u32, steer::Mode::Native),
            (XdpMode::Generic as u32, steer::Mode::Generic),
        ];
        let what = [SteerWhat::All, SteerWhat::Rules, SteerWhat::Nothing];
        if self.reserved != 0 {
            return Err(wrong("reserved", self.reserved));
        }
        let builder =
            xsk::Interface::builder(name).mode(choice("mode", self.mode, &modes)?).options(
                steer::Options { rx_metadata: self.rx_metadata != 0, replace: self.replace != 0 },
            );
        let steer = choice("steer", self.steer, &what.map(|what| (what as u32, what)))?;
        if self.rules_count > 0 && !matches!(steer, SteerWhat::Rules) {
            return Err(Error::argument("rules are given, and steer is not XWAY_XSK_STEER_RULES"));
        }
        match steer {
            SteerWhat::All => Ok(builder.steer(Steer::All)),
            // SAFETY: the caller passes on its own promise.
            SteerWhat::Rules => Ok(builder.steer(Steer::Rules(unsafe { self.parsed() }?))),
            SteerWhat::Nothing => Ok(builder.without_steering()),
        }
    }

    /// # Safety
    /// As [`InterfaceOptions::builder`].
    unsafe fn parsed(&self) -> Result<Vec<Rule>> {
        // SAFETY: the caller promised so many pointers.
        let texts = unsafe { border::array(self.rules, self.rules_count, "rules") }?;
        let parse = |text: &*const c_char| {
            // SAFETY: the caller promised that each names a string.
            let text = unsafe { border::text(*text, "a rule") }?;
            text.parse().map_err(|error| Error::argument(format!("{error}")))
        };
        texts.iter().map(parse).collect()
    }
}

impl SocketOptions {
    pub fn apply<'a>(&self, builder: socket::Builder<'a>) -> Result<socket::Builder<'a>> {
        let modes = [
            (CopyMode::Auto as u32, socket::Mode::Auto),
            (CopyMode::Copy as u32, socket::Mode::Copy),
            (CopyMode::ZeroCopy as u32, socket::Mode::ZeroCopy),
        ];
        let builder = builder
            .mode(choice("mode", self.mode, &modes)?)
            .rings(self.rings)
            .fill(self.fill)
            .batch(self.batch)
            .need_wakeup(self.need_wakeup != 0)
            .multi_buffer(self.multi_buffer != 0)
            .patience(Duration::from_millis(self.patience_ms.into()))
            .shareable(self.shareable != 0);
        let builder = self.apply_waits(builder)?;
        Ok(match self.transmit_budget {
            0 => builder,
            packets => builder.transmit_budget(packets),
        })
    }

    fn apply_waits<'a>(&self, builder: socket::Builder<'a>) -> Result<socket::Builder<'a>> {
        let waits = [
            (WaitBy::Adaptive as u32, Wait::Adaptive),
            (WaitBy::Poll as u32, Wait::Poll),
            (WaitBy::Spin as u32, Wait::Spin),
            (WaitBy::Busy as u32, Wait::BusyPoll),
        ];
        let mut builder = builder.wait(choice("wait", self.wait, &waits)?);
        if self.busy_poll_us > 0 {
            builder = builder.busy_poll(BusyPoll {
                microseconds: self.busy_poll_us,
                budget: self.busy_poll_budget,
                prefer: self.prefer_busy_poll != 0,
            });
        }
        Ok(match self.longest_delay_us {
            0 => builder,
            longest => builder.longest_delay(Duration::from_micros(longest.into())),
        })
    }
}

fn choice<T: Copy>(name: &str, number: u32, choices: &[(u32, T)]) -> Result<T> {
    let chosen = choices.iter().find(|(of, _)| *of == number);
    chosen.map(|(_, choice)| *choice).ok_or_else(|| wrong(name, number))
}

fn wrong(name: &str, value: impl std::fmt::Display) -> Error {
    Error::argument(format!("option {name} is {value}, which means nothing"))
}

/// Fills in defaults. `size` is `sizeof *options`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_umem_options_init(
    options: *mut UmemOptions,
    size: usize,
) -> c_int {
    // SAFETY: the caller promised the room, see `border`.
    call(|| unsafe { border::init(options, size) }.map(|()| 0))
}

/// Fills in defaults. `size` is `sizeof *options`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_interface_options_init(
    options: *mut InterfaceOptions,
    size: usize,
) -> c_int {
    // SAFETY: the caller promised the room, see `border`.
    call(|| unsafe { border::init(options, size) }.map(|()| 0))
}

/// Fills in defaults. `size` is `sizeof *options`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_socket_options_init(
    options: *mut SocketOptions,
    size: usize,
) -> c_int {
    // SAFETY: the caller promised the room, see `border`.
    call(|| unsafe { border::init(options, size) }.map(|()| 0))
}

// SAFETY: of integers alone.
unsafe impl Plain for UmemOptions {}
// SAFETY: of integers and a raw pointer.
unsafe impl Plain for InterfaceOptions {}
// SAFETY: of integers alone.
unsafe impl Plain for SocketOptions {}

// SAFETY: begins with its size.
unsafe impl Versioned for UmemOptions {
    const NAME: &'static str = "struct xway_xsk_umem_options";
    const LEAST: usize = 40;
}
// SAFETY: begins with its size.
unsafe impl Versioned for InterfaceOptions {
    const NAME: &'static str = "struct xway_xsk_interface_options";
    const LEAST: usize = 40;
}
// SAFETY: begins with its size.
unsafe impl Versioned for SocketOptions {
    const NAME: &'static str = "struct xway_xsk_socket_options";
    const LEAST: usize = 64;
}
