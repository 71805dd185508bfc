//! Connection tracking: lookup, insertion, change and address translation of connections.
//!
//! A connection is lent as `struct nf_conn` with the layout of the object's own types: status,
//! mark, timeout, endpoints and whether TCP is established can be read, the mark can be written;
//! all other fields are zero.

use std::net::{IpAddr, SocketAddr};

use super::socket::{TUPLE_IPV4, TUPLE_IPV6, tuple_ipv4, tuple_ipv6};
use super::{context, in_r0, read, write};
use crate::errno::Errno;
use crate::fault::Fault;
use crate::helpers::bad_argument;
use crate::objects::Kind;
use crate::processor::Processor;
use crate::world::net::{ConnectionEntry, ConnectionId, ConnectionLayout, Zone};
use crate::world::{Direction, Protocol, Status};

type Answer = Result<u64, Box<Fault>>;

pub(super) fn lookup(processor: &mut Processor, args: &[u64; 5]) -> Answer {
    let Some((protocol, ends, mut options)) = request(processor, LOOKUP, args)? else {
        return Ok(0);
    };
    let now_ns = processor.now_ns();
    let found = processor.shared.net.connections.find((protocol, ends), options.zone(), now_ns);
    let Some((id, entry, reply)) = found else { return options.fail(processor, Errno::ENOENT) };
    options.bytes[DIRECTION] = u8::from(reply);
    options.store(processor)?;
    Ok(lend(processor, Kind::Connection, id, &entry))
}

pub(super) fn allocate(processor: &mut Processor, args: &[u64; 5]) -> Answer {
    let Some((protocol, ends, options)) = request(processor, "bpf_xdp_ct_alloc", args)? else {
        return Ok(0);
    };
    let entry = ConnectionEntry::new(protocol, ends, options.zone());
    match processor.shared.net.connections.allocate(entry, processor.now_ns()) {
        Ok(id) => Ok(lend(processor, Kind::NewConnection, id, &entry)),
        Err(errno) => options.fail(processor, errno),
    }
}

pub(super) fn insert(processor: &mut Processor, args: &[u64; 5]) -> Answer {
    let id = owned(processor, "bpf_ct_insert_entry", args[0], Kind::NewConnection)?;
    keep_mark(processor, args[0], id);
    processor.objects.release(args[0]);
    let entry = processor.shared.net.connections.insert(id, processor.now_ns());
    Ok(entry.map_or(0, |entry| lend(processor, Kind::Connection, id, &entry)))
}

pub(super) fn release(processor: &mut Processor, args: &[u64; 5]) -> Answer {
    let id = owned(processor, "bpf_ct_release", args[0], Kind::Connection)?;
    keep_mark(processor, args[0], id);
    processor.objects.release(args[0]);
    Ok(0)
}

pub(super) fn set_timeout(processor: &mut Processor, args: &[u64; 5]) -> Answer {
    let id = owned(processor, "bpf_ct_set_timeout", args[0], Kind::NewConnection)?;
    let lives_ns = u64::from(args[1] as u32) * 1_000_000;
    processor.shared.net.connections.change(id, |entry| entry.timeout_ns = lives_ns);
    Ok(0)
}

pub(super) fn change_timeout(processor: &mut Processor, args: &[u64; 5]) -> Answer {
    let id = owned(processor, "bpf_ct_change_timeout", args[0], Kind::Connection)?;
    let ends_ns = processor.now_ns().saturating_add(u64::from(args[1] as u32) * 1_000_000);
    Ok(processor.shared.net.connections.change(id, |entry| {
        if entry.has(Status::FixedTimeout) {
            return Errno::EPERM.in_r0();
        }
        entry.timeout_ns = ends_ns;
        if entry.has(Status::Dying) { Errno::ETIME.in_r0() } else { 0 }
    }))
}

pub(super) fn set_status(processor: &mut Processor, args: &[u64; 5]) -> Answer {
    status(processor, "bpf_ct_set_status", args, Kind::NewConnection)
}

pub(super) fn change_status(processor: &mut Processor, args: &[u64; 5]) -> Answer {
    status(processor, "bpf_ct_change_status", args, Kind::Connection)
}

fn status(processor: &mut Processor, name: &str, args: &[u64; 5], kind: Kind) -> Answer {
    let id = owned(processor, name, args[0], kind)?;
    keep_mark(processor, args[0], id);
    let wanted = args[1] as u32;
    let changed =
        processor.shared.net.connections.change(id, |entry| Some(change_bits(entry, wanted)));
    if let (Some(Ok(())), Some(entry)) = (changed, processor.shared.net.connections.entry(id)) {
        let image = image(processor, id, &entry);
        processor.fill_lent(args[0], &image);
    }
    Ok(in_r0(changed.unwrap_or(Ok(())).map(|()| 0)))
}

/// Changes status bits. Some must not change, and some can only be set.
fn change_bits(entry: &mut ConnectionEntry, wanted: u32) -> Result<(), Errno> {
    let changed = entry.status ^ wanted;
    let gone = entry.status & !wanted;
    if changed & bits(&[Status::Expected, Status::Confirmed, Status::Dying]) != 0
        || gone & bits(&[Status::SeenReply, Status::Assured]) != 0
    {
        return Err(Errno::EBUSY);
    }
    entry.status |= wanted & bits(&SETTABLE);
    Ok(())
}

fn bits(list: &[Status]) -> u32 {
    list.iter().fold(0, |all, status| all | *status as u32)
}

pub(super) fn set_nat(processor: &mut Processor, args: &[u64; 5]) -> Answer {
    const NAME: &str = "bpf_ct_set_nat_info";
    let id = owned(processor, NAME, args[0], Kind::NewConnection)?;
    let address: [u8; 16] = read(processor, NAME, 2, args[1])?;
    let port = u16::try_from(args[2] as i32).unwrap_or(args[2] as u16);
    let port = if args[2] as i32 > 0 { Some(port) } else { None };
    let source = match args[3] as u32 {
        0 => true,
        1 => false,
        _ => return Err(bad_argument(NAME, 4, "neither source (0) nor destination (1)")),
    };
    let Some(entry) = processor.shared.net.connections.entry(id) else { return Ok(0) };
    let done = if source { Status::SourceNatDone } else { Status::DestinationNatDone };
    if entry.has(done) {
        return Ok(Errno::ENOMEM.in_r0());
    }
    let translated = translate(processor, entry, (address, port), source);
    processor.shared.net.connections.change(id, |entry| *entry = translated);
    let image = image(processor, id, &translated);
    processor.fill_lent(args[0], &image);
    Ok(0)
}

/// Changes the endpoints of the reply: packets in that direction go to, or come from, the new
/// address. Without a requested port, the port is kept, or is the next free one.
fn translate(
    processor: &Processor,
    mut entry: ConnectionEntry,
    (address, port): ([u8; 16], Option<u16>),
    source: bool,
) -> ConnectionEntry {
    let before = entry.directions[1];
    let end = if source { before.to } else { before.from };
    let [a, b, c, d, ..] = address;
    let ip = if end.is_ipv4() { IpAddr::from([a, b, c, d]) } else { IpAddr::from(address) };
    let at = |port: u16| {
        let new = SocketAddr::new(ip, port);
        if source { Direction { to: new, ..before } } else { Direction { from: new, ..before } }
    };
    let taken = |ends: Direction| {
        let now_ns = processor.now_ns();
        processor.shared.net.connections.is_taken((entry.protocol, ends), entry.zone, now_ns)
    };
    let free =
        || (0..u16::MAX).map(|step| end.port().wrapping_add(step)).find(|port| !taken(at(*port)));
    let after = at(port.or_else(free).unwrap_or(end.port()));
    if after != before {
        entry.directions[1] = after;
        let kind = if source { Status::SourceNat } else { Status::DestinationNat };
        entry.status |= kind as u32;
    }
    let done = if source { Status::SourceNatDone } else { Status::DestinationNatDone };
    entry.status |= done as u32;
    entry
}

/// `struct bpf_ct_opts` in the fourth argument.
struct Options {
    bytes: [u8; OPTIONS],
    len: usize,
    address: u64,
    name: &'static str,
}

impl Options {
    fn netns(&self) -> i32 {
        let [a, b, c, d, ..] = self.bytes;
        i32::from_ne_bytes([a, b, c, d])
    }

    fn zone(&self) -> Zone {
        if self.len < OPTIONS {
            return Zone { id: 0, directions: BOTH };
        }
        let id = u16::from_ne_bytes([self.bytes[ZONE], self.bytes[ZONE + 1]]);
        Zone { id, directions: self.bytes[ZONE_DIRECTION] }
    }

    /// A lookup checks the protocol first, an allocation the namespace.
    fn check(&self) -> Result<Protocol, Errno> {
        let reserved = if self.len == OPTIONS { &self.bytes[13..16] } else { &self.bytes[10..12] };
        if reserved.iter().any(|byte| *byte != 0) {
            return Err(Errno::EINVAL);
        }
        let protocol = Protocol::from_number(self.bytes[8]).ok_or(Errno::EPROTO);
        let netns = if self.netns() < -1 { Err(Errno::EINVAL) } else { Ok(()) };
        if self.name == LOOKUP {
            protocol.and_then(|known| netns.map(|()| known))
        } else {
            netns.and(protocol)
        }
    }

    fn store(&self, processor: &mut Processor) -> Result<(), Box<Fault>> {
        write(processor, self.name, 4, (self.address, &self.bytes[..self.len]))
    }

    /// Returns null, with the error in the options.
    fn fail(&self, processor: &mut Processor, errno: Errno) -> Answer {
        let error = (-errno.0).to_ne_bytes();
        write(processor, self.name, 4, (self.address + ERROR, &error))?;
        Ok(0)
    }
}

/// The request of a lookup or allocation; `None` when the options already contain an error.
fn request(
    processor: &mut Processor,
    name: &'static str,
    args: &[u64; 5],
) -> Result<Option<(Protocol, Direction, Options)>, Box<Fault>> {
    context(name, args[0])?;
    let (tuple_len, len) = (args[2] as u32 as usize, args[4] as u32 as usize);
    processor.check_argument(name, 2, (args[1], tuple_len, false))?;
    processor.check_argument(name, 4, (args[3], len, true))?;
    let mut options = Options { bytes: [0; OPTIONS], len, address: args[3], name };
    if len != OPTIONS && len != SHORT_OPTIONS {
        // The error field may be outside of the program's options.
        processor.check_argument(name, 4, (args[3], ERROR as usize + 4, true))?;
        return options.fail(processor, Errno::EINVAL).map(|_| None);
    }
    for (at, byte) in options.bytes.iter_mut().enumerate().take(len) {
        [*byte] = read(processor, name, 4, args[3] + at as u64)?;
    }
    let ends = match tuple_len {
        TUPLE_IPV4 => Ok(tuple_ipv4(read(processor, name, 2, args[1])?)),
        TUPLE_IPV6 => Ok(tuple_ipv6(read(processor, name, 2, args[1])?)),
        _ => Err(Errno::EAFNOSUPPORT),
    };
    let checked = options.check().and_then(|protocol| Ok((protocol, ends?)));
    match checked {
        // An environment has no connections of other namespaces.
        Ok(_) if options.netns() >= 0 => options.fail(processor, Errno::ENONET).map(|_| None),
        Ok((protocol, (from, to))) => {
            if len == OPTIONS && options.bytes[ZONE_DIRECTION] == 0 {
                options.bytes[ZONE_DIRECTION] = BOTH;
                options.store(processor)?;
            }
            Ok(Some((protocol, Direction { from, to }, options)))
        }
        Err(errno) => options.fail(processor, errno).map(|_| None),
    }
}

fn lend(processor: &mut Processor, kind: Kind, id: ConnectionId, entry: &ConnectionEntry) -> u64 {
    let image = image(processor, id, entry);
    processor.lend(kind, &image, true).unwrap_or(0)
}

/// The connection of a pointer that the program owns.
fn owned(
    processor: &Processor,
    name: &str,
    address: u64,
    kind: Kind,
) -> Result<ConnectionId, Box<Fault>> {
    let lent = processor.lent(address, kind).is_some();
    let id = if lent { processor.memory.load64(address + ID).ok() } else { None };
    id.map(ConnectionId).ok_or_else(|| {
        bad_argument(name, 1, format!("not a {} that the program owns", kind.name()))
    })
}

/// Stores the mark that the program may have written.
fn keep_mark(processor: &Processor, address: u64, id: ConnectionId) {
    let Some(at) = layout(processor).mark else { return };
    if let Ok(mark) = processor.memory.load32(address + u64::from(at)) {
        processor.shared.net.connections.change(id, |entry| entry.mark = mark as u32);
    }
}

fn image(processor: &Processor, id: ConnectionId, entry: &ConnectionEntry) -> [u8; IMAGE] {
    let mut image = [0; IMAGE];
    let layout = layout(processor);
    let mut put = |at: Option<u32>, bytes: &[u8]| {
        if let Some(at) = at {
            image[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
        }
    };
    put(layout.status, &u64::from(entry.status).to_ne_bytes());
    put(layout.mark, &entry.mark.to_ne_bytes());
    put(layout.timeout, &((entry.timeout_ns / TICK_NS) as u32).to_ne_bytes());
    for (layout, ends) in layout.tuples.iter().zip(entry.directions) {
        let Some(layout) = layout else { continue };
        for (at, end) in [(layout.from, ends.from), (layout.to, ends.to)] {
            match end.ip() {
                IpAddr::V4(ip) => put(Some(at.address), &ip.octets()),
                IpAddr::V6(ip) => put(Some(at.address), &ip.octets()),
            }
            put(Some(at.port), &end.port().to_be_bytes());
        }
    }
    if entry.protocol == Protocol::Tcp && entry.has(Status::Assured) {
        put(layout.tcp_state, &[TCP_ESTABLISHED]);
    }
    put(Some(ID as u32), &id.0.to_ne_bytes());
    image
}

fn layout(processor: &Processor) -> ConnectionLayout {
    let types = processor.shared.services.types.as_ref();
    *processor.shared.net.connection_layout.get_or_init(|| ConnectionLayout::of(types, ID))
}

/// `TCP_CONNTRACK_ESTABLISHED`.
const TCP_ESTABLISHED: u8 = 3;
const LOOKUP: &str = "bpf_xdp_ct_lookup";
/// Status bits that a program may set.
const SETTABLE: [Status; 4] =
    [Status::SeenReply, Status::Assured, Status::FixedTimeout, Status::Helper];
/// Size of `struct bpf_ct_opts`, and its size before zones.
const OPTIONS: usize = 16;
const SHORT_OPTIONS: usize = 12;
const ERROR: u64 = 4;
const DIRECTION: usize = 9;
const ZONE: usize = 10;
const ZONE_DIRECTION: usize = 12;
/// `NF_CT_DEFAULT_ZONE_DIR`.
const BOTH: u8 = 3;
/// Bytes of a lent connection, more than the structure has; its identifier is at the end.
const IMAGE: usize = 512;
const ID: u64 = IMAGE as u64 - 8;
/// Nanoseconds of a tick of the timeout field; there are 250 ticks a second.
const TICK_NS: u64 = 4_000_000;
