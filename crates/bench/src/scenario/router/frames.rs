//! The code before a program that is run alone: it puts the frame back before each run.
//!
//! The kernel runs a program on one frame again and again, and each run finds what the one before
//! left. So this code writes again what the program has written, and the fields in which the next
//! frame differs: addresses, TTL, VLAN tag.
//!
//! Rule: stores are as long as the loads of the programs, which would otherwise wait for them. What
//! this code does depends on the frames alone, so it costs the same before every program.

use anyhow::{Context, Result};
use kernel::Map;
use spec::asm::Reg::{R1, R2, R3, R4, R5, R6};
use spec::asm::{Assembler, Cond, Helper, Size};
use spec::compose::precede;
use spec::{Expect, Map as _, MapDef, MapKind, ProgramKind, Spec, Verdict};

/// The frames that a program meets in turn.
pub struct Frames {
    /// The first of them.
    pub first: Vec<u8>,
    /// The turn, and for each frame the fields in which it differs.
    list: Vec<u8>,
    fields: Vec<(i16, Size)>,
    rewrite: Rewrite,
    is_ipv6: bool,
    /// Bytes of the tag.
    tag: i16,
    count: i32,
}

/// What a program changes in a frame, besides the MAC addresses, the TTL and the tag that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rewrite {
    /// Nothing.
    Nothing,
    /// Its beginning: a tag is added or removed, or headers are added.
    Beginning,
    /// The addresses, ports and checksum of a TCP segment.
    Addresses,
}

impl Frames {
    /// # Errors
    /// There is no frame, or one is too short.
    pub fn new(frames: Vec<Vec<u8>>, rewrite: Rewrite) -> Result<Self> {
        let first = frames.first().context("no frame")?.clone();
        let tag: i16 = if first.get(12) == Some(&0x81) { 4 } else { 0 };
        let is_ipv6 = first.get(12 + usize::from(tag.unsigned_abs())) == Some(&0x86);
        let fields = fields(&frames, is_ipv6, tag, rewrite);
        let mut list = vec![0; TURN];
        for frame in &frames {
            for (at, size) in &fields {
                list.extend_from_slice(field(frame, *at, *size).context("short frame")?);
            }
        }
        let count = i32::try_from(frames.len())?;
        Ok(Self { first, list, fields, rewrite, is_ipv6, tag, count })
    }

    /// Fills the map of a program that [`Self::before`] made.
    pub fn fill(&self, map: &Map) -> Result<()> {
        Ok(map.update(&[0; 4], &self.list, Expect::Any)?)
    }

    /// The program with the code before it.
    pub fn before(&self, spec: &Spec, program: &str) -> Result<Spec> {
        let mut spec = spec.clone();
        spec.maps.push(MapDef {
            name: FRAMES.to_owned(),
            kind: MapKind::ARRAY,
            key_size: 4,
            value_size: u32::try_from(self.list.len())?,
            max_entries: 1,
            ..MapDef::default()
        });
        Ok(precede(&spec, program, self.prelude()?)?)
    }

    fn prelude(&self) -> Result<Assembler> {
        let length = i32::try_from(self.first.len())?;
        let mut a = Assembler::new(FRAMES, ProgramKind::XDP);
        let fits = a.label();
        a.mov(R6, R1);
        if self.rewrite == Rewrite::Beginning {
            // Also before the program that leaves the length as it is, so that it costs both.
            a.packet(R2, R3, R6).sub(R3, R2).add(R3, -length).mov(R2, R3);
            a.call(Helper::XDP_ADJUST_HEAD);
        }
        a.mov(R1, R6).packet(R2, R3, R6).mov(R4, R2).add(R4, length).jump_if(
            R4,
            Cond::Le,
            R3,
            fits,
        );
        a.verdict(Verdict::Aborted).bind(fits);
        self.write_link(&mut a)?;
        self.write_fields(&mut a)?;
        if self.is_ipv6 {
            let hops = HOP_LIMIT + self.tag;
            let [hops_left] = *field(&self.first, hops, Size::Byte).context("short frame")? else {
                anyhow::bail!("no hop limit")
            };
            a.store8(R2.at(hops), i32::from(hops_left));
        }
        Ok(a)
    }

    /// Writes the MAC addresses, and the tag or EtherType where the program writes another one.
    fn write_link(&self, a: &mut Assembler) -> Result<()> {
        let word =
            |at: usize| self.first[at..].first_chunk().map_or(0, |word| i32::from_le_bytes(*word));
        for at in [0, 4, 8].into_iter().chain((self.tag != 0).then_some(12)) {
            a.store32(R2.at(at), word(usize::try_from(at)?));
        }
        if self.tag == 0 && self.rewrite == Rewrite::Beginning {
            a.store16(R2.at(12), word(12) & 0xffff);
        }
        Ok(())
    }

    /// Writes the fields of the next frame.
    fn write_fields(&self, a: &mut Assembler) -> Result<()> {
        let wraps = a.label();
        a.load_map_value(R5, FRAMES, 0).load64(R4, R5.at(0)).jump_if(
            R4,
            Cond::Lt,
            self.count,
            wraps,
        );
        a.mov(R4, 0).bind(wraps).mov(R3, R4).add(R3, 1).store64(R5.at(0), R3);
        let sizes: usize = self.fields.iter().map(|(_, size)| size.bytes()).sum();
        a.mul(R4, i32::try_from(sizes)?).add(R5, R4);
        let mut from = i16::try_from(TURN)?;
        for (at, size) in &self.fields {
            a.load(*size, R3, R5.at(from)).store(*size, R2.at(*at), R3);
            from += i16::try_from(size.bytes())?;
        }
        Ok(())
    }
}

/// The fields that the program writes or in which frames differ: in IPv4 TTL, protocol and checksum
/// together, and the destination always; others where needed.
fn fields(frames: &[Vec<u8>], is_ipv6: bool, tag: i16, rewrite: Rewrite) -> Vec<(i16, Size)> {
    let (always, source, transport): (&[_], &[_], _) = match is_ipv6 {
        false => {
            (&[(TTL, Size::Word), (DESTINATION4, Size::Word)], &[(SOURCE4, Size::Word)], TRANSPORT4)
        }
        true => (
            &[(DESTINATION6, Size::Double), (DESTINATION6 + 8, Size::Double)],
            &[(SOURCE6, Size::Double), (SOURCE6 + 8, Size::Double)],
            TRANSPORT6,
        ),
    };
    let mut fields = always.to_vec();
    let differs = |(at, size): &(i16, Size)| {
        let mut values = frames.iter().map(|frame| field(frame, *at + tag, *size));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    if rewrite == Rewrite::Addresses || source.iter().any(differs) {
        fields.extend(source);
    }
    if rewrite == Rewrite::Addresses {
        fields.extend([(transport, Size::Word), (transport + TCP_CHECKSUM, Size::Half)]);
    }
    fields.iter().map(|(at, size)| (at + tag, *size)).collect()
}

fn field(frame: &[u8], at: i16, size: Size) -> Option<&[u8]> {
    frame.get(usize::try_from(at).ok()?..)?.get(..size.bytes())
}

/// Name of the map of frames, and of the code.
pub const FRAMES: &str = "bench_frames";
/// Bytes of the number of the next frame, before the list.
const TURN: usize = 8;
/// Offsets in a frame without a tag.
const TTL: i16 = 22;
const SOURCE4: i16 = 26;
const DESTINATION4: i16 = 30;
const TRANSPORT4: i16 = 34;
const HOP_LIMIT: i16 = 21;
const SOURCE6: i16 = 22;
const DESTINATION6: i16 = 38;
const TRANSPORT6: i16 = 54;
/// Offset of the checksum in a TCP header.
const TCP_CHECKSUM: i16 = 16;

#[cfg(test)]
mod tests {
    use lab::frame::{Flow, Side};

    use super::*;

    fn frame(source: &str, destination: &str, tag: Option<u16>) -> Vec<u8> {
        let side = |ip: &str| Side::new("02:78:77:00:01:02", ip, 7).unwrap();
        let flow = Flow::new(side(source), side(destination));
        tag.into_iter().fold(flow, Flow::vlan).udp(&[0; 40]).unwrap()
    }

    #[test]
    fn what_differs_or_is_rewritten_is_written() {
        let one = frame("10.0.0.1", "9.0.0.1", None);
        let other = frame("10.0.0.1", "9.0.0.2", None);
        let far = frame("10.0.0.3", "9.0.0.3", None);
        let offsets = |frames: &[&Vec<u8>], rewrite| {
            let frames = frames.iter().map(|frame| frame.to_vec()).collect();
            let frames = Frames::new(frames, rewrite).unwrap();
            frames.fields.iter().map(|(at, _)| *at).collect::<Vec<_>>()
        };
        assert_eq!(offsets(&[&one, &other], Rewrite::Nothing), [22, 30]);
        assert_eq!(offsets(&[&one, &far], Rewrite::Beginning), [22, 30, 26]);
        assert_eq!(offsets(&[&one], Rewrite::Addresses), [22, 30, 26, 34, 50]);
        let tagged = frame("fd00::1", "2001:db8::1", Some(7));
        assert_eq!(offsets(&[&tagged], Rewrite::Nothing), [42, 50]);
        assert_eq!(offsets(&[&tagged], Rewrite::Addresses), [42, 50, 26, 34, 58, 74]);
    }

    #[test]
    fn the_list_has_each_frame() {
        let frames = [frame("10.0.0.1", "9.0.0.1", None), frame("10.0.0.1", "9.0.0.2", None)];
        let frames = Frames::new(frames.to_vec(), Rewrite::Nothing).unwrap();
        assert_eq!(frames.list.len(), TURN + 2 * 8);
        let destination = |frame: usize| &frames.list[TURN + 8 * frame + 4..][..4];
        assert_eq!([destination(0), destination(1)], [[9, 0, 0, 1], [9, 0, 0, 2]]);
        assert!(Frames::new(Vec::new(), Rewrite::Nothing).is_err());
    }
}
