//! `Classes`: values of a field that no rule of a group distinguishes are one class.
//!
//! Rule: all values of a class are in the same sets. Class 0 is in no set: it has most values, and
//! packets without the field. Classes are found by one sweep over the ends of all ranges.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use super::conjunction::{Conjunction, Sets};
use super::{Boundary, Classifier};
use crate::Field;

/// The classes of one field, for the rules of a group.
#[derive(Debug)]
pub struct Classes {
    pub field: Field,
    /// Sorted, with the first one at 0; adjacent classes differ.
    pub boundaries: Vec<Boundary>,
    pub count: u32,
    /// The number of each rule's set in the group, or `Classes::ANY`.
    pub sets: Vec<u32>,
    /// The number of each set in the family.
    numbers: Vec<u32>,
    /// Set n has the classes `classes[starts[n]..starts[n + 1]]`, in order.
    starts: Vec<u32>,
    classes: Vec<u32>,
}

impl Classes {
    /// The number for a rule that does not test the field.
    pub const ANY: u32 = u32::MAX;

    /// The classes for the rules of a group; `None` if there are more than `most` pairs of a class
    /// and a set that contains it.
    pub fn new(
        field: Field,
        rules: &[&Conjunction],
        values: &Sets<'_>,
        most: usize,
    ) -> Option<Self> {
        let (sets, numbers) = used(field, rules);
        let mut sweep = Sweep::new(numbers.len(), most);
        for (value, change) in events(field, &numbers, values) {
            sweep.process(value, change)?;
        }
        let boundaries = sweep.finish(field)?;
        let (starts, classes) = by_set(numbers.len(), &sweep.pairs);
        Some(Self { field, boundaries, count: sweep.count, sets, numbers, starts, classes })
    }

    /// The classes in a rule's set, in order; `None` if the rule does not test the field.
    pub fn of_rule(&self, rule: u32) -> Option<&[u32]> {
        let set = self.sets[rule as usize];
        (set != Self::ANY).then(|| {
            let [start, end] = [set, set + 1].map(|place| self.starts[place as usize] as usize);
            &self.classes[start..end]
        })
    }

    /// The values of a rule's set; `None` if the rule does not test the field.
    pub fn ranges<'a>(&self, rule: u32, values: &'a Sets<'_>) -> Option<&'a [(u128, u128)]> {
        let number = self.numbers.get(self.sets[rule as usize] as usize)?;
        Some(values.set(self.field, *number).ranges())
    }

    /// Whether values are replaced by ranks. A rank is the index of the last boundary up to a
    /// value.
    pub const fn has_ranks(&self) -> bool {
        self.field.bits() > 32
    }

    /// The rank of a value at a boundary, or the value itself.
    pub fn rank(&self, value: u128) -> u32 {
        let rank = if self.has_ranks() {
            self.boundaries.partition_point(|one| one.first <= value) as u128 - 1
        } else {
            value
        };
        u32::try_from(rank).expect("less than 2^32 boundaries")
    }

    /// A classifier that returns ranks.
    pub fn ranks(&self) -> Option<Classifier> {
        let rank = |(rank, one): (u32, &Boundary)| Boundary { class: rank, ..*one };
        let ranks = || (0..).zip(&self.boundaries).map(rank).collect();
        self.has_ranks().then(|| Classifier::new(self.field, ranks()))
    }

    /// The number of classes in which a rule can match.
    pub fn cover(&self, rule: u32) -> u32 {
        self.of_rule(rule).map_or(self.count, |classes| classes.len() as u32)
    }
}

/// The number of each rule's set in the group, and the numbers of these sets in the family.
fn used(field: Field, rules: &[&Conjunction]) -> (Vec<u32>, Vec<u32>) {
    let mut numbers = Vec::new();
    let mut known = HashMap::new();
    let number = |rule: &&Conjunction| {
        let test = rule.tests.iter().find(|(tested, _)| *tested == field);
        test.map_or(Classes::ANY, |(_, set)| {
            *known.entry(*set).or_insert_with(|| {
                numbers.push(*set);
                numbers.len() as u32 - 1
            })
        })
    };
    (rules.iter().map(number).collect(), numbers)
}

/// A range of a set begins or ends.
#[derive(Clone, Copy)]
enum Change {
    Begin(u32),
    End(u32),
}

fn events(field: Field, numbers: &[u32], values: &Sets<'_>) -> Vec<(u128, Change)> {
    let mut events = Vec::new();
    for (set, number) in (0..).zip(numbers) {
        for (first, last) in values.set(field, *number).ranges() {
            events.push((*first, Change::Begin(set)));
            if *last < field.highest() {
                events.push((last + 1, Change::End(set)));
            }
        }
    }
    // A stable sort is fast where ranges are already in order.
    events.sort_by_key(|(value, _)| *value);
    events
}

/// The state of the sweep.
struct Sweep {
    most: usize,
    /// Sets that contain the current value, in any order.
    active: Vec<u32>,
    /// The index of each set in `active`.
    places: Vec<u32>,
    /// The sum of a random number for each active set. Equal combinations have equal sums; others
    /// have equal sums with a probability of 2^-128, which input cannot influence.
    sum: u128,
    random: [RandomState; 2],
    known: HashMap<u128, u32>,
    count: u32,
    /// Pairs of class and set.
    pairs: Vec<(u32, u32)>,
    boundaries: Vec<Boundary>,
    /// The first value that is not in a class yet.
    open: u128,
}

impl Sweep {
    fn new(sets: usize, most: usize) -> Self {
        Self {
            most,
            active: Vec::new(),
            places: vec![0; sets],
            sum: 0,
            random: [RandomState::new(), RandomState::new()],
            known: HashMap::from([(0, 0)]),
            count: 1,
            pairs: Vec::new(),
            boundaries: Vec::new(),
            open: 0,
        }
    }

    fn process(&mut self, value: u128, change: Change) -> Option<()> {
        if value > self.open {
            self.close()?;
            self.open = value;
        }
        match change {
            Change::Begin(set) => {
                self.places[set as usize] = self.active.len() as u32;
                self.active.push(set);
                self.sum = self.sum.wrapping_add(self.weight(set));
            }
            Change::End(set) => {
                let place = self.places[set as usize];
                self.active.swap_remove(place as usize);
                if let Some(moved) = self.active.get(place as usize) {
                    self.places[*moved as usize] = place;
                }
                self.sum = self.sum.wrapping_sub(self.weight(set));
            }
        }
        Some(())
    }

    fn weight(&self, set: u32) -> u128 {
        let [high, low] = [0, 1].map(|half: usize| u128::from(self.random[half].hash_one(set)));
        high << 64 | low
    }

    /// Assigns a class to the values from `open` up to the current one.
    fn close(&mut self) -> Option<()> {
        let count = self.count;
        let class = *self.known.entry(self.sum).or_insert(count);
        if class == count {
            self.count += 1;
            self.pairs.extend(self.active.iter().map(|set| (class, *set)));
        }
        if self.boundaries.last().is_none_or(|last| last.class != class) {
            self.boundaries.push(Boundary { first: self.open, class });
        }
        (self.pairs.len() <= self.most).then_some(())
    }

    fn finish(&mut self, field: Field) -> Option<Vec<Boundary>> {
        if self.open <= field.highest() {
            self.close()?;
        }
        Some(std::mem::take(&mut self.boundaries))
    }
}

/// The classes of each set, from pairs in the order of classes.
fn by_set(sets: usize, pairs: &[(u32, u32)]) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0; sets + 1];
    for (_, set) in pairs {
        starts[*set as usize + 1] += 1;
    }
    for set in 0..sets {
        starts[set + 1] += starts[set];
    }
    let mut ends = starts.clone();
    let mut classes = vec![0; pairs.len()];
    for (class, set) in pairs {
        classes[ends[*set as usize] as usize] = *class;
        ends[*set as usize] += 1;
    }
    (starts, classes)
}
