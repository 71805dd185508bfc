//! `Batch`: packets that were read together.
//!
//! Rule: its memory is reused, so that reading a packet allocates nothing.

use std::sync::Arc;

use functions::capture::{self, CapturedPacket};

use super::Members;

/// Packets of all interfaces in the order of their time.
#[derive(Debug, Default)]
pub struct Batch {
    records: Vec<u8>,
    places: Vec<Place>,
    /// Places of the packets that are complete; later ones are left for the next batch.
    ready: usize,
    sources: Vec<Source>,
    /// Memory for records that are left.
    spare: Vec<u8>,
}

/// A packet of a batch.
#[derive(Clone, Debug)]
pub struct BatchPacket<'a> {
    /// Number of its interface in the capture.
    pub interface: usize,
    /// The packet.
    pub packet: CapturedPacket<'a>,
    /// The members of the chain that saw it.
    pub members: &'a Arc<Members>,
}

/// Where a record is. Places are in the order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    time_ns: u64,
    start: usize,
    end: usize,
    /// Number of its source.
    source: usize,
}

/// An interface, and the programs that ran on it.
#[derive(Debug)]
struct Source {
    interface: usize,
    members: Arc<Members>,
}

impl Batch {
    /// The packets.
    pub fn packets(&self) -> impl Iterator<Item = BatchPacket<'_>> {
        self.places.iter().take(self.ready).filter_map(|place| {
            let source = self.sources.get(place.source)?;
            let packet = CapturedPacket::parse(self.records.get(place.start..place.end)?)?;
            Some(BatchPacket { interface: source.interface, packet, members: &source.members })
        })
    }

    /// Whether it has no packets.
    pub fn is_empty(&self) -> bool {
        self.ready == 0
    }

    /// Removes the packets, except those that were left.
    pub(super) fn clear(&mut self) {
        self.places.drain(..self.ready);
        self.ready = 0;
        self.spare.clear();
        for place in &mut self.places {
            let start = self.spare.len();
            let record = self.records.get(place.start..place.end).unwrap_or_default();
            self.spare.extend_from_slice(record);
            (place.start, place.end) = (start, self.spare.len());
        }
        std::mem::swap(&mut self.records, &mut self.spare);
        if self.places.is_empty() {
            self.sources.clear();
        }
    }

    /// The next records are of these programs on this interface.
    pub(super) fn begin(&mut self, interface: usize, members: &Arc<Members>) {
        self.sources.push(Source { interface, members: Arc::clone(members) });
    }

    /// Adds a record.
    pub(super) fn push(&mut self, record: &[u8]) {
        let start = self.records.len();
        self.records.extend_from_slice(record);
        let (time_ns, end) = (capture::time_ns(record), self.records.len());
        let source = self.sources.len().saturating_sub(1);
        self.places.push(Place { time_ns, start, end, source });
    }

    /// Puts the records in order, and leaves those after this time for the next batch.
    pub(super) fn finish(&mut self, until_ns: u64) {
        // Records of one ring are in order, which the sort makes use of.
        self.places.sort();
        self.ready = self.places.partition_point(|place| place.time_ns <= until_ns);
    }
}

#[cfg(test)]
mod tests {
    use functions::capture::abi::Record;

    use super::*;

    fn record(time: u64, queue: u32) -> Vec<u8> {
        Record { time, queue, ..Record::default() }.to_bytes().to_vec()
    }

    /// Interface, time and queue of each packet.
    fn packets(batch: &Batch) -> Vec<(usize, u64, u32)> {
        let packets = batch.packets();
        packets.map(|one| (one.interface, one.packet.time_ns, one.packet.queue)).collect()
    }

    #[test]
    fn packets_of_several_interfaces_are_in_order_also_across_batches() {
        let (mut batch, members) = (Batch::default(), Arc::new(Members::default()));
        batch.begin(0, &members);
        [record(10, 1), record(30, 2)].iter().for_each(|one| batch.push(one));
        batch.begin(1, &members);
        [record(20, 3), record(40, 4)].iter().for_each(|one| batch.push(one));
        batch.finish(25);
        assert_eq!(packets(&batch), [(0, 10, 1), (1, 20, 3)]);

        // A ring was read before this packet came.
        batch.clear();
        assert!(batch.is_empty());
        batch.begin(2, &members);
        batch.push(&record(35, 5));
        batch.finish(u64::MAX);
        assert_eq!(packets(&batch), [(0, 30, 2), (2, 35, 5), (1, 40, 4)]);
        batch.clear();
        batch.finish(u64::MAX);
        assert_eq!(packets(&batch), []);
    }
}
