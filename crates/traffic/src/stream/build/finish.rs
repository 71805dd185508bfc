//! The layers' bytes as a template: sizes first, then lengths and checksums.

use packet::checksum::{fold, sum as sum_of};

use super::sums::Sum;
use super::{Builder, Length};
use crate::limits::{FRAME_MAX, FRAME_MIN};
use crate::stamp::Stamp;
use crate::stream::error::{Error, FlowsError, Reason};
use crate::stream::size::Shuffle;
use crate::template::{Checksum, Draw, Order, Size, Template};

/// Bytes of the shortest Ethernet frame, without checksum.
const SHORTEST: usize = 60;

/// Where a frame ends, and where the packet in it ends.
#[derive(Clone, Copy)]
struct End {
    len: usize,
    packet: usize,
}

impl Builder<'_> {
    /// The finished template, for an interface with this MTU.
    pub fn finish(mut self, id: u16, mtu: usize) -> Result<Template, Error> {
        self.leave()?;
        self.check_flows()?;
        let content = self.bytes.len();
        let (ends, size_draw) = self.ends()?;
        self.check_longest(&ends, mtu)?;
        self.fill_up(content, ends.iter().map(|end| end.len).max().unwrap_or(content));
        let (words, values) = self.words(&ends);
        let mut template = Template {
            name: self.frames.name.to_owned(),
            id,
            weight: self.frames.weight,
            bytes: std::mem::take(&mut self.bytes),
            headers: self.headers.unwrap_or(content),
            draws: self.draws,
            fields: self.fields,
            checksums: Vec::new(),
            words,
            sizes: ends.iter().zip(values).map(|(end, words)| size(end.len, words)).collect(),
            size_draw,
            stamp: self.frames.stamp,
        };
        // Inner layers come last.
        for sum in self.sums.iter().rev() {
            add(&mut template, sum, &ends);
        }
        let checked = template.check();
        checked.map_err(|invalid| Error::new("streams", invalid))?;
        Ok(template)
    }

    fn check_flows(&self) -> Result<(), Error> {
        let (Some(flows), period) = (self.frames.flows, self.flows.period) else { return Ok(()) };
        let wrong = match flows.count {
            1.. if period == 0 => FlowsError::NoField,
            count if period < count.into() => FlowsError::Repeats { count, period },
            _ => return Ok(()),
        };
        Err(Error::of_stream(self.frames.name, "flows", wrong))
    }

    /// One round of sizes, and the index of the draw that selects from it.
    fn ends(&mut self) -> Result<(Vec<End>, Option<usize>), Error> {
        let content = self.bytes.len();
        let need = content.max(FRAME_MIN) + self.frames.stamp_len();
        let Some(sizes) = self.frames.size else {
            let len = need.max(SHORTEST);
            let fills = self.frames.stamp.is_some() || self.filler.is_some();
            let packet = if fills && !self.is_padded { len } else { content };
            return Ok((vec![End { len, packet }], None));
        };
        let round = sizes.round(need);
        let (round, shuffle) =
            round.map_err(|wrong| Error::of_stream(self.frames.name, "size", wrong))?;
        let packet = |len| if self.is_padded { content } else { len };
        let ends: Vec<_> =
            round.iter().map(|len| End { len: *len, packet: packet(*len) }).collect();
        if ends.len() == 1 {
            return Ok((ends, None));
        }
        let order = match shuffle {
            Shuffle::Sequence => Order::Sequence,
            Shuffle::Random => Order::Random,
        };
        self.draws.push(Draw { last: ends.len() as u64 - 1, order });
        Ok((ends, Some(self.draws.len() - 1)))
    }

    /// The kernel permits one VLAN tag in addition to the MTU.
    fn check_longest(&self, ends: &[End], mtu: usize) -> Result<(), Error> {
        let len = ends.iter().map(|end| end.len).max().unwrap_or(0);
        let tag = if self.frames.is_tagged { 4 } else { 0 };
        let fail = |reason| Err(Error::of_stream(self.frames.name, "size", reason));
        let max = mtu.saturating_add(14 + tag);
        if len > max {
            return fail(Reason::OverMtu { len, mtu, max });
        }
        if len > FRAME_MAX {
            return fail(Reason::OverFrame { len });
        }
        Ok(())
    }

    fn fill_up(&mut self, content: usize, longest: usize) {
        self.bytes.resize(longest, 0);
        let filler = self.filler.iter().flatten().cycle();
        if !self.is_padded {
            let end = longest - self.frames.stamp_len();
            self.bytes[content..end].iter_mut().zip(filler).for_each(|(to, from)| *to = *from);
        }
    }

    /// Offsets of the lengths that differ by size, and their values for each size. Equal lengths
    /// are written into the bytes.
    fn words(&mut self, ends: &[End]) -> (Vec<usize>, Vec<Vec<u16>>) {
        let mut places = Vec::new();
        let mut values = vec![Vec::new(); ends.len()];
        for Length { at, from } in std::mem::take(&mut self.lengths) {
            let all: Vec<_> = ends.iter().map(|end| (end.packet - from) as u16).collect();
            if all.iter().all(|value| *value == all[0]) {
                self.bytes[at..at + 2].copy_from_slice(&all[0].to_be_bytes());
                continue;
            }
            places.push(at);
            values.iter_mut().zip(all).for_each(|(words, value)| words.push(value));
        }
        (places, values)
    }
}

fn size(len: usize, words: Vec<u16>) -> Size {
    Size { len, words, sums: Vec::new() }
}

/// Writes a checksum that is the same in all frames; programs compute the others.
fn add(template: &mut Template, sum: &Sum, ends: &[End]) {
    let sums: Vec<_> =
        ends.iter().enumerate().map(|(at, end)| base(template, sum, at, *end)).collect();
    let mut checksum = Checksum {
        at: sum.at,
        from: sum.from,
        to: sum.to,
        also: Vec::new(),
        never_zero: sum.never_zero,
    };
    let fields = template.fields.iter().enumerate();
    checksum.also =
        fields.filter(|(_, field)| sum.is_address(field.bit_at)).map(|(index, _)| index).collect();
    let varies = !checksum.also.is_empty()
        || sums.iter().any(|other| *other != sums[0])
        || template.fields.iter().any(|field| checksum.covers(field.bit_at / 8))
        || template.checksums.iter().any(|inner| checksum.covers(inner.at));
    if varies {
        template.checksums.push(checksum);
        template.sizes.iter_mut().zip(sums).for_each(|(size, sum)| size.sums.push(sum));
    } else {
        let value = checksum.value(sums[0].into()).to_be_bytes();
        template.bytes[sum.at..sum.at + 2].copy_from_slice(&value);
    }
}

/// The sum of everything that does not vary within a size.
fn base(template: &Template, sum: &Sum, index: usize, end: End) -> u16 {
    let size = &template.sizes[index];
    let mut frame = template.bytes[..size.len].to_vec();
    for (at, word) in template.words.iter().zip(&size.words) {
        frame[*at..at + 2].copy_from_slice(&word.to_be_bytes());
    }
    if template.stamp.is_some() {
        frame[size.len - Stamp::LEN..].fill(0);
    }
    let to = sum.to.unwrap_or(frame.len());
    let broken = u64::from(sum.broken);
    let whole = sum_of(&frame[sum.from..to]) + sum.pseudo(&frame, end.packet) + broken;
    // Ones' complement has two zeros; a folded sum is +0 only when all bytes are zero.
    fold(whole)
}

impl Sum {
    /// The sum of the pseudo header.
    fn pseudo(&self, frame: &[u8], packet_end: usize) -> u64 {
        let Some((network, protocol)) = self.pseudo else { return 0 };
        let part = |at: usize| sum_of(&frame[at..at + network.len]);
        let destination = match network.last_hop {
            Some(address) => sum_of(&address.to_be_bytes()),
            None => part(network.destination),
        };
        let len = packet_end - self.from;
        part(network.source) + destination + u64::from(protocol) + len as u64
    }

    /// Whether the bit belongs to an address in the pseudo header.
    fn is_address(&self, bit: usize) -> bool {
        let Some((network, _)) = self.pseudo else { return false };
        let within = |at: usize| (at..at + network.len).contains(&(bit / 8));
        within(network.source) || within(network.destination) && network.last_hop.is_none()
    }
}
