//! Objects to which the values of maps may refer: the machine's maps, programs and interfaces.
//!
//! Rule: maps have weak references to the directory, which owns them. An id is a position in a list
//! plus one: 0 is none.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, RwLock, RwLockReadGuard};

use spec::btf::Btf;
use spec::{MapDef, ProgramKind};

use super::{Fields, Map, Orphan};
use crate::errno::Errno;
use crate::limits;
use crate::world::World;

#[derive(Debug, Default)]
pub(crate) struct Directory {
    maps: RwLock<Vec<Arc<Map>>>,
    /// Set once, when the programs are loaded; `None` for those that are not.
    programs: OnceLock<Vec<Option<ProgramKind>>>,
    /// Interfaces of the environment; if it has none, every number is valid.
    interfaces: Vec<u32>,
    /// The object's types.
    types: Option<Btf>,
    orphans: Mutex<Vec<Orphan>>,
    has_orphans: AtomicBool,
}

impl Directory {
    pub fn new(world: &World, types: Option<Btf>) -> Self {
        let interfaces = world.interfaces.iter().map(|interface| interface.index).collect();
        Self { interfaces, types, ..Self::default() }
    }

    pub fn maps(&self) -> RwLockReadGuard<'_, Vec<Arc<Map>>> {
        self.maps.read().expect("no thread panics while it holds the list of maps")
    }

    /// Adds the map that `create` returns for its number.
    pub fn add(&self, create: impl FnOnce(u32) -> Result<Map, Errno>) -> Result<Arc<Map>, Errno> {
        let mut maps = self.maps.write().expect("no thread panics while it holds the list of maps");
        if maps.len() >= limits::MAPS {
            return Err(Errno::ENOSPC);
        }
        let map = Arc::new(create(maps.len() as u32)?);
        maps.push(Arc::clone(&map));
        Ok(map)
    }

    /// The map of that id.
    pub fn map(&self, id: u32) -> Option<Arc<Map>> {
        self.maps().get((id as usize).checked_sub(1)?).cloned()
    }

    /// The special fields of a map's values.
    pub fn fields(&self, def: &MapDef) -> Fields {
        let types = self.types.as_ref().filter(|_| def.value_type != 0);
        types.map(|btf| Fields::of(btf, def.value_type, def.value_size)).unwrap_or_default()
    }

    /// Records what a special field held when its element was deleted, until
    /// [`Directory::take_orphans`].
    pub fn leave(&self, orphan: Orphan) {
        self.orphans.lock().expect("no thread panics while it holds the orphans").push(orphan);
        self.has_orphans.store(true, Relaxed);
    }

    /// Whether there are orphans since the last [`Directory::take_orphans`].
    #[inline]
    pub fn has_orphans(&self) -> bool {
        self.has_orphans.load(Relaxed)
    }

    /// Takes the orphans since the last call.
    pub fn take_orphans(&self) -> Vec<Orphan> {
        self.has_orphans.store(false, Relaxed);
        std::mem::take(
            &mut *self.orphans.lock().expect("no thread panics while it holds the orphans"),
        )
    }

    /// Sets the kinds of the machine's programs, by number. Called once.
    pub fn set_programs(&self, kinds: Vec<Option<ProgramKind>>) {
        assert!(self.programs.set(kinds).is_ok(), "a machine's programs are loaded once");
    }

    /// The kind of the program of that id.
    pub fn program(&self, id: u32) -> Option<ProgramKind> {
        *self.programs.get()?.get((id as usize).checked_sub(1)?)?
    }

    pub fn has_interface(&self, index: u32) -> bool {
        self.interfaces.is_empty() || self.interfaces.contains(&index)
    }
}
