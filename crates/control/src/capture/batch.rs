//! `Batch`: packets that were read together.
//!
//! Rule: its memory is reused, so that reading a packet allocates nothing.

use std::sync::Arc;

use functions::capture::{self, CapturedPacket};

use super::Members;

/// Packets in the order of their time.
#[derive(Debug, Default)]
pub struct Batch {
    records: Vec<u8>,
    /// Time of each record, where it begins and where it ends.
    places: Vec<(u64, usize, usize)>,
    members: Arc<Members>,
}

impl Batch {
    /// The packets.
    pub fn packets(&self) -> impl Iterator<Item = CapturedPacket<'_>> {
        let records =
            self.places.iter().filter_map(|(_, start, end)| self.records.get(*start..*end));
        records.filter_map(CapturedPacket::parse)
    }

    /// The members of the chain that saw the packets.
    pub fn members(&self) -> &Arc<Members> {
        &self.members
    }

    /// Whether it has no packets.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.records.clear();
        self.places.clear();
    }

    /// Adds a record.
    pub(super) fn push(&mut self, record: &[u8]) {
        let start = self.records.len();
        self.records.extend_from_slice(record);
        self.places.push((capture::time_ns(record), start, self.records.len()));
    }

    /// Puts the records in order.
    pub(super) fn finish(&mut self, members: &Arc<Members>) {
        // Records of one ring are in order, which the sort makes use of.
        self.places.sort();
        self.members = Arc::clone(members);
    }
}
