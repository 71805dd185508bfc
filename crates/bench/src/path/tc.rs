//! BPF at the traffic-control hook: translation, and the neighbor by the kernel's routes.

use std::net::Ipv4Addr;

use anyhow::Result;
use kernel::{Link, LoadOptions, Object, TcxSide};
use spec::ProgramKind;
use spec::asm::Reg::{R1, R2, R3, R4, R5};
use spec::asm::{self, Assembler, Cond, Helper, Reg};
use sys::net::Ifindex;

use super::sink::is_ours;
use super::{ActivePath, Journey, Path};
use crate::field::Line;

/// A BPF program in the traffic-control hook.
pub const BPF: Path = Path {
    name: "tc-bpf",
    about: "BPF at tcx ingress translates, repairs checksums and redirects to the neighbour",
    journey: Journey::Translated,
    set: |line| Ok(Box::new(attach(line)?)),
};

struct Attached {
    _link: Link,
}

fn attach(line: &Line) -> Result<Attached> {
    let object = object(line.near.ipv4()?, line.sink.ipv4()?, line.far.ifindex()?)?;
    let (ifindex, program) = (line.near.ifindex()?, object.program(NAME)?);
    let link = line.near.run(|| kernel::attach_tcx(ifindex, program, TcxSide::Ingress))??;
    Ok(Attached { _link: link })
}

/// The steps for a packet: test, TTL, IPv4 checksum, UDP checksum, address, output.
fn object(from: Ipv4Addr, to: Ipv4Addr, out: Ifindex) -> Result<Object> {
    let mut a = Assembler::new(NAME, ProgramKind::TCX_INGRESS);
    let (pass, send) = (a.label(), a.label());
    a.load32(R2, R1.at(DATA)).load32(R3, R1.at(DATA_END)).need(R2, R3, HEADERS, R4, pass);
    is_ours(&mut a, pass);
    a.load32(R4, R2.at(ADDRESS)).jump32_if(R4, Cond::Ne, word(from), pass);
    a.load8(R4, R2.at(TTL)).jump_if(R4, Cond::Le, 1, pass);
    a.note("one hop less, and what it and the address do to the checksum");
    a.sub(R4, 1).store8(R2.at(TTL), R4);
    let moved = difference(from, to);
    a.load16(R4, R2.at(IP_SUM));
    repair(&mut a, moved + i32::from(!u16::from_ne_bytes([1, 0])));
    a.store16(R2.at(IP_SUM), R4).store32(R2.at(ADDRESS), word(to));
    a.note("a UDP checksum of 0 is none and remains so");
    let some = a.label();
    a.load16(R4, R2.at(UDP_SUM)).jump_if(R4, Cond::Eq, 0, send);
    repair(&mut a, moved);
    a.jump_if(R4, Cond::Ne, 0, some).mov(R4, 0xffff).bind(some).store16(R2.at(UDP_SUM), R4);
    a.bind(send).mov(R1, out.0 as i32).mov(R2, 0).mov(R3, 0).mov(R4, 0);
    a.call(Helper::REDIRECT_NEIGH).exit();
    a.bind(pass).mov(Reg::R0, TC_ACT_OK).exit();
    let mut object = asm::Object::new(NAME, "Dual MIT/GPL");
    object.program(a);
    Ok(Object::load(&object.finish()?, &LoadOptions::default())?)
}

/// Adds to the sum that the checksum in R4 complements (RFC 1624). Overwrites R5.
fn repair(a: &mut Assembler, by: i32) {
    a.xor(R4, 0xffff).add(R4, by);
    for _ in 0..2 {
        a.mov(R5, R4).rsh(R5, 16).and(R4, 0xffff).add(R4, R5);
    }
    a.xor(R4, 0xffff);
}

/// The change of a checksum's sum when one address replaces another; not folded.
fn difference(from: Ipv4Addr, to: Ipv4Addr) -> i32 {
    let halves = |ip: Ipv4Addr| {
        let [a, b, c, d] = ip.octets();
        [u16::from_ne_bytes([a, b]), u16::from_ne_bytes([c, d])]
    };
    let gone = halves(from).map(|half| i32::from(!half));
    let new = halves(to).map(i32::from);
    gone.into_iter().chain(new).sum()
}

/// The address in the byte order in which the program reads and writes it.
fn word(ip: Ipv4Addr) -> i32 {
    i32::from_ne_bytes(ip.octets())
}

impl ActivePath for Attached {}

const NAME: &str = "translate";
// In `struct __sk_buff`.
const DATA: i16 = 76;
const DATA_END: i16 = 80;
// In the frame.
const TTL: i16 = 22;
const IP_SUM: i16 = 24;
const ADDRESS: i16 = 30;
const UDP_SUM: i16 = 40;
/// Up to the end of the UDP header.
const HEADERS: i32 = 42;
const TC_ACT_OK: i32 = 0;
