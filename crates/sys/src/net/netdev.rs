//! The `netdev` generic netlink family: what XDP a driver can do, and its NAPI instances.
//!
//! XDP features need Linux 6.3, NAPI and queue listing 6.8; older kernels answer `ENOENT` or
//! `EOPNOTSUPP`.

use super::Ifindex;
use super::generic::{Family, number};
use crate::error::{Error, Result};

/// The family in the namespace where it was opened.
#[derive(Debug)]
pub struct NetdevFamily {
    family: Family,
}

/// XDP features of a driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct XdpFeatures {
    /// `NETDEV_XDP_ACT_*` bits.
    pub bits: u64,
    /// Largest number of buffers per packet with zero copy.
    pub zero_copy_segments: u32,
    /// `NETDEV_XDP_RX_METADATA_*`: timestamp, hash, VLAN tag.
    pub rx_metadata: u64,
    /// `NETDEV_XSK_FLAGS_*`: transmit timestamp, checksum, launch time.
    pub xsk: u64,
}

/// One polling context of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Napi {
    /// The interface.
    pub ifindex: Ifindex,
    /// NAPI id.
    pub id: u32,
    /// The interrupt that wakes it; virtual devices have none.
    pub irq: Option<u32>,
    /// Its kernel thread, when the device polls in threads.
    pub pid: Option<u32>,
}

/// One queue in use of a device that is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetdevQueue {
    /// Queue number.
    pub id: u32,
    /// Direction of the queue.
    pub direction: Direction,
    /// The id of the [`Napi`] that polls it.
    pub napi: Option<u32>,
    /// Whether an `AF_XDP` socket of any process is bound to it (Linux 6.15; `false` before).
    pub has_socket: bool,
}

/// Direction of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Receive,
    Transmit,
}

impl NetdevFamily {
    /// Opens a socket in this thread's network namespace.
    pub fn open() -> Result<Self> {
        Ok(Self { family: Family::open("netdev")? })
    }

    /// Reads the XDP features of an interface.
    pub fn xdp_features(&mut self, ifindex: Ifindex) -> Result<XdpFeatures> {
        let call = "genetlink(NETDEV_CMD_DEV_GET)";
        let device = number(DEV_IFINDEX, ifindex.0);
        let replies = self.family.ask(call, NETDEV_CMD_DEV_GET, &[device], false)?;
        let object = || format!("interface {ifindex}");
        let reply = replies.first().ok_or_else(|| Error::new(call, object(), libc::ENODEV))?;
        Ok(XdpFeatures {
            bits: reply.number(DEV_XDP_FEATURES).unwrap_or(0),
            zero_copy_segments: reply.number(DEV_XDP_ZC_MAX_SEGS).unwrap_or(0) as u32,
            rx_metadata: reply.number(DEV_XDP_RX_METADATA).unwrap_or(0),
            xsk: reply.number(DEV_XSK_FEATURES).unwrap_or(0),
        })
    }

    /// A veth has NAPIs only while XDP or GRO is on and it is up.
    pub fn napis(&mut self, ifindex: Ifindex) -> Result<Vec<Napi>> {
        let call = "genetlink(NETDEV_CMD_NAPI_GET)";
        let device = number(NAPI_IFINDEX, ifindex.0);
        let replies = self.family.ask(call, NETDEV_CMD_NAPI_GET, &[device], true)?;
        Ok(replies
            .iter()
            .filter_map(|reply| {
                Some(Napi {
                    ifindex,
                    id: reply.number(NAPI_ID)? as u32,
                    irq: reply.number(NAPI_IRQ).map(|irq| irq as u32),
                    pid: reply.number(NAPI_PID).map(|pid| pid as u32),
                })
            })
            .collect())
    }

    /// The queues in use; none while the device is down.
    pub fn queues(&mut self, ifindex: Ifindex) -> Result<Vec<NetdevQueue>> {
        let call = "genetlink(NETDEV_CMD_QUEUE_GET)";
        let device = number(QUEUE_IFINDEX, ifindex.0);
        let replies = self.family.ask(call, NETDEV_CMD_QUEUE_GET, &[device], true)?;
        let direction = |kind: u64| match kind {
            0 => Some(Direction::Receive),
            1 => Some(Direction::Transmit),
            _ => None,
        };
        Ok(replies
            .iter()
            .filter_map(|reply| {
                Some(NetdevQueue {
                    id: reply.number(QUEUE_ID)? as u32,
                    direction: direction(reply.number(QUEUE_TYPE)?)?,
                    napi: reply.number(QUEUE_NAPI).map(|id| id as u32),
                    has_socket: reply.has(QUEUE_XSK),
                })
            })
            .collect())
    }
}

impl XdpFeatures {
    /// Whether the driver transmits XDP frames that others redirect to it.
    pub fn transmits(&self) -> bool {
        self.bits & 1 << NDO_XMIT != 0
    }

    /// Whether the driver works on the memory of an `AF_XDP` socket itself.
    pub fn zero_copy(&self) -> bool {
        self.bits & 1 << ZERO_COPY != 0
    }

    /// Whether the driver runs programs itself; without it they run after the packet was copied.
    pub fn native(&self) -> bool {
        self.bits & 1 != 0
    }

    /// Whether programs of the driver see packets larger than a page.
    pub fn multi_buffer(&self) -> bool {
        self.bits & 1 << RX_SG != 0
    }

    /// Whether the device fills in checksums with zero copy.
    pub fn tx_checksum(&self) -> bool {
        self.xsk & XSK_TX_CHECKSUM != 0
    }

    /// Whether the device reports transmit timestamps with zero copy.
    pub fn tx_timestamp(&self) -> bool {
        self.xsk & XSK_TX_TIMESTAMP != 0
    }

    /// Whether the device transmits at a given time with zero copy.
    pub fn launch_time(&self) -> bool {
        self.xsk & XSK_LAUNCH_TIME != 0
    }

    /// Names of the set bits, as the kernel's netdev specification spells them.
    pub fn names(&self) -> Vec<&'static str> {
        let set = |(bit, _): &(usize, &&str)| self.bits & 1 << bit != 0;
        NAMES.iter().enumerate().filter(set).map(|(_, name)| *name).collect()
    }
}

/// `enum netdev_xdp_act`, by bit.
const NAMES: [&str; 7] =
    ["basic", "redirect", "ndo-xmit", "xsk-zerocopy", "hw-offload", "rx-sg", "ndo-xmit-sg"];

const NDO_XMIT: usize = 2;
const ZERO_COPY: usize = 3;
const RX_SG: usize = 5;
// `NETDEV_XSK_FLAGS_*`.
const XSK_TX_TIMESTAMP: u64 = 1;
const XSK_TX_CHECKSUM: u64 = 2;
const XSK_LAUNCH_TIME: u64 = 4;

// include/uapi/linux/netdev.h at v6.18.
const NETDEV_CMD_DEV_GET: u8 = 1;
const NETDEV_CMD_QUEUE_GET: u8 = 10;
const NETDEV_CMD_NAPI_GET: u8 = 11;
const DEV_IFINDEX: u16 = 1;
const DEV_XDP_FEATURES: u16 = 3;
const DEV_XDP_ZC_MAX_SEGS: u16 = 4;
const DEV_XDP_RX_METADATA: u16 = 5;
const DEV_XSK_FEATURES: u16 = 6;
const QUEUE_ID: u16 = 1;
const QUEUE_IFINDEX: u16 = 2;
const QUEUE_TYPE: u16 = 3;
const QUEUE_NAPI: u16 = 4;
const QUEUE_XSK: u16 = 7;
const NAPI_IFINDEX: u16 = 1;
const NAPI_ID: u16 = 2;
const NAPI_IRQ: u16 = 3;
const NAPI_PID: u16 = 4;
