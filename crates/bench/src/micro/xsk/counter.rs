//! `Counter`: the far end of what peers send. Counts numbered frames as they arrive, natively, and
//! drops them; everything else passes.
//!
//! Rule: this counts what has arrived; the sender's count is not used.

use anyhow::{Context, Result};
use kernel::{Link, LoadOptions, Mode, Object};
use lab::Host;
use spec::asm::Reg::{R1, R2, R3, R4, R5};
use spec::asm::{self, Assembler, Cond};
use spec::{Map as _, MapDef, MapKind, ProgramKind, Verdict};

use crate::field::Place;

/// The program on one interface, until dropped.
pub struct Counter {
    object: Object,
    _link: Link,
}

/// What has arrived so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrived {
    /// Frames that arrived.
    pub frames: u64,
    /// Frames of these that arrived after one with a higher number.
    pub behind: u64,
    /// The number that would be next.
    pub next: u64,
}

impl Counter {
    /// Attaches the counter to an interface of a host.
    pub fn attach(host: &Host, interface: &str) -> Result<Self> {
        let object = object()?;
        let place = Place::lab(host.clone(), interface);
        let link = place.attach(object.program(NAME)?, Mode::Native)?;
        Ok(Self { object, _link: link })
    }

    /// The counts so far.
    pub fn arrived(&self) -> Result<Arrived> {
        let value = self.object.map(BOOKS)?.lookup(&[0; 4])?.context("the counter has no value")?;
        let word = |at: i16| {
            let bytes = value[at as usize..].first_chunk().copied();
            bytes.map(u64::from_ne_bytes).context("the counter's value is short")
        };
        Ok(Arrived { frames: word(FRAMES)?, behind: word(BEHIND)?, next: word(NEXT)? })
    }

    /// Resets the counts; no frames may be in flight.
    pub fn reset(&self) -> Result<()> {
        Ok(self.object.map(BOOKS)?.update(&[0; 4], &[0; 24], spec::Expect::Any)?)
    }
}

fn object() -> Result<Object> {
    let mut a = Assembler::new(NAME, ProgramKind::XDP);
    let (pass, behind, over) = (a.label(), a.label(), a.label());
    a.packet(R2, R3, R1).need(R2, R3, NUMBER + 8, R4, pass);
    a.load16(R4, R2.at(DESTINATION_PORT)).be16(R4).jump_if(R4, Cond::Ne, PORT, pass);
    a.load64(R4, R2.at(NUMBER as i16)).be64(R4).load_map_value(R1, BOOKS, 0);
    a.count(R1.at(FRAMES), 1, R5);
    a.load64(R5, R1.at(NEXT)).jump_if(R4, Cond::Lt, R5, behind);
    a.add(R4, 1).store64(R1.at(NEXT), R4).jump(over);
    a.bind(behind).count(R1.at(BEHIND), 1, R5);
    a.bind(over).verdict(Verdict::Drop);
    a.bind(pass).verdict(Verdict::Pass);
    let mut object = asm::Object::new(NAME, "Dual MIT/GPL");
    object.map(MapDef {
        name: BOOKS.into(),
        kind: MapKind::ARRAY,
        key_size: 4,
        value_size: 24,
        max_entries: 1,
        ..MapDef::default()
    });
    object.program(a);
    Ok(Object::load(&object.finish()?, &LoadOptions::default())?)
}

const NAME: &str = "arrived";
const BOOKS: &str = "books";
const FRAMES: i16 = 0;
const BEHIND: i16 = 8;
const NEXT: i16 = 16;
const DESTINATION_PORT: i16 = 36;
/// Offset of the number in a frame.
const NUMBER: i32 = 42;
/// Destination port of counted frames.
pub const PORT: i32 = 5000;
