//! The path of a run, in which repetitions become loops immediately, so that long runs remain
//! short.
//!
//! Rule: two sections are equal if they pass the same places, take the same branches and make the
//! same calls; values may differ, and those of the first section are shown.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use crate::results::{Item, StepEffect};

#[derive(Debug, Default)]
pub struct Path {
    items: Vec<Item>,
    /// Mark of each item except the newest, whose effects may be incomplete.
    marks: Vec<u64>,
    left_out: u64,
}

impl Path {
    /// Begins a stretch.
    pub fn push(&mut self, item: Item) {
        self.settle();
        if self.items.len() >= LONGEST {
            self.left_out += 1;
            self.items.pop();
            self.marks.pop();
        }
        self.items.push(item);
    }

    /// What happened in the newest stretch.
    pub fn add(&mut self, effect: StepEffect) {
        if let Some(Item::Line { did, .. } | Item::Insn { did, .. }) = self.items.last_mut() {
            did.push(effect);
        }
    }

    /// The whole path, and how many stretches it lacks.
    pub fn finish(mut self) -> (Vec<Item>, u64) {
        self.settle();
        (self.items, self.left_out)
    }

    /// The newest stretch is complete.
    fn settle(&mut self) {
        if self.items.len() > self.marks.len()
            && let Some(item) = self.items.last()
        {
            self.marks.push(mark(item));
            while self.again() || self.twice() {}
        }
    }

    /// One more turn of a loop that is known.
    fn again(&mut self) -> bool {
        let count = self.items.len();
        for size in 1..=LONGEST_TURN.min(count.saturating_sub(1)) {
            let start = count - size;
            let Some(Item::Loop { times, body }) = self.items.get_mut(start - 1) else { continue };
            let same =
                body.len() == size && body.iter().map(mark).eq(self.marks[start..].iter().copied());
            if same {
                *times += 1;
                self.items.truncate(start);
                self.marks.truncate(start);
                return true;
            }
        }
        false
    }

    /// A stretch that just repeated for the first time.
    fn twice(&mut self) -> bool {
        let count = self.marks.len();
        for size in 1..=LONGEST_TURN.min(count / 2) {
            let (first, second) = (count - 2 * size, count - size);
            if self.marks[first..second] == self.marks[second..] {
                self.items.truncate(second);
                let body = self.items.split_off(first);
                self.marks.truncate(first);
                let item = Item::Loop { times: 2, body };
                self.marks.push(mark(&item));
                self.items.push(item);
                return true;
            }
        }
        false
    }
}

/// What makes a stretch the same as another.
fn mark(item: &Item) -> u64 {
    let mut hasher = DefaultHasher::new();
    std::mem::discriminant(item).hash(&mut hasher);
    match item {
        Item::Program { name } => name.hash(&mut hasher),
        // Compilers weave lines into each other: only the same instruction is the same place.
        Item::Line { depth, function, slot, did, .. }
        | Item::Insn { depth, function, slot, did, .. } => {
            (depth, function, slot).hash(&mut hasher);
            did.iter().for_each(|effect| mark_deed(effect, &mut hasher));
        }
        Item::Loop { body, .. } => body.iter().for_each(|item| mark(item).hash(&mut hasher)),
    }
    hasher.finish()
}

fn mark_deed(effect: &StepEffect, hasher: &mut DefaultHasher) {
    std::mem::discriminant(effect).hash(hasher);
    match effect {
        StepEffect::Branch { slot, taken, .. } => (slot, taken).hash(hasher),
        StepEffect::Call { name, .. } => name.hash(hasher),
        StepEffect::Enter { function, .. } | StepEffect::Return { function, .. } => {
            function.hash(hasher)
        }
        StepEffect::TailCall { program, .. } => program.hash(hasher),
        StepEffect::Write { .. } | StepEffect::Fault { .. } => {}
    }
}

/// Stretches that a path keeps.
const LONGEST: usize = 10_000;
/// Stretches in one turn of a loop.
const LONGEST_TURN: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn insn(slot: usize) -> Item {
        let (function, text) = ("f".to_owned(), String::new());
        Item::Insn { depth: 1, function, slot, text, did: Vec::new() }
    }

    /// Slots with loops in brackets.
    fn shown(items: &[Item]) -> String {
        let words: Vec<_> = items
            .iter()
            .map(|item| match item {
                Item::Insn { slot, .. } => slot.to_string(),
                Item::Loop { times, body } => format!("{times}({})", shown(body)),
                other => format!("{other:?}"),
            })
            .collect();
        words.join(" ")
    }

    fn path(slots: impl IntoIterator<Item = usize>) -> String {
        let mut path = Path::default();
        slots.into_iter().for_each(|slot| path.push(insn(slot)));
        shown(&path.finish().0)
    }

    #[test]
    fn repetitions_become_loops() {
        assert_eq!(path([1, 2, 3]), "1 2 3");
        assert_eq!(path([1, 2, 2, 2, 3]), "1 3(2) 3");
        assert_eq!(path([0, 1, 2, 1, 2, 1, 2, 3]), "0 3(1 2) 3");
        assert_eq!(path([1, 2, 3, 3, 2, 3, 3, 4]), "1 2(2 2(3)) 4");
        assert_eq!(path([1, 2, 3, 3, 2, 3, 3, 3, 4]), "1 2(2 2(3)) 3 4", "the shorter turn");
        assert_eq!(path((0..30_000).map(|_| 7)), "30000(7)");
    }

    #[test]
    fn another_way_through_a_loop_is_another_turn() {
        let mut path = Path::default();
        for taken in [true, true, false] {
            path.push(insn(1));
            path.add(StepEffect::Branch { slot: 1, test: String::new(), taken });
        }
        assert_eq!(shown(&path.finish().0), "2(1) 1");
    }

    #[test]
    fn a_path_without_pattern_is_cut() {
        let mut path = Path::default();
        (0..LONGEST + 5).for_each(|slot| path.push(insn(slot)));
        let (items, left_out) = path.finish();
        assert_eq!((items.len(), left_out), (LONGEST, 5));
    }
}
