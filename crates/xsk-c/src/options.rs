//! Options: structs that later versions can extend, and their defaults.
//!
//! Rule: a struct begins with its size, so that a program that was built with an older header still
//! runs. New fields are appended, and 0 selects the previous behavior. Numbers are not trusted
//! until [`choice`] has converted them.

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

/// Values of `huge_pages` in `struct xway_xsk_umem_options`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub enum Pages {
    /// Pages of the normal size.
    Plain = 0,
    /// Huge pages if available, otherwise normal ones.
    TryHuge = 1,
    /// Huge pages; an error if there are none.
    Huge = 2,
}

/// Values of `mode` in `struct xway_xsk_socket_options`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub enum CopyMode {
    /// Zero copy if the driver supports it.
    Auto = 0,
    /// The kernel copies packets.
    Copy = 1,
    /// Zero copy; an error if the driver does not support it.
    ZeroCopy = 2,
}

/// Values of `wait` in `struct xway_xsk_socket_options`: how calls wait.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub enum WaitBy {
    /// Polls briefly while packets arrive one by one in short intervals; otherwise sleeps.
    Adaptive = 0,
    /// Sleeps: packets accumulate meanwhile, which costs the least processor time per packet.
    Poll = 1,
    /// Never sleeps: the lowest latency, at the cost of a whole processor.
    Spin = 2,
    /// Never sleeps, and runs the driver's poll (busy polling); needs `busy_poll_us`.
    Busy = 3,
}

/// Values of `steer` in `struct xway_xsk_interface_options`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub enum SteerWhat {
    /// All packets of a queue that has a socket.
    All = 0,
    /// Packets that match one of `rules`; all others go to the network stack.
    Rules = 1,
    /// No packets, and no program is attached: for programs that only send.
    Nothing = 2,
}

/// Values of `mode` in `struct xway_xsk_interface_options`: where the XDP program runs.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub enum XdpMode {
    /// In the driver if it supports XDP, otherwise in the network stack (generic mode).
    Auto = 0,
    Native = 1,
    Generic = 2,
}

/// Options of a umem. Sizes are in bytes; a switch is on unless it is 0.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct UmemOptions {
    /// `sizeof(struct xway_xsk_umem_options)`; set by xway_xsk_umem_options_init().
    pub size: usize,
    /// Number of frames; 4096 by default.
    pub frames: u32,
    /// Size of a frame: a power of two from 2048, the default, to the page size.
    pub frame_size: u32,
    /// Headroom: bytes kept free before each packet, in addition to the kernel's 256 on receive.
    pub headroom: u32,
    /// A value of enum xway_xsk_pages.
    pub huge_pages: u32,
    /// The NUMA node to allocate on; -1, the default, for the node that accesses a page first.
    pub numa_node: i32,
    /// Switch: the frame size need not be a power of two.
    pub unaligned: u32,
    /// Switch: reserve space before each packet for requests to the device on transmit.
    pub transmit_metadata: u32,
    /// Switch: in copy mode, the kernel computes the checksums that packets request.
    pub software_checksum: u32,
}

/// Options of an interface: which of its packets go to sockets.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct InterfaceOptions {
    /// `sizeof(struct xway_xsk_interface_options)`; set by xway_xsk_interface_options_init().
    pub size: usize,
    /// A value of enum xway_xsk_steer.
    pub steer: u32,
    /// A value of enum xway_xsk_xdp.
    pub mode: u32,
    /// With XWAY_XSK_STEER_RULES: `rules_count` strings such as "10.1.0.2 udp 1234",
    /// "any udp from any 53" or "ethertype 0x0806".
    pub rules: *const *const c_char,
    pub rules_count: u32,
    /// Switch: store time, hash and VLAN tag before each received packet.
    pub rx_metadata: u32,
    /// Switch: replace any other XDP program of the interface. It is not restored.
    pub replace: u32,
    pub reserved: u32,
}

/// Options of a socket. A switch is on unless it is 0.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SocketOptions {
    /// `sizeof(struct xway_xsk_socket_options)`; set by xway_xsk_socket_options_init().
    pub size: usize,
    /// A value of enum xway_xsk_mode.
    pub mode: u32,
    /// Slots of the rx, tx and completion rings, a power of two; 2048 by default.
    pub rings: u32,
    /// Slots of the fill ring, a power of two; 2048 by default.
    pub fill: u32,
    /// Number of packets that xway_xsk_send() collects before they are sent; 1 by default.
    pub batch: u32,
    /// Switch, on by default: wake the kernel only when it requests that (XDP_USE_NEED_WAKEUP).
    pub need_wakeup: u32,
    /// Switch: packets may be longer than a frame.
    pub multi_buffer: u32,
    /// Maximum number of packets that one system call sends in copy mode; 0, the default, for
    /// the kernel's maximum.
    pub transmit_budget: u32,
    /// Milliseconds to wait for a queue that is still being released; 500 by default.
    pub patience_ms: u32,
    /// Switch: allow other sockets on the same queue.
    pub shareable: u32,
    /// A value of enum xway_xsk_wait.
    pub wait: u32,
    /// Busy polling: microseconds that one system call may poll; 0, the default, for none.
    pub busy_poll_us: u32,
    /// Busy polling: maximum number of packets of one poll; 64 by default.
    pub busy_poll_budget: u32,
    /// Switch of busy polling: the kernel does not poll on its own while the program does.
    pub prefer_busy_poll: u32,
    /// Microseconds after which a packet no longer waits for its batch, but is sent by the next
    /// call; 0, the default, for no limit.
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
    /// `rules` is NULL, or points to `rules_count` strings that each end with a zero and are valid
    /// during the call.
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
            return Err(Error::argument("`rules` requires `steer` to be XWAY_XSK_STEER_RULES"));
        }
        match steer {
            SteerWhat::All => Ok(builder.steer(Steer::All)),
            // SAFETY: required of the caller of this function.
            SteerWhat::Rules => Ok(builder.steer(Steer::Rules(unsafe { self.parsed() }?))),
            SteerWhat::Nothing => Ok(builder.without_steering()),
        }
    }

    /// # Safety
    /// As for [`InterfaceOptions::builder`].
    unsafe fn parsed(&self) -> Result<Vec<Rule>> {
        // SAFETY: the caller guarantees this number of pointers.
        let texts = unsafe { border::array(self.rules, self.rules_count, "rules") }?;
        let parse = |text: &*const c_char| {
            // SAFETY: the caller guarantees that each points to a string.
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
    Error::argument(format!("option {name}: invalid value {value}"))
}

/// Write the defaults to `options`. `size` is `sizeof *options`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_umem_options_init(
    options: *mut UmemOptions,
    size: usize,
) -> c_int {
    // SAFETY: the caller guarantees the memory, see `border`.
    call(|| unsafe { border::init(options, size) }.map(|()| 0))
}

/// Write the defaults to `options`. `size` is `sizeof *options`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_interface_options_init(
    options: *mut InterfaceOptions,
    size: usize,
) -> c_int {
    // SAFETY: the caller guarantees the memory, see `border`.
    call(|| unsafe { border::init(options, size) }.map(|()| 0))
}

/// Write the defaults to `options`. `size` is `sizeof *options`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xway_xsk_socket_options_init(
    options: *mut SocketOptions,
    size: usize,
) -> c_int {
    // SAFETY: the caller guarantees the memory, see `border`.
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
