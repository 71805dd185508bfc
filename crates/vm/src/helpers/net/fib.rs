//! `bpf_fib_lookup`: egress interface, next hop and hardware addresses of a packet.
//!
//! Rule: a failed lookup has changed only the fields that Linux changes before the failure.

use std::net::{IpAddr, Ipv6Addr};

use super::{context, read, write};
use crate::errno::Errno;
use crate::fault::Fault;
use crate::processor::Processor;
use crate::world::net::{Flow, Miss, Net, Path, RouteEntry, bits, is_link_local};
use crate::world::{RouteKind, TableId};

pub(super) fn lookup(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    context(NAME, args[0])?;
    processor.check_argument(NAME, 2, (args[1], args[2] as u32 as usize, true))?;
    if (args[2] as u32 as usize) < PARAMETERS || args[3] as u32 & !flag::ALL != 0 {
        return Ok(Errno::EINVAL.in_r0());
    }
    let mut parameters = Parameters(read(processor, NAME, 2, args[1])?);
    let answer = answer(&processor.shared.net, &mut parameters, args[3] as u32);
    write(processor, NAME, 2, (args[1], &parameters.0))?;
    Ok(answer.unwrap_or_else(Errno::in_r0))
}

/// One of `BPF_FIB_LKUP_RET_*`, or an error number.
fn answer(net: &Net, parameters: &mut Parameters, flags: u32) -> Result<u64, Errno> {
    let result = match parameters.0[FAMILY] {
        AF_INET => forward(net, parameters, flags, true)?,
        AF_INET6 => forward(net, parameters, flags, false)?,
        _ => return Err(Errno::EAFNOSUPPORT),
    };
    Ok(result.map_or_else(|refusal| refusal as u64, |()| 0))
}

/// The outer error is an invalid request, the inner one a packet that is not forwarded.
fn forward(
    net: &Net,
    parameters: &mut Parameters,
    flags: u32,
    ipv4: bool,
) -> Result<Result<(), Refusal>, Errno> {
    if !ipv4 && [DESTINATION, SOURCE].iter().any(|at| stays_on_link(parameters.ipv6(*at))) {
        return Ok(Err(Refusal::NotForwarded));
    }
    let device = net.devices.at(parameters.u32(IFINDEX)).ok_or(Errno::ENODEV)?;
    let forwards = if ipv4 { device.forward_ipv4 } else { device.forward_ipv6 };
    if !forwards {
        return Ok(Err(Refusal::ForwardingDisabled));
    }
    let flow = parameters.flow(flags, ipv4);
    let found = route(net, parameters, &flow, flags, ipv4);
    Ok(found.and_then(|(route, path)| write_result(net, parameters, &flow, flags, (route, path))))
}

/// The route and the path that the tables select.
fn route<'a>(
    net: &'a Net,
    parameters: &mut Parameters,
    flow: &Flow,
    flags: u32,
    ipv4: bool,
) -> Result<(&'a RouteEntry, Path), Refusal> {
    let fib = if ipv4 { &net.ipv4 } else { &net.ipv6 };
    let found = if flags & flag::DIRECT != 0 {
        let mut table = TableId::MAIN;
        if flags & flag::TBID != 0 {
            table = TableId(parameters.u32(TABLE));
            parameters.set(TABLE, &[0; 4]);
        }
        fib.in_table(table, flow, &net.devices).unwrap_or(Err(Miss::Nothing))
    } else {
        fib.by_rules(flow, &net.devices)
    };
    let (route, path) = found.map_err(|miss| match miss {
        Miss::Nothing => Refusal::NotForwarded,
        Miss::Blackhole => Refusal::Blackhole,
        Miss::Unreachable => Refusal::Unreachable,
        Miss::Prohibited => Refusal::Prohibited,
    })?;
    match route.kind {
        RouteKind::Unicast => Ok((route, fib.choose(route, path, flow, &net.devices))),
        RouteKind::Blackhole => Err(Refusal::Blackhole),
        RouteKind::Unreachable => Err(Refusal::Unreachable),
        RouteKind::Prohibit => Err(Refusal::Prohibited),
        _ => Err(Refusal::NotForwarded),
    }
}

/// Writes the result, step by step as Linux does.
fn write_result(
    net: &Net,
    parameters: &mut Parameters,
    flow: &Flow,
    flags: u32,
    (route, path): (&RouteEntry, Path),
) -> Result<(), Refusal> {
    let ipv4 = parameters.0[FAMILY] == AF_INET;
    let Some(device) = net.devices.at(path.device) else { return Err(Refusal::NotForwarded) };
    let longest = if ipv4 { LONGEST_IPV4 } else { LONGEST_IPV6 };
    let mtu = if ipv4 { device.mtu } else { device.mtu_ipv6 };
    let mtu = route.mtu.unwrap_or(mtu.min(longest));
    if u32::from(parameters.u16(LENGTH)) > mtu {
        parameters.set(LENGTH, &(mtu as u16).to_ne_bytes());
        return Err(Refusal::FragmentationNeeded);
    }
    parameters.set(METRIC, &route.metric.to_ne_bytes());
    parameters.set(IFINDEX, &path.device.to_ne_bytes());
    if ipv4 {
        if flags & flag::SRC != 0 {
            parameters.set(SOURCE, &net.source_ipv4(route, path).octets());
        }
        parameters.set_gateway(path.gateway);
    } else {
        parameters.set_gateway(path.gateway);
        if flags & flag::SRC != 0 {
            let to = Ipv6Addr::from_bits(flow.destination);
            let source = net.source_ipv6(route, path.device, to);
            parameters.set(SOURCE, &source.ok_or(Refusal::NoSource)?.octets());
        }
    }
    if flags & flag::SKIP_NEIGH == 0 {
        let mac = net.neighbours.mac(path.device, parameters.next());
        parameters.set(DESTINATION_MAC, &mac.ok_or(Refusal::NoNeighbour)?);
        parameters.set(SOURCE_MAC, &device.mac);
    }
    parameters.set(TABLE, &[0; 4]);
    parameters.set(LENGTH, &(mtu as u16).to_ne_bytes());
    Ok(())
}

/// Whether routers never forward packets to the address: link-local, multicast, loopback.
fn stays_on_link(ip: Ipv6Addr) -> bool {
    ip.is_multicast() || is_link_local(ip) || ip.is_loopback()
}

/// `struct bpf_fib_lookup`.
struct Parameters([u8; PARAMETERS]);

impl Parameters {
    fn array<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.0[at..at + N]);
        bytes
    }

    fn u16(&self, at: usize) -> u16 {
        u16::from_ne_bytes(self.array(at))
    }

    fn u32(&self, at: usize) -> u32 {
        u32::from_ne_bytes(self.array(at))
    }

    fn ipv6(&self, at: usize) -> Ipv6Addr {
        Ipv6Addr::from(self.array::<16>(at))
    }

    fn ip(&self, at: usize) -> IpAddr {
        match self.0[FAMILY] {
            AF_INET => IpAddr::from(self.array::<4>(at)),
            _ => self.ipv6(at).into(),
        }
    }

    fn set(&mut self, at: usize, bytes: &[u8]) {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn flow(&self, flags: u32, ipv4: bool) -> Flow {
        let out = flags & flag::OUTPUT != 0;
        let marked = flags & flag::MARK != 0 && flags & flag::DIRECT == 0;
        let index = self.u32(IFINDEX);
        Flow {
            destination: bits::of(self.ip(DESTINATION)),
            source: bits::of(self.ip(SOURCE)),
            has_source: ipv4 || !out,
            iif: if out { LOOPBACK } else { index },
            oif: if out { index } else { 0 },
            mark: if marked { self.u32(MARK) } else { 0 },
            tos: self.0[METRIC],
        }
    }

    /// Stores the next hop in place of the destination. For IPv4 through an IPv6 router the family
    /// changes.
    fn set_gateway(&mut self, gateway: Option<IpAddr>) {
        match gateway {
            Some(IpAddr::V4(v4)) => self.set(DESTINATION, &v4.octets()),
            Some(IpAddr::V6(v6)) => {
                self.0[FAMILY] = AF_INET6;
                self.set(DESTINATION, &v6.octets());
            }
            None => {}
        }
    }

    /// The address whose hardware address is needed.
    fn next(&self) -> IpAddr {
        self.ip(DESTINATION)
    }
}

/// `BPF_FIB_LKUP_RET_*`.
#[derive(Clone, Copy, Debug)]
#[repr(u64)]
enum Refusal {
    Blackhole = 1,
    Unreachable = 2,
    Prohibited = 3,
    NotForwarded = 4,
    ForwardingDisabled = 5,
    NoNeighbour = 7,
    FragmentationNeeded = 8,
    NoSource = 9,
}

/// `BPF_FIB_LOOKUP_*`.
mod flag {
    pub const DIRECT: u32 = 1 << 0;
    pub const OUTPUT: u32 = 1 << 1;
    pub const SKIP_NEIGH: u32 = 1 << 2;
    pub const TBID: u32 = 1 << 3;
    pub const SRC: u32 = 1 << 4;
    pub const MARK: u32 = 1 << 5;
    pub const ALL: u32 = DIRECT | OUTPUT | SKIP_NEIGH | TBID | SRC | MARK;
}

const NAME: &str = "bpf_fib_lookup";
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
/// Interface of packets that the kernel itself sends.
const LOOPBACK: u32 = 1;
/// `IP_MAX_MTU` and `IP6_MAX_MTU`.
const LONGEST_IPV4: u32 = 0xffff;
const LONGEST_IPV6: u32 = 0xffff + 40;

/// Size of the structure, and offsets of its fields. These share a place: type of service and
/// metric, packet length and MTU, table and VLAN tag, mark and hardware addresses.
const PARAMETERS: usize = 64;
const FAMILY: usize = 0;
const LENGTH: usize = 6;
const IFINDEX: usize = 8;
const METRIC: usize = 12;
const SOURCE: usize = 16;
const DESTINATION: usize = 32;
const TABLE: usize = 48;
const MARK: usize = 52;
const SOURCE_MAC: usize = 52;
const DESTINATION_MAC: usize = 58;
