//! Reading the contents of a map from either runtime.
//!
//! Rule: array elements that are zero are left out, because arrays may have tens of millions of
//! elements that were never written; a request to end the run ends
//! the reading.

use spec::{Map as _, MapDef, MapKind};

use crate::arm::{Arm, Kernel, Vm};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;

/// Raw key and value of each entry of a map, sorted.
pub type Entries = Vec<(Vec<u8>, Vec<u8>)>;

impl Arm {
    /// Clears fields of values that only their runtime can interpret: addresses of its objects,
    /// locks, timers. The values of both runtimes have them at the same offsets.
    pub fn blank(&self, def: &MapDef, entries: &mut Entries) -> Result<()> {
        let Self::Vm(vm) = self else { return Ok(()) };
        let fields = &vm.find(&def.name)?.attributes().fields;
        let step = (def.value_size as usize).next_multiple_of(8).max(8);
        for (_, value) in entries.iter_mut().filter(|_| !fields.is_empty()) {
            value.chunks_mut(step).for_each(|one| fields.blank(one));
        }
        Ok(())
    }

    /// The entries with the given keys, as [`Arm::entries`] returns them; `None` where the map
    /// cannot be read by key or was not created.
    pub fn entries_of<'k>(
        &self,
        def: &MapDef,
        keys: impl Iterator<Item = &'k Vec<u8>>,
    ) -> Option<Entries> {
        let mut entries = Entries::new();
        for key in keys {
            let value = match self {
                Self::Vm(vm) => vm.find(&def.name).ok()?.lookup(key).ok()?,
                Self::Kernel(kernel) => kernel.map(&def.name)?.lookup(key).ok()?,
            };
            let shown = |value: &Vec<u8>| !is_array(def) || value.iter().any(|byte| *byte != 0);
            entries.extend(value.filter(shown).map(|value| (key.clone(), value)));
        }
        entries.sort_unstable();
        Some(entries)
    }

    /// The entries of a map, without array elements that are zero; `None` if it cannot be read by
    /// key or was not created.
    ///
    /// # Errors
    /// A request to end the run came meanwhile.
    pub fn entries(&self, def: &MapDef, interrupt: &Interrupt) -> Result<Option<Entries>> {
        let mut proceed = interrupt.until_next();
        let read = match self {
            Self::Vm(vm) => vm.entries(def, &mut proceed),
            Self::Kernel(kernel) => kernel.entries(def, &mut proceed),
        };
        match read {
            Read::All(mut entries) => {
                entries.sort_unstable();
                Ok(Some(entries))
            }
            Read::Unreadable => Ok(None),
            Read::Interrupted => Err(Error::Interrupted { map: def.name.clone() }),
        }
    }
}

enum Read {
    All(Entries),
    /// User space cannot read some types of maps, and values that contain objects of the runtime.
    Unreadable,
    Interrupted,
}

impl Vm {
    fn entries(&self, def: &MapDef, proceed: &mut dyn FnMut() -> bool) -> Read {
        let map = self.find(&def.name).ok().filter(|map| map.attributes().key_size > 0);
        let Some(map) = map else { return Read::Unreadable };
        let mut entries = Vec::new();
        let mut keep = |key: &[u8], value: &[u8]| entries.push((key.to_vec(), value.to_vec()));
        match map.scan(proceed, &mut keep) {
            Ok(true) => Read::All(entries),
            Ok(false) => Read::Interrupted,
            Err(_) => Read::Unreadable,
        }
    }
}

impl Kernel {
    fn entries(&self, def: &MapDef, proceed: &mut dyn FnMut() -> bool) -> Read {
        let map = self.map(&def.name).filter(|map| spec::Map::key_size(*map) > 0);
        let Some(map) = map else { return Read::Unreadable };
        if let Some(read) = self.mapped(map, def, proceed) {
            return read;
        }
        let (mut entries, mut seen) = (Vec::new(), 0_u64);
        let scanned = map.scan(|key, value| {
            if !is_array(def) || value.iter().any(|byte| *byte != 0) {
                entries.push((key.to_vec(), value.to_vec()));
            }
            seen += 1;
            !seen.is_multiple_of(ROUND) || proceed()
        });
        match scanned {
            Ok(true) => Read::All(entries),
            Ok(false) => Read::Interrupted,
            Err(_) => Read::Unreadable,
        }
    }
}

impl Kernel {
    /// The entries of an array that is mapped into memory; `None` if it is not.
    fn mapped(
        &self,
        map: &kernel::Map,
        def: &MapDef,
        proceed: &mut dyn FnMut() -> bool,
    ) -> Option<Read> {
        let memory = self.is_mapped(def).then(|| map.mapping(false).ok()).flatten()?;
        let step = (def.value_size as usize).next_multiple_of(WORD);
        let mut entries = Vec::new();
        for index in 0..map.max_entries() {
            if u64::from(index).is_multiple_of(ROUND) && !proceed() {
                return Some(Read::Interrupted);
            }
            let at = index as usize * step;
            if (at..at + step).step_by(WORD).any(|word| memory.load_u64(word) != 0) {
                let mut value = vec![0; def.value_size as usize];
                memory.copy_out(at, &mut value);
                entries.push((index.to_ne_bytes().to_vec(), value));
            }
        }
        Some(Read::All(entries))
    }
}

/// Whether every key is always present, so that a value of zero may never have been written.
pub fn is_array(def: &MapDef) -> bool {
    matches!(def.kind, MapKind::ARRAY | MapKind::PERCPU_ARRAY)
}

/// Bytes of a word.
const WORD: usize = 8;
/// Number of elements after which requests to end the run are checked.
const ROUND: u64 = 4096;
