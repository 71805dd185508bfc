//! Handles: the numbers that C holds instead of addresses.
//!
//! Rule: a handle consists of a slot's number, the slot's generation and the tag of its kind. It is
//! looked up, so that a handle that was closed, was never opened or is of another kind is an error,
//! whatever its bits are. No work is done while holding a lock that other threads wait for. Slots
//! are reused, never freed.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

use crate::error::{Code, Error, Result};

/// A kind of handles, and the value that each stands for. The type itself is never constructed: C
/// has pointers to it.
pub trait Kind: Sized + 'static {
    type Value: Send + 'static;
    /// An odd number, so that a handle never equals the address of an aligned object.
    const TAG: u8;
    /// The name of the type in C.
    const NAME: &'static str;
    fn table() -> &'static Table<Self::Value>;
}

/// All open handles of one kind.
#[derive(Debug)]
pub struct Table<T> {
    /// Block `n` has `FIRST << n` slots.
    blocks: [OnceLock<Box<[Slot<T>]>>; BLOCKS],
    free: Mutex<Free>,
}

#[derive(Debug)]
struct Free {
    slots: Vec<u32>,
    /// The first slot that was never used.
    next: u32,
}

type Slot<T> = Mutex<Entry<T>>;

#[derive(Debug)]
struct Entry<T> {
    generation: u32,
    value: Option<T>,
}

/// Opens a handle for `value`.
pub fn open<K: Kind>(value: K::Value) -> Result<*mut K> {
    let table = K::table();
    let index = table.free_slot()?;
    let mut entry = table.slot_or_new(index).lock().unwrap_or_else(PoisonError::into_inner);
    entry.value = Some(value);
    let bits = (entry.generation as usize) << 32 | (index as usize) << 8 | usize::from(K::TAG);
    Ok(std::ptr::without_provenance_mut(bits))
}

/// Works with the value of a handle; fails if another thread is doing so.
pub fn with<K: Kind, R>(handle: *mut K, act: impl FnOnce(&mut K::Value) -> Result<R>) -> Result<R> {
    let (slot, generation) = find(handle)?;
    let mut entry = match slot.try_lock() {
        Ok(entry) => entry,
        Err(TryLockError::WouldBlock) => return Err(in_use::<K>()),
        Err(TryLockError::Poisoned(_)) => {
            let text = format!("a defect in an earlier call broke this {}: close it", K::NAME);
            return Err(Error::new(Code::Defect, text));
        }
    };
    act(value_of::<K>(&mut entry, generation)?)
}

/// Clones the value of a handle, for values that several threads may use at the same time.
pub fn share<K: Kind>(handle: *mut K) -> Result<K::Value>
where
    K::Value: Clone,
{
    let (slot, generation) = find(handle)?;
    let mut entry = slot.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(value_of::<K>(&mut entry, generation)?.clone())
}

/// Closes a handle.
pub fn close<K: Kind>(handle: *mut K) -> Result<()> {
    let (slot, generation) = find(handle)?;
    let mut entry: MutexGuard<'_, Entry<K::Value>> = match slot.try_lock() {
        Ok(entry) => entry,
        Err(TryLockError::WouldBlock) => return Err(in_use::<K>()),
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
    };
    value_of::<K>(&mut entry, generation)?;
    let value = entry.value.take();
    entry.generation = entry.generation.wrapping_add(1);
    slot.clear_poison();
    drop(entry);
    K::table().release(index_of(handle));
    drop(value);
    Ok(())
}

fn find<K: Kind>(handle: *mut K) -> Result<(&'static Slot<K::Value>, u32)> {
    if handle.is_null() {
        return Err(Error::argument(format!("{} is NULL", K::NAME)));
    }
    if handle.addr() as u8 != K::TAG {
        return Err(Error::new(Code::Handle, format!("the handle is not a {}", K::NAME)));
    }
    let slot = K::table().slot(index_of(handle)).ok_or_else(closed::<K>)?;
    Ok((slot, (handle.addr() >> 32) as u32))
}

fn value_of<K: Kind>(entry: &mut Entry<K::Value>, generation: u32) -> Result<&mut K::Value> {
    let is_same = entry.generation == generation;
    entry.value.as_mut().filter(|_| is_same).ok_or_else(closed::<K>)
}

fn closed<K: Kind>() -> Error {
    Error::new(Code::Handle, format!("this {} is closed", K::NAME))
}

fn in_use<K: Kind>() -> Error {
    let name = K::NAME;
    let text = format!("another thread is in a call with this {name}: one thread at a time");
    Error::new(Code::InUse, text)
}

fn index_of<K>(handle: *mut K) -> u32 {
    (handle.addr() >> 8) as u32 & (SLOTS - 1)
}

impl<T> Table<T> {
    pub const fn new() -> Self {
        let free = Mutex::new(Free { slots: Vec::new(), next: 0 });
        Self { blocks: [const { OnceLock::new() }; BLOCKS], free }
    }

    fn free_slot(&self) -> Result<u32> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = free.slots.pop() {
            return Ok(slot);
        }
        let slot = free.next;
        if slot >= SLOTS - FIRST {
            return Err(Error::argument("too many open handles: close some"));
        }
        free.next += 1;
        Ok(slot)
    }

    fn release(&self, slot: u32) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).slots.push(slot);
    }

    fn slot(&self, index: u32) -> Option<&Slot<T>> {
        let (block, at) = place(index);
        self.blocks.get(block)?.get()?.get(at)
    }

    fn slot_or_new(&self, index: u32) -> &Slot<T> {
        let (block, at) = place(index);
        let make = || {
            let empty = || Mutex::new(Entry { generation: 0, value: None });
            (0..FIRST << block).map(|_| empty()).collect()
        };
        &self.blocks[block].get_or_init(make)[at]
    }
}

/// The block of a slot, and its index in that block.
fn place(index: u32) -> (usize, usize) {
    let block = (index / FIRST + 1).ilog2();
    (block as usize, (index - FIRST * ((1 << block) - 1)) as usize)
}

/// Number of slots of the first block.
const FIRST: u32 = 64;
const SLOTS: u32 = 1 << 24;
const BLOCKS: usize = 18;
const _: () = assert!(usize::BITS == 64, "a handle has 64 bits");

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Number;
    static NUMBERS: Table<u32> = Table::new();
    impl Kind for Number {
        type Value = u32;
        const TAG: u8 = 0x71;
        const NAME: &'static str = "number";
        fn table() -> &'static Table<u32> {
            &NUMBERS
        }
    }

    #[derive(Debug)]
    struct Other;
    static OTHERS: Table<u32> = Table::new();
    impl Kind for Other {
        type Value = u32;
        const TAG: u8 = 0x73;
        const NAME: &'static str = "other";
        fn table() -> &'static Table<u32> {
            &OTHERS
        }
    }

    #[derive(Debug)]
    struct Never;
    static NEVERS: Table<u32> = Table::new();
    impl Kind for Never {
        type Value = u32;
        const TAG: u8 = 0x75;
        const NAME: &'static str = "never";
        fn table() -> &'static Table<u32> {
            &NEVERS
        }
    }

    fn refused<T: std::fmt::Debug>(result: Result<T>) -> i32 {
        result.unwrap_err().keep()
    }

    #[test]
    fn places_fill_blocks_one_after_the_other() {
        for (index, expected) in [
            (0, (0, 0)),
            (63, (0, 63)),
            (64, (1, 0)),
            (191, (1, 127)),
            (192, (2, 0)),
            (SLOTS - FIRST - 1, (17, (64 << 17) - 1)),
        ] {
            assert_eq!(place(index), expected, "{index}");
        }
    }

    #[test]
    fn a_handle_is_good_from_open_to_close() {
        let handles: Vec<_> = (0..200).map(|n| open::<Number>(n).unwrap()).collect();
        for (n, handle) in handles.iter().enumerate() {
            assert_eq!(with(*handle, |value| Ok(*value)).unwrap(), n as u32);
            assert_eq!(share(*handle).unwrap(), n as u32);
        }
        close(handles[7]).unwrap();
        assert_eq!(refused(close(handles[7])), Code::Handle as i32);
        let again = open::<Number>(1000).unwrap();
        assert_eq!(index_of(again), index_of(handles[7]), "the slot is used again");
        assert_eq!(refused(with(handles[7], |_| Ok(()))), Code::Handle as i32);
        assert_eq!(refused(share(handles[7])), Code::Handle as i32);
        assert_eq!(with(again, |value| Ok(*value)).unwrap(), 1000);
    }

    #[test]
    fn a_handle_of_another_kind_is_none() {
        let numbers: Vec<_> = (0..100).map(|n| open::<Number>(n).unwrap()).collect();
        let others: Vec<_> = (0..400).map(|n| open::<Other>(n).unwrap()).collect();
        let same_but_tag = |number: &&*mut Number| {
            others.iter().any(|other| other.addr() >> 8 == number.addr() >> 8)
        };
        let number = numbers.iter().find(same_but_tag).expect("slots are counted alike");
        assert_eq!(refused(with(number.cast::<Other>(), |_| Ok(()))), Code::Handle as i32);
        assert_eq!(refused(close(number.cast::<Other>())), Code::Handle as i32);
    }

    #[test]
    fn what_was_never_opened_is_no_handle() {
        let null = std::ptr::null_mut::<Never>();
        assert_eq!(refused(with(null, |_| Ok(()))), Code::Argument as i32);
        for bits in [0x75, 0x175, 0xffff_ff75, usize::MAX, 0x7fff_0000_1000, 1] {
            let handle = std::ptr::without_provenance_mut::<Never>(bits);
            assert_eq!(refused(with(handle, |_| Ok(()))), Code::Handle as i32, "{bits:#x}");
            assert_eq!(refused(close(handle)), Code::Handle as i32, "{bits:#x}");
        }
    }

    #[test]
    fn one_thread_at_a_time() {
        let handle = open::<Number>(5).unwrap();
        with(handle, |_| {
            let bits = handle.expose_provenance();
            let there = std::thread::spawn(move || {
                let handle = std::ptr::with_exposed_provenance_mut::<Number>(bits);
                (refused(with(handle, |_| Ok(()))), refused(close(handle)))
            });
            assert_eq!(there.join().unwrap(), (Code::InUse as i32, Code::InUse as i32));
            Ok(())
        })
        .unwrap();
        close(handle).unwrap();
    }

    #[test]
    fn after_a_panic_a_handle_can_only_be_closed() {
        let handle = open::<Number>(5).unwrap();
        assert_eq!(crate::error::call(|| with(handle, |_| panic!("broken"))), -11);
        assert_eq!(refused(with(handle, |_| Ok(()))), Code::Defect as i32);
        close(handle).unwrap();
        let again = open::<Number>(6).unwrap();
        assert_eq!(with(again, |value| Ok(*value)).unwrap(), 6);
    }
}
