//! A hash table from keys of one size to words, for maps whose values are ids.
//!
//! Rule: lookups take no lock. Bit 0 of the stamp of a place is set while it changes; a reader that
//! saw a change reads again. Writers take a lock. Open addressing, at most half full; a removed
//! element leaves a mark that lookups skip until no element follows it.
//!
//! ```text
//! | stamp and state (8) | word (8) | key, to a multiple of 8 |
//! ```

use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard};

use super::flag;
use crate::errno::Errno;
use crate::memory::{Layout, Slab};

#[derive(Debug)]
pub(super) struct KeyTable {
    slab: Arc<Slab>,
    key_size: usize,
    stride: usize,
    /// Number of places minus one; the number is a power of two.
    mask: u32,
    max_entries: u32,
    /// Number of elements; its lock is the right to write.
    count: Mutex<u32>,
}

impl KeyTable {
    pub fn new(key_size: u32, max_entries: u32) -> Result<Self, Errno> {
        let key_size = key_size as usize;
        let stride = KEY + key_size.next_multiple_of(8);
        let places = (u64::from(max_entries) * 2).next_power_of_two();
        let mask = u32::try_from(places - 1).map_err(|_| Errno::ENOMEM)?;
        let bytes = places.checked_mul(stride as u64).ok_or(Errno::ENOMEM)?;
        let slab = Arc::new(Slab::new(bytes)?);
        Ok(Self { slab, key_size, stride, mask, max_entries, count: Mutex::new(0) })
    }

    /// Place and word of a key.
    pub fn find(&self, key: &[u8]) -> Option<(u32, u64)> {
        let start = self.start(key);
        for step in 0..=self.mask {
            let place = start.wrapping_add(step) & self.mask;
            match self.look(place, key) {
                Seen::Empty => return None,
                Seen::Word(word) => return Some((place, word)),
                Seen::Other => {}
            }
        }
        None
    }

    /// Sets a key's word; the `flags` of an update decide whether the key must or must not exist.
    pub fn insert(&self, key: &[u8], word: u64, flags: u64) -> Result<(), Errno> {
        let mut count = self.lock();
        if let Some((place, _)) = self.find(key) {
            if flags & flag::NOEXIST != 0 {
                return Err(Errno::EEXIST);
            }
            self.slab.word(self.offset(place) + WORD).store(word, Ordering::Release);
            return Ok(());
        }
        if flags & flag::EXIST != 0 {
            return Err(Errno::ENOENT);
        }
        if *count >= self.max_entries {
            return Err(Errno::E2BIG);
        }
        let place = self.free_place(key);
        self.change(place, USED, |offset| {
            self.slab.word(offset + WORD).store(word, Ordering::Relaxed);
            self.slab.write(offset + KEY, key);
        });
        *count += 1;
        Ok(())
    }

    pub fn remove(&self, key: &[u8]) -> Result<(), Errno> {
        let mut count = self.lock();
        let (place, _) = self.find(key).ok_or(Errno::ENOENT)?;
        let last = self.state(place.wrapping_add(1) & self.mask) == EMPTY;
        self.change(place, if last { EMPTY } else { REMOVED }, |_| ());
        let mut before = place.wrapping_sub(1) & self.mask;
        while last && self.state(before) == REMOVED {
            self.change(before, EMPTY, |_| ());
            before = before.wrapping_sub(1) & self.mask;
        }
        *count -= 1;
        Ok(())
    }

    /// The key after `key` in the order of places; the first key for `None` or an unknown key.
    pub fn next_key(&self, key: Option<&[u8]>) -> Result<Vec<u8>, Errno> {
        let _writers_wait = self.lock();
        let from = key.and_then(|key| self.find(key)).map_or(0, |(place, _)| place + 1);
        let place = (from..=self.mask).find(|place| self.state(*place) == USED);
        let mut next = vec![0; self.key_size];
        self.slab.read(self.offset(place.ok_or(Errno::ENOENT)?) + KEY, &mut next);
        Ok(next)
    }

    /// The word in a place, if it is occupied.
    pub fn value_in(&self, place: u32) -> Option<u64> {
        let used = self.state(place) == USED;
        used.then(|| self.slab.word(self.offset(place) + WORD).load(Ordering::Acquire))
    }

    pub fn places(&self) -> u32 {
        self.mask + 1
    }

    pub fn slab(&self) -> &Arc<Slab> {
        &self.slab
    }

    /// Layout of the first `size` bytes of every word, for programs to read.
    pub fn layout(&self, size: u32) -> Layout {
        let all = Layout::elements(self.places().into(), size.into(), self.stride as u64);
        Layout { start: WORD as u64, writable: false, ..all }
    }

    /// A place, read between two equal stamps.
    fn look(&self, place: u32, key: &[u8]) -> Seen {
        let offset = self.offset(place);
        loop {
            let stamp = self.slab.word(offset).load(Ordering::Acquire);
            let seen = match stamp & STATE {
                EMPTY => Seen::Empty,
                USED if self.slab.equals(offset + KEY, key) => {
                    Seen::Word(self.slab.word(offset + WORD).load(Ordering::Acquire))
                }
                _ => Seen::Other,
            };
            fence(Ordering::Acquire);
            let still = stamp & CHANGING == 0;
            if still && self.slab.word(offset).load(Ordering::Relaxed) == stamp {
                return seen;
            }
            std::hint::spin_loop();
        }
    }

    /// The first place for a new key. There is one: the table is at most half full.
    fn free_place(&self, key: &[u8]) -> u32 {
        let mut place = self.start(key);
        while self.state(place) == USED {
            place = place.wrapping_add(1) & self.mask;
        }
        place
    }

    fn change(&self, place: u32, state: u64, write: impl FnOnce(usize)) {
        let offset = self.offset(place);
        let stamp = self.slab.word(offset);
        let was = stamp.load(Ordering::Relaxed);
        stamp.store(was | CHANGING, Ordering::Relaxed);
        fence(Ordering::Release);
        write(offset);
        let next = (was & !(STATE | CHANGING)).wrapping_add(VERSION) | state;
        stamp.store(next, Ordering::Release);
    }

    fn state(&self, place: u32) -> u64 {
        self.slab.word(self.offset(place)).load(Ordering::Acquire) & STATE
    }

    fn offset(&self, place: u32) -> usize {
        place as usize * self.stride
    }

    /// FNV-1a, folded: keys have the same places in every run.
    fn start(&self, key: &[u8]) -> u32 {
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        let hash = key.iter().fold(0xcbf2_9ce4_8422_2325, step);
        (hash ^ hash >> 32) as u32 & self.mask
    }

    fn lock(&self) -> MutexGuard<'_, u32> {
        self.count.lock().expect("no thread panics while it writes a table")
    }
}

/// Content of a place, for the lookup of a key.
enum Seen {
    Empty,
    Other,
    Word(u64),
}

/// Offsets in a place.
const WORD: usize = 8;
const KEY: usize = 16;

/// Bits of a stamp.
const CHANGING: u64 = 1;
const STATE: u64 = 0b110;
const EMPTY: u64 = 0b000;
const USED: u64 = 0b010;
const REMOVED: u64 = 0b100;
const VERSION: u64 = 0b1000;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// A repeatable sequence of small numbers.
    fn numbers() -> impl Iterator<Item = u32> {
        let mut state = 0x2545_f491_u32;
        std::iter::repeat_with(move || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state
        })
    }

    #[test]
    fn it_does_what_a_plain_map_does() {
        let table = KeyTable::new(5, 20).unwrap();
        let mut model = BTreeMap::new();
        let mut numbers = numbers();
        for round in 0..20_000_u64 {
            let number = numbers.next().unwrap();
            let key = [&[7][..], &(number >> 8 & 31).to_ne_bytes()].concat();
            if number & 1 == 0 {
                let expected = match model.contains_key(&key) {
                    false if model.len() == 20 => Err(Errno::E2BIG),
                    _ => Ok(()),
                };
                assert_eq!(table.insert(&key, round, flag::ANY), expected);
                if expected.is_ok() {
                    model.insert(key, round);
                }
            } else {
                let expected = model.remove(&key).map(drop).ok_or(Errno::ENOENT);
                assert_eq!(table.remove(&key), expected);
            }
            if round.is_multiple_of(97) {
                let mut found = BTreeMap::new();
                let mut last: Option<Vec<u8>> = None;
                while let Ok(key) = table.next_key(last.as_deref()) {
                    found.insert(key.clone(), table.find(&key).unwrap().1);
                    last = Some(key);
                }
                assert_eq!(found, model);
            }
        }
    }

    #[test]
    fn flags_decide_what_must_be_there() {
        let table = KeyTable::new(1, 1).unwrap();
        assert_eq!(table.insert(&[1], 1, flag::EXIST), Err(Errno::ENOENT));
        assert_eq!(table.insert(&[1], 1, flag::NOEXIST), Ok(()));
        assert_eq!(table.insert(&[1], 2, flag::NOEXIST), Err(Errno::EEXIST));
        assert_eq!(table.insert(&[1], 3, flag::EXIST), Ok(()));
        assert_eq!(table.insert(&[2], 4, flag::ANY), Err(Errno::E2BIG));
        assert_eq!(table.find(&[1]).map(|(_, word)| word), Some(3));
    }

    #[test]
    fn readers_never_see_half_a_change() {
        let table = KeyTable::new(8, 2).unwrap();
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 0..20_000_u64 {
                    let key = (round % 5).to_ne_bytes();
                    table.insert(&key, round % 5 + 100, flag::ANY).unwrap();
                    table.remove(&key).unwrap();
                }
                done.store(true, Ordering::Release);
            });
            while !done.load(Ordering::Acquire) {
                for number in 0..5_u64 {
                    let word = table.find(&number.to_ne_bytes()).map(|(_, word)| word);
                    assert!(word.is_none_or(|word| word == number + 100), "{number}: {word:?}");
                }
            }
        });
    }
}
