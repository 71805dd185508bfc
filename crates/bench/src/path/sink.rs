//! Counts packets of the flood where they arrive, drops them, and keeps some of them for
//! inspection.
//!
//! Rule: one queue is polled by one processor at a time, so the program counts without a lock.

use anyhow::{Context, Result};
use kernel::{Link, LoadOptions, Mode, Object};
use spec::asm::Reg::{R1, R2, R3, R4, R5};
use spec::asm::{self, Assembler, Cond, Reg};
use spec::{Map as _, MapDef, MapKind, ProgramKind, Verdict};

use crate::field::{FRAME, PORT, Place};

/// The program on one interface, until dropped.
#[derive(Debug)]
pub struct Sink {
    object: Object,
    _link: Link,
}

impl Sink {
    /// Attaches the counting program to the sink.
    pub fn attach(place: &Place) -> Result<Self> {
        let object = object()?;
        let link = place.attach(object.program(NAME)?, Mode::Native);
        let link = link.context("the counter at the far end")?;
        Ok(Self { object, _link: link })
    }

    /// Packets so far.
    pub fn arrived(&self) -> Result<u64> {
        let word = self.books()?.first_chunk().copied();
        word.map(u64::from_ne_bytes).context("the sink's counter is short")
    }

    /// One of every [`EVERY`], the last [`KEPT`] of them.
    pub fn samples(&self) -> Result<Vec<Vec<u8>>> {
        let kept = self.arrived()?.div_ceil(EVERY).min(KEPT) as usize;
        let books = self.books()?;
        let rooms = books[size_of::<u64>()..].chunks_exact(ROOM).take(kept);
        Ok(rooms.map(|room| room[..FRAME].to_vec()).collect())
    }

    fn books(&self) -> Result<Vec<u8>> {
        self.object.map(BOOKS)?.lookup(&[0; 4])?.context("the sink has no counter")
    }
}

fn object() -> Result<Object> {
    let mut a = Assembler::new(NAME, ProgramKind::XDP);
    let (pass, over) = (a.label(), a.label());
    a.packet(R2, R3, R1).need(R2, R3, FRAME as i32, R4, pass);
    is_ours(&mut a, pass);
    a.note("count").load_map_value(R1, BOOKS, 0);
    a.load64(R4, R1.at(0)).mov(R5, R4).add(R5, 1).store64(R1.at(0), R5);
    a.mov(R5, R4).and(R5, EVERY as i32 - 1).jump_if(R5, Cond::Ne, 0, over);
    a.note("keep one of many");
    a.rsh(R4, EVERY.ilog2() as i32).and(R4, KEPT as i32 - 1).lsh(R4, ROOM.ilog2() as i32);
    a.add(R1, R4);
    for at in (0..FRAME as i16).step_by(4) {
        a.load32(R5, R2.at(at)).store32(R1.at(size_of::<u64>() as i16 + at), R5);
    }
    a.bind(over).verdict(Verdict::Drop);
    a.bind(pass).verdict(Verdict::Pass);
    let mut object = asm::Object::new(NAME, "Dual MIT/GPL");
    object.map(MapDef {
        name: BOOKS.into(),
        kind: MapKind::ARRAY,
        key_size: 4,
        value_size: (size_of::<u64>() + KEPT as usize * ROOM) as u32,
        max_entries: 1,
        ..MapDef::default()
    });
    object.program(a);
    Ok(Object::load(&object.finish()?, &LoadOptions::default())?)
}

/// Continues with UDP over IPv4 to the flood's port, whose frame is at R2. Overwrites R4.
pub(super) fn is_ours(a: &mut Assembler, other: asm::Label) {
    let frame: Reg = R2;
    a.note("UDP over IPv4 to the flood's port");
    a.load16(R4, frame.at(12)).be16(R4).jump_if(R4, Cond::Ne, 0x0800, other);
    a.load8(R4, frame.at(23)).jump_if(R4, Cond::Ne, 17, other);
    a.load16(R4, frame.at(36)).be16(R4).jump_if(R4, Cond::Ne, i32::from(PORT), other);
}

const NAME: &str = "sink";
const BOOKS: &str = "books";
/// One of this number of packets is kept; a power of two, as are those below.
const EVERY: u64 = 64;
/// Maximum number of kept packets.
const KEPT: u64 = 16;
/// Bytes of a kept packet.
const ROOM: usize = 64;
