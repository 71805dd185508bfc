//! Makes a case smaller while a condition continues to hold.
//!
//! Rule: actions are left out and the programs written again, so that a small case keeps the
//! guarantees of all cases. Leaving out single instructions would not: a program that then reads
//! uninitialized memory differs without a defect.

use std::collections::BTreeSet;

use super::case::Case;

/// Smaller by packets and actions, as long as `holds`.
pub fn shrink(case: Case, holds: impl Fn(&Case) -> bool) -> Case {
    let mut small = Small { case, skipped: BTreeSet::new() };
    small.drop_packets(&holds);
    small.drop_touches(&holds);
    loop {
        let before = small.case.actions.len();
        small.drop_actions(&holds);
        if small.case.actions.len() == before {
            break;
        }
    }
    small.drop_packets(&holds);
    small.cut_packets(&holds);
    small.case
}

struct Small {
    case: Case,
    skipped: BTreeSet<u64>,
}

impl Small {
    /// Leaves out packets, last first.
    fn drop_packets(&mut self, holds: &impl Fn(&Case) -> bool) {
        for number in (0..self.case.packets.len()).rev() {
            let mut smaller = self.case.clone();
            smaller.packets.remove(number);
            self.attempt(smaller, holds);
        }
    }

    fn drop_touches(&mut self, holds: &impl Fn(&Case) -> bool) {
        for number in (0..self.case.touches.len()).rev() {
            let mut smaller = self.case.clone();
            smaller.touches.remove(number);
            self.attempt(smaller, holds);
        }
    }

    fn cut_packets(&mut self, holds: &impl Fn(&Case) -> bool) {
        for number in 0..self.case.packets.len() {
            for len in [200, 60, 14] {
                let mut smaller = self.case.clone();
                smaller.packets[number].packet.truncate(len);
                self.attempt(smaller, holds);
            }
            let mut smaller = self.case.clone();
            smaller.packets[number].metadata.clear();
            self.attempt(smaller, holds);
        }
    }

    /// Leaves out stretches of actions: long ones first, single ones last.
    fn drop_actions(&mut self, holds: &impl Fn(&Case) -> bool) {
        let mut stretch = self.case.actions.len().next_power_of_two() / 2;
        while stretch > 0 {
            let mut start = 0;
            while start < self.case.actions.len() {
                let end = (start + stretch).min(self.case.actions.len());
                let mut skipped = self.skipped.clone();
                skipped.extend(&self.case.actions[start..end]);
                let (packets, touches) = (self.case.packets.clone(), self.case.touches.clone());
                let other = Case::without(self.case.seed, &skipped);
                let smaller = Case { packets, touches, ..other };
                if smaller.actions.len() < self.case.actions.len() && holds(&smaller) {
                    self.case = smaller;
                    self.skipped = skipped;
                } else {
                    start += stretch;
                }
            }
            stretch /= 2;
        }
    }

    fn attempt(&mut self, smaller: Case, holds: &impl Fn(&Case) -> bool) {
        if holds(&smaller) {
            self.case = smaller;
        }
    }
}
