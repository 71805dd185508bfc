//! `Overview`: what happened between two readings.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::rates::{Rate, Rates};
use crate::status::Running;

/// All interfaces, programs, queues and processors, with rates over an interval.
#[derive(Clone, Debug, Serialize)]
pub struct Overview {
    /// Time between the two readings that rates are made of, in seconds.
    pub interval_s: f64,
    /// Interfaces of this network namespace, also those without programs.
    pub interfaces: Vec<InterfaceLoad>,
    /// Processors that run.
    pub cpus: Vec<CpuLoad>,
}

/// An interface with its traffic.
#[derive(Clone, Debug, Serialize)]
pub struct InterfaceLoad {
    /// Name of the interface.
    pub name: String,
    /// Index of the interface.
    pub ifindex: u32,
    /// Enabled by its administrator.
    pub up: bool,
    /// Largest packet, in bytes.
    pub mtu: u32,
    /// Received packets, as the interface counts them (`ip -s link`). Some drivers leave out
    /// packets that XDP drops.
    pub rx: Traffic,
    /// Sent packets.
    pub tx: Traffic,
    /// Programs on the interface.
    pub programs: Vec<ProgramLoad>,
    /// Queues that the driver counts (`ethtool -S`), of an interface with programs or `AF_XDP`
    /// sockets.
    pub queues: Vec<QueueLoad>,
    /// `AF_XDP` sockets that are bound to the interface.
    pub sockets: Vec<SocketLoad>,
}

/// Packets in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Traffic {
    #[serde(flatten)]
    pub rate: Rate,
    /// Packets with errors.
    pub errors: Total,
    /// Packets that were dropped; for received ones, also those that the device missed because its
    /// queue was full.
    pub dropped: Total,
}

/// A counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Total {
    /// Its value now.
    pub total: u64,
    /// Increase per second over the interval; 0 if it was counted anew.
    pub per_s: f64,
}

/// A program on an interface.
#[derive(Clone, Debug, Serialize)]
pub struct ProgramLoad {
    #[serde(flatten)]
    pub running: Running,
    /// The members of a chain with their own packets, in the order in which they run.
    pub chain: Vec<MemberLoad>,
    /// Processors on which the program counted packets.
    pub cpus: Vec<CpuVerdicts>,
    /// Paths at which the program and its link are pinned, as far as this process may read them.
    pub pins: Vec<String>,
}

/// A member of a chain.
#[derive(Clone, Debug, Serialize)]
pub struct MemberLoad {
    /// Name of the member.
    pub name: String,
    /// Name of its program.
    pub program: String,
    /// Members run in ascending order.
    pub priority: u32,
    /// Verdicts after which the next member runs.
    pub continue_on: Vec<String>,
    /// Packets by its own verdict; `null` for a member that is not counted.
    pub rates: Option<Rates>,
    /// Average nanoseconds of a run since it was added: about one packet of 1,024 is timed. `null`
    /// until one was.
    pub ns: Option<f64>,
}

/// Packets of a program on one processor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CpuVerdicts {
    /// Number of the processor.
    pub cpu: usize,
    /// Packets by verdict, those that occurred; `invalid` are return values that are not verdicts.
    /// A chain's counters include members that were removed.
    pub verdicts: BTreeMap<&'static str, Rate>,
}

/// A processor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CpuLoad {
    /// Number of the processor.
    pub cpu: usize,
    /// Packets of all counted programs of this namespace.
    pub xdp: Rate,
    /// These packets by verdict, those that occurred.
    pub verdicts: BTreeMap<&'static str, Rate>,
    /// Packets that the network stack received, of all namespaces.
    pub stack: Total,
    /// Packets that the stack dropped because the processor's backlog was full.
    pub backlog_dropped: Total,
    /// Times that packets waited because receiving had used its budget.
    pub squeezed: Total,
    /// Share of its time with work, from 0 to 1; `null` if no time passed.
    pub busy: Option<f64>,
    /// Share of its time in soft interrupts, where packets are received.
    pub softirq: Option<f64>,
}

/// A queue of an interface.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueueLoad {
    /// `rx` or `tx`.
    pub direction: &'static str,
    /// Number of the queue.
    pub queue: u32,
    /// All its counters, by the driver's names without direction and number.
    pub counters: BTreeMap<String, Total>,
}

impl QueueLoad {
    /// Packets of the queue: the first of the names under which drivers count them.
    pub fn packets(&self) -> Option<Total> {
        PACKETS.iter().find_map(|name| self.counters.get(*name)).copied()
    }

    /// Bytes of these packets.
    pub fn bytes(&self) -> Option<Total> {
        BYTES.iter().find_map(|name| self.counters.get(*name)).copied()
    }

    /// Packets that XDP dropped or refused.
    pub fn xdp_drops(&self) -> Option<Total> {
        XDP_DROPS.iter().find_map(|name| self.counters.get(*name)).copied()
    }
}

/// An `AF_XDP` socket.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SocketLoad {
    /// Number of the queue that it is bound to.
    pub queue: u32,
    /// Inode of the socket, which identifies it in `/proc/PID/fd`.
    pub inode: u32,
    /// Number of the user who opened it.
    pub uid: u32,
    /// Packets that were too large for a frame, or lost for other reasons than a full ring.
    pub rx_dropped: Total,
    /// Packets that were lost because the rx ring was full.
    pub rx_ring_full: Total,
    /// Times that a packet found no empty frame in the fill ring.
    pub fill_ring_empty: Total,
    /// Invalid descriptors in the tx ring.
    pub tx_invalid: Total,
}

const PACKETS: [&str; 5] = ["packets", "xdp_packets", "cnt", "pkts", "xdp_xmit"];
const BYTES: [&str; 2] = ["bytes", "xdp_bytes"];
const XDP_DROPS: [&str; 2] = ["xdp_drops", "xdp_drop"];
