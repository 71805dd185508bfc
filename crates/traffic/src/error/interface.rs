//! `InterfaceReason`: why an interface cannot send or receive traffic.

use std::net::IpAddr;

/// Why an interface cannot be used as requested. `interface` in a variant is the interface that
/// must be changed, where that is not evident.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InterfaceReason {
    /// No interface of this name exists in the network namespace of the calling thread.
    #[error("no such interface in this network namespace")]
    Unknown,
    /// It is down.
    #[error("the interface is down: `ip link set {interface} up`")]
    Down { interface: String },
    /// It is down, or has no carrier.
    #[error("is down or has no carrier; set it up first")]
    NoCarrier,
    /// Frames are longer than its MTU allows.
    #[error(
        "its MTU of {mtu} allows frames of {max} bytes, not {len}: \
         `ip link set {interface} mtu {needed}`"
    )]
    Mtu { interface: String, mtu: u32, max: usize, len: usize, needed: usize },
    /// The peer of the veth pair is down.
    #[error("its peer is down: set that up, too")]
    PeerDown,
    /// The peer of the veth pair discards XDP frames, since it has neither GRO nor a program.
    #[error("its peer {peer} does not receive XDP frames: `ethtool -K {peer} gro on`")]
    PeerDiscards { peer: String },
    /// A veth device that cannot transmit XDP frames; the text is the advice for this device.
    #[error("{0}")]
    CannotTransmit(String),
    /// A driver that does not transmit XDP frames, or only with a program attached.
    #[error(
        "its driver ({driver}) does not transmit XDP frames, or only while an XDP program is \
         attached: attach one to {interface}, such as one that passes everything"
    )]
    Driver { interface: String, driver: String },
    /// The kernel does not support live frames, or not of this length.
    #[error(
        "the kernel rejects live frames: they require Linux 5.18, and frames must fit into a page"
    )]
    LiveFrames,
    /// Frames cannot be injected as if the interface had received them.
    #[error(
        "the kernel cannot inject frames as received by {interface}: its driver has no receive \
         queue for XDP, or none while both XDP and GRO are off: `ethtool -K {interface} gro on`"
    )]
    Inject { interface: String },
    /// The destination is an address of this host.
    #[error("{destination} is an address of this host: use the address of another host")]
    LocalDestination { destination: IpAddr },
    /// No route to the destination uses this interface.
    #[error("no route to {destination} uses it; add one, or use the interface that has it")]
    NoRoute { destination: IpAddr },
    /// It has no address of the destination's family.
    #[error("has no address to reach {destination} from; add one or give a source")]
    NoSource { destination: IpAddr },
    /// It has no hardware address.
    #[error("has no hardware address")]
    NoMac,
}
