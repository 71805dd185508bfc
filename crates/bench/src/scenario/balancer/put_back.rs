//! The code before a program that is run alone: it puts the frame back before each run.
//!
//! The kernel runs a program on one frame again and again, and each run finds what the one before
//! left: outer headers, which overwrote the Ethernet header and nothing else.
//!
//! Rule: this code does the same before every program of a case. Its stores are at least as long as
//! the loads of the programs, which would otherwise wait for them.

use anyhow::Result;
use kernel::Object;
use spec::asm::Reg::{R1, R2, R3, R4, R5, R6};
use spec::asm::{Assembler, Cond, Helper};
use spec::compose::precede;
use spec::{Expect, Map as _, MapDef, MapKind, ProgramKind, Spec, Verdict};

/// The frame, and what is different in each run.
#[derive(Clone, Debug)]
pub struct PutBack {
    pub frame: Vec<u8>,
    /// Whether each run has another IPv4 source, in turn of [`SOURCES`].
    pub varies: bool,
}

impl PutBack {
    /// The program with the code before it.
    pub fn before(&self, spec: &Spec, program: &str) -> Result<Spec> {
        let mut spec = spec.clone();
        if self.varies {
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

    /// Begins with the first source.
    pub fn reset(&self, object: &Object) -> Result<()> {
        if self.varies {
            object.map(TURN)?.update(&[0; 4], &[0; 8], Expect::Any)?;
        }
        Ok(())
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
        if self.varies {
            vary_source(&mut a);
        }
        Ok(a)
    }

    fn word(&self, at: i16) -> i32 {
        let word = self.frame.get(usize::from(at.unsigned_abs())..).and_then(<[u8]>::first_chunk);
        word.map_or(0, |word| i32::from_le_bytes(*word))
    }
}

/// Writes the source of the next run. The product with an odd number is different for each.
fn vary_source(a: &mut Assembler) {
    let wraps = a.label();
    a.load_map_value(R5, TURN, 0).load64(R4, R5.at(0)).jump_if(R4, Cond::Lt, SOURCES, wraps);
    a.mov(R4, 0).bind(wraps).mov(R3, R4).add(R3, 1).store64(R5.at(0), R3);
    a.mul32(R4, SCATTER).store32(R2.at(SOURCE4), R4);
}

/// Number of sources.
pub const SOURCES: i32 = 10_000_000;
const TURN: &str = "bench_turn";
/// 2^32 divided by the golden ratio.
const SCATTER: i32 = 0x9e37_79b1_u32 as i32;
const ETHER_TYPE: i16 = 12;
const SOURCE4: i16 = 26;
