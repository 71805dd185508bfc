//! `Pool`: sets of values by number, so that sets that rules share are compared once.
//!
//! Rule: equal small sets have equal numbers. A large set is identified by its address in memory,
//! which is the same for all rules that use a named set.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::Values;

/// The number of a set in the pool.
pub(super) type Id = usize;

/// Sets of values, with cached results of operations on them.
#[derive(Debug, Default)]
pub(super) struct Pool<'a> {
    values: Vec<Cow<'a, Values>>,
    small: HashMap<Values, Id>,
    /// Large sets, by their address in memory.
    big: HashMap<usize, Id>,
    complements: HashMap<(Id, u128), Id>,
    intersections: HashMap<(Id, Id), Id>,
    covers: HashMap<(Id, Id), bool>,
    /// Tests that are compared as a whole, by their text.
    opaque: HashMap<String, usize>,
}

impl<'a> Pool<'a> {
    /// The values of a set.
    pub fn values(&self, id: Id) -> &Values {
        &self.values[id]
    }

    /// Adds a borrowed set, or finds an equal one.
    pub fn borrow(&mut self, values: &'a Values) -> Id {
        if values.ranges().len() <= SMALL {
            return self.own(values.clone());
        }
        let place = std::ptr::from_ref(values) as usize;
        if let Some(id) = self.big.get(&place) {
            return *id;
        }
        self.values.push(Cow::Borrowed(values));
        self.big.insert(place, self.values.len() - 1);
        self.values.len() - 1
    }

    /// Adds a set, or finds an equal small one.
    pub fn own(&mut self, values: Values) -> Id {
        if let Some(id) = self.small.get(&values) {
            return *id;
        }
        let id = self.values.len();
        if values.ranges().len() <= SMALL {
            self.small.insert(values.clone(), id);
        }
        self.values.push(Cow::Owned(values));
        id
    }

    /// The complement of a set, up to `highest`.
    pub fn complement(&mut self, id: Id, highest: u128) -> Id {
        if let Some(known) = self.complements.get(&(id, highest)) {
            return *known;
        }
        let values = self.values[id].complement(highest);
        let made = self.own(values);
        self.complements.insert((id, highest), made);
        made
    }

    /// The intersection of two sets.
    pub fn intersection(&mut self, one: Id, other: Id) -> Id {
        if one == other {
            return one;
        }
        if let Some(known) = self.intersections.get(&(one, other)) {
            return *known;
        }
        let values = self.values[one].intersection(&self.values[other]);
        let made = self.own(values);
        self.intersections.insert((one, other), made);
        made
    }

    /// Whether `outer` contains all values of `inner`.
    pub fn covers(&mut self, outer: Id, inner: Id) -> bool {
        if outer == inner {
            return true;
        }
        if self.values[inner].ranges().len() <= SMALL {
            return self.values[outer].covers(&self.values[inner]);
        }
        if let Some(known) = self.covers.get(&(outer, inner)) {
            return *known;
        }
        let covers = self.values[outer].covers(&self.values[inner]);
        self.covers.insert((outer, inner), covers);
        covers
    }

    /// The number of a text, which is the same for equal texts.
    pub fn opaque(&mut self, text: String) -> usize {
        let next = self.opaque.len();
        *self.opaque.entry(text).or_insert(next)
    }
}

/// Sets with at most this number of ranges are cheaper to compare than to look up.
const SMALL: usize = 16;
