//! A program written in Rust: drops IPv6, passes the rest. Printed as the verifier would.
//! Needs neither root nor Linux.
//!
//! `cargo run -p xway-examples --bin 02-assemble`
#![allow(clippy::print_stdout, reason = "an example prints its results")]
#![forbid(unsafe_code)]

use anyhow::{Context, Result};
use spec::asm::Reg::{R1, R2, R3, R4};
use spec::asm::{Assembler, Cond, Object};
use spec::disasm::{Listing, SpecNames};
use spec::{ProgramKind, Verdict};

fn main() -> Result<()> {
    let mut a = Assembler::new("no_ipv6", ProgramKind::XDP);
    let pass = a.label();
    a.note("the Ethernet header must be there").packet(R2, R3, R1);
    a.need(R2, R3, ETHERNET, R4, pass);
    a.note("is it IPv6?").load16(R4, R2.at(ETHERTYPE)).be16(R4);
    a.jump_if(R4, Cond::Ne, IPV6, pass);
    a.note("drop").verdict(Verdict::Drop);
    a.note("pass").bind(pass).verdict(Verdict::Pass);

    let mut object = Object::new("no_ipv6", "Dual MIT/GPL");
    object.program(a);
    let spec = object.finish()?;
    let program = spec.program("no_ipv6").context("it was just made")?;
    let names = SpecNames { spec: &spec, program };
    println!("{}", Listing::new(program, &names).source(spec.btf.as_ref()).labels(true));
    Ok(())
}

const ETHERNET: i32 = 14;
const ETHERTYPE: i16 = 12;
const IPV6: i32 = 0x86dd;
