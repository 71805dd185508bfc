//! The code before a program that is run alone: it puts the frame back before each run.
//!
//! The kernel runs a program on one frame again and again, and each run finds what the one before
//! left: outer headers, which overwrote the Ethernet header and nothing else; or headers that were
//! removed or changed.
//!
//! Rule: this code does the same before every program of a case. Its stores are at least as long as
//! the loads of the programs, which would otherwise wait for them.

use anyhow::{Context, Result};
use kernel::{LoadOptions, Map, Object};
use spec::asm::Reg::{R1, R2, R3, R4, R5, R6};
use spec::asm::{Assembler, Cond, Helper};
use spec::compose::precede;
use spec::{Expect, Map as _, MapDef, MapKind, ProgramKind, Spec, Verdict};

/// The frame, and what is different in each run.
#[derive(Clone, Debug)]
pub struct PutBack {
    pub frame: Vec<u8>,
    /// The IPv4 address that is another one in each run, in turn of [`ADDRESSES`].
    pub varies: Option<Address>,
    /// Bytes after the Ethernet header that programs change, in a frame of at least that length.
    pub headers: usize,
}

/// An address of an IPv4 packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    Source,
    Destination,
}

impl PutBack {
    /// The program with the code before it.
    fn before(&self, spec: &Spec, program: &str) -> Result<Spec> {
        let mut spec = spec.clone();
        if self.varies.is_some() {
            spec.maps.push(MapDef {
                name: TURN.to_owned(),
                kind: MapKind::ARRAY,
                key_size: 4,
                value_size: 8,
                max_entries: 1,
                ..MapDef::default()
            });
        }
        Ok(precede(&spec, program, self.prelude()?)?)
    }

    /// Begins with the first address.
    fn reset(&self, object: &Object) -> Result<()> {
        if self.varies.is_some() {
            object.map(TURN)?.update(&[0; 4], &[0; 8], Expect::Any)?;
        }
        Ok(())
    }

    /// Loads the program with the code before it, and maps of another object.
    pub fn load(&self, spec: &Spec, program: &str, reuse: Vec<(String, Map)>) -> Result<Object> {
        let programs = Some(vec![program.to_owned()]);
        let options = LoadOptions { programs, reuse, ..LoadOptions::default() };
        let object = Object::load(&self.before(spec, program)?, &options)?;
        self.reset(&object)?;
        Ok(object)
    }

    fn prelude(&self) -> Result<Assembler> {
        let length = i32::try_from(self.frame.len())?;
        let mut a = Assembler::new("put_back", ProgramKind::XDP);
        let fits = a.label();
        a.mov(R6, R1).packet(R2, R3, R6).sub(R3, R2).add(R3, -length).mov(R2, R3);
        a.call(Helper::XDP_ADJUST_HEAD);
        a.mov(R1, R6).packet(R2, R3, R6).mov(R4, R2).add(R4, length);
        a.jump_if(R4, Cond::Le, R3, fits).verdict(Verdict::Aborted).bind(fits);
        for at in [0, 4, 8] {
            a.store32(R2.at(at), self.word(at));
        }
        a.store16(R2.at(ETHER_TYPE), self.word(ETHER_TYPE) & 0xffff);
        // From the IP header on: no address of IPv4 and no port is in two of these words.
        for at in (ETHERNET..ETHERNET + self.headers).step_by(8) {
            let word = self.frame.get(at..).and_then(<[u8]>::first_chunk);
            let word = word.context("the frame is shorter than its headers")?;
            a.load_imm64(R4, u64::from_le_bytes(*word)).store64(R2.at(at as i16), R4);
        }
        if let Some(address) = self.varies {
            vary(&mut a, address);
        }
        Ok(a)
    }

    fn word(&self, at: i16) -> i32 {
        let word = self.frame.get(usize::from(at.unsigned_abs())..).and_then(<[u8]>::first_chunk);
        word.map_or(0, |word| i32::from_le_bytes(*word))
    }
}

/// Writes the address of the next run. The product with an odd number is different for each.
fn vary(a: &mut Assembler, address: Address) {
    let wraps = a.label();
    a.load_map_value(R5, TURN, 0).load64(R4, R5.at(0)).jump_if(R4, Cond::Lt, ADDRESSES, wraps);
    a.mov(R4, 0).bind(wraps).mov(R3, R4).add(R3, 1).store64(R5.at(0), R3);
    let at = match address {
        Address::Source => SOURCE,
        Address::Destination => DESTINATION,
    };
    a.mul32(R4, SCATTER).store32(R2.at(at), R4);
}

/// Number of addresses.
pub const ADDRESSES: i32 = 10_000_000;
const TURN: &str = "bench_turn";
/// 2^32 divided by the golden ratio.
const SCATTER: i32 = 0x9e37_79b1_u32 as i32;
/// Offsets in the frame.
const ETHER_TYPE: i16 = 12;
const ETHERNET: usize = 14;
const SOURCE: i16 = 26;
const DESTINATION: i16 = 30;

#[cfg(test)]
mod tests {
    use spec::{Input, Runtime as _};
    use vm::VmRuntime;

    use super::super::case::Case;
    use super::*;
    use crate::scenario::test_run::{NOTHING, nothing};

    /// Two runs on a frame that has outer headers.
    fn runs(put_back: &PutBack, added: usize) -> [Vec<u8>; 2] {
        let mut engine = VmRuntime::default();
        engine.load(&put_back.before(&nothing().unwrap(), NOTHING).unwrap()).unwrap();
        let mut run = |added: usize| {
            let packet = [&vec![0xee; added + 14][..], &put_back.frame[14..]].concat();
            let input = Input { packet, ..Input::default() };
            let outcome = engine.run(NOTHING, &input).unwrap();
            assert_eq!(outcome.verdict, Verdict::Pass);
            outcome.packet
        };
        [run(added), run(0)]
    }

    #[test]
    fn the_frame_is_as_it_was() {
        for case in Case::ALL.into_iter().filter(|case| case.varies().is_none()) {
            let frame = case.frame([packet::Mac([2; 6]), packet::Mac([4; 6])]).unwrap();
            let put_back = PutBack { frame: frame.clone(), varies: None, headers: 0 };
            for packet in runs(&put_back, case.overhead()) {
                assert_eq!(packet, frame, "{}", case.name());
            }
        }
    }

    #[test]
    fn changed_and_removed_headers_return() {
        let frame: Vec<u8> = (0..94).collect();
        let put_back = PutBack { frame: frame.clone(), varies: None, headers: 40 };
        let mut engine = VmRuntime::default();
        engine.load(&put_back.before(&nothing().unwrap(), NOTHING).unwrap()).unwrap();
        let packet = [&[0xee; 54][..], &frame[54..]].concat();
        let outcome = engine.run(NOTHING, &Input { packet, ..Input::default() }).unwrap();
        assert_eq!(outcome.packet, frame);
    }

    #[test]
    fn only_one_address_differs() {
        for case in [Case::Syn, Case::Strays] {
            let frame = case.frame([packet::Mac([2; 6]), packet::Mac([4; 6])]).unwrap();
            let put_back = PutBack { frame: frame.clone(), varies: case.varies(), headers: 0 };
            let [one, other] = runs(&put_back, case.overhead());
            let differ = (0..frame.len()).filter(|at| one[*at] != other[*at]);
            let place = if case == Case::Syn { 26..30 } else { 30..34 };
            assert_eq!(differ.collect::<Vec<_>>(), place.collect::<Vec<_>>());
        }
    }
}
