//! `Timetable`: scheduled events; those with equal times occur in the order in which they were
//! entered.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::Time;

#[derive(Debug)]
pub struct Timetable<T> {
    heap: BinaryHeap<Reverse<(Time, u64)>>,
    what: BTreeMap<u64, T>,
    entered: u64,
}

impl<T> Timetable<T> {
    pub fn new() -> Self {
        Self { heap: BinaryHeap::new(), what: BTreeMap::new(), entered: 0 }
    }

    pub fn enter(&mut self, at: Time, what: T) {
        self.entered += 1;
        self.heap.push(Reverse((at, self.entered)));
        self.what.insert(self.entered, what);
    }

    pub fn next(&mut self) -> Option<(Time, T)> {
        let Reverse((at, number)) = self.heap.pop()?;
        let what = self.what.remove(&number).expect("entered with its time");
        Some((at, what))
    }

    /// The time of the next event.
    pub fn next_at(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }
}

#[test]
fn things_happen_in_order() {
    let mut table = Timetable::new();
    for (at, what) in [(5, 'c'), (1, 'a'), (5, 'd'), (2, 'b')] {
        table.enter(at, what);
    }
    assert_eq!(table.next_at(), Some(1));
    let order: String = std::iter::from_fn(|| table.next()).map(|(_, what)| what).collect();
    assert_eq!(order, "abcd");
}
