//! Tracked connections: those of the environment and those that programs add.
//!
//! The only part of an environment that runs change, protected by a lock. A connection expires when
//! its time is over by the clock of the processor that looks it up.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, OnceLock};

use crate::errno::Errno;
use crate::limits;
use crate::world::{Connection, Direction, Protocol, Status};

/// All connections of a machine.
#[derive(Debug)]
pub(crate) struct Connections {
    /// Connections of the environment.
    first: Vec<Entry>,
    /// Created with its full capacity at the first lookup: few programs need it.
    table: OnceLock<Mutex<Table>>,
}

/// The current state of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub protocol: Protocol,
    pub zone: Zone,
    /// Endpoints of packets in the original direction, and in the reply direction.
    pub directions: [Direction; 2],
    /// [`Status`] bits.
    pub status: u32,
    pub mark: u32,
    /// Nanoseconds: the lifetime before it is inserted, then the end of its life.
    pub timeout_ns: u64,
}

/// Zone that distinguishes connections with the same endpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Zone {
    pub id: u16,
    /// Bit 0: applies to the original direction; bit 1: to the reply direction.
    pub directions: u8,
}

/// Identifies a connection while it exists; not reused afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionId(pub u64);

/// Endpoints of a packet, in a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    protocol: Protocol,
    from: SocketAddr,
    to: SocketAddr,
    zone: u16,
}

#[derive(Debug)]
struct Table {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Both directions of all inserted connections: the newest of those with these endpoints.
    index: HashMap<Key, Link>,
}

/// One direction of a connection: its slot, and whether it is the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Link {
    slot: u32,
    reply: bool,
}

#[derive(Debug)]
struct Slot {
    generation: u32,
    entry: Option<Entry>,
    /// For each direction, another connection with the same endpoints, in a zone that differs in
    /// the other direction.
    next: [Option<Link>; 2],
}

impl Connections {
    /// Connections of an environment, last refreshed at `start_ns`.
    pub fn new(connections: &[Connection], start_ns: u64) -> Self {
        let first = connections.iter().map(|connection| Entry::of(connection, start_ns));
        Self { first: first.collect(), table: OnceLock::new() }
    }

    /// The connection of a packet, and whether the packet is in the reply direction.
    pub fn find(
        &self,
        (protocol, ends): (Protocol, Direction),
        zone: Zone,
        now_ns: u64,
    ) -> Option<(ConnectionId, Entry, bool)> {
        let mut table = self.lock();
        for reply in [false, true] {
            let Direction { from, to } = ends;
            let key = Key { protocol, from, to, zone: zone.id_for(reply) };
            if let Some(link) = table.living(&key, zone, now_ns) {
                let id = table.id_of(link.slot);
                return table.entry(id).map(|entry| (id, entry, link.reply));
            }
        }
        None
    }

    /// Allocates a connection that is not yet inserted; `ENOMEM` when the table is full.
    pub fn allocate(&self, entry: Entry, now_ns: u64) -> Result<ConnectionId, Errno> {
        self.lock().take(entry, now_ns)
    }

    /// Inserts a connection into the table. It is dropped if another one has one of its directions.
    pub fn insert(&self, id: ConnectionId, now_ns: u64) -> Option<Entry> {
        let mut table = self.lock();
        let mut entry = table.entry(id)?;
        let taken = entry.keys().iter().any(|key| table.living(key, entry.zone, now_ns).is_some());
        if taken {
            table.remove(id);
            return None;
        }
        entry.timeout_ns = now_ns.saturating_add(entry.timeout_ns);
        entry.status |= Status::Confirmed as u32;
        table.set(id, entry);
        table.link(id);
        Some(entry)
    }

    /// Changes an existing connection; returns the result of `change`, or the default if it no
    /// longer exists.
    pub fn change<T: Default>(&self, id: ConnectionId, change: impl FnOnce(&mut Entry) -> T) -> T {
        let mut table = self.lock();
        let Some(mut entry) = table.entry(id) else { return T::default() };
        let answer = change(&mut entry);
        table.set(id, entry);
        answer
    }

    pub fn entry(&self, id: ConnectionId) -> Option<Entry> {
        self.lock().entry(id)
    }

    /// Whether packets with these endpoints belong to a connection.
    pub fn is_taken(
        &self,
        (protocol, ends): (Protocol, Direction),
        zone: Zone,
        now_ns: u64,
    ) -> bool {
        self.find((protocol, ends), zone, now_ns).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        let table = self.table.get_or_init(|| Mutex::new(Table::new(&self.first)));
        table.lock().expect("no thread panics while it holds the connections")
    }
}

impl Table {
    fn new(first: &[Entry]) -> Self {
        let most = limits::CONNECTIONS;
        let mut table = Self {
            slots: Vec::with_capacity(most),
            free: Vec::with_capacity(most),
            index: HashMap::with_capacity(2 * most),
        };
        for entry in first.iter().take(most) {
            if let Ok(id) = table.take(*entry, 0) {
                table.link(id);
            }
        }
        table
    }

    fn take(&mut self, entry: Entry, now_ns: u64) -> Result<ConnectionId, Errno> {
        if self.free.is_empty() && self.slots.len() == limits::CONNECTIONS {
            self.sweep(now_ns);
        }
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None if self.slots.len() < limits::CONNECTIONS => {
                self.slots.push(Slot { generation: 1, entry: None, next: [None; 2] });
                self.slots.len() as u32 - 1
            }
            None => return Err(Errno::ENOMEM),
        };
        self.slots[slot as usize].entry = Some(entry);
        Ok(self.id_of(slot))
    }

    fn link(&mut self, id: ConnectionId) {
        let (slot, _) = id.parts();
        let Some(entry) = self.entry(id) else { return };
        // If both directions are equal, the reply, which comes second, is found first.
        for (key, reply) in entry.keys().into_iter().zip([false, true]) {
            let before = self.index.insert(key, Link { slot, reply });
            self.slots[slot as usize].next[usize::from(reply)] = before;
        }
    }

    fn remove(&mut self, id: ConnectionId) {
        let (slot, _) = id.parts();
        let Some(entry) = self.entry(id) else { return };
        if entry.has(Status::Confirmed) {
            for (key, reply) in entry.keys().into_iter().zip([false, true]) {
                self.unlink(&key, Link { slot, reply });
            }
        }
        let held = &mut self.slots[slot as usize];
        held.entry = None;
        held.generation = held.generation.wrapping_add(1);
        self.free.push(slot);
    }

    /// Drops all expired connections.
    fn sweep(&mut self, now_ns: u64) {
        for slot in 0..self.slots.len() as u32 {
            let id = self.id_of(slot);
            let over = |entry: Entry| {
                entry.status & Status::Confirmed as u32 != 0 && entry.timeout_ns <= now_ns
            };
            if self.entry(id).is_some_and(over) {
                self.remove(id);
            }
        }
    }

    /// Removes one direction from the chain of those with these endpoints.
    fn unlink(&mut self, key: &Key, link: Link) {
        let after = self.next_of(link);
        let Some(first) = self.index.get(key).copied() else { return };
        if first == link {
            match after {
                Some(after) => _ = self.index.insert(*key, after),
                None => _ = self.index.remove(key),
            }
            return;
        }
        let mut at = Some(first);
        while let Some(here) = at {
            at = self.next_of(here);
            if at == Some(link) {
                self.slots[here.slot as usize].next[usize::from(here.reply)] = after;
            }
        }
    }

    fn next_of(&self, link: Link) -> Option<Link> {
        self.slots[link.slot as usize].next[usize::from(link.reply)]
    }

    /// The first connection with these endpoints whose zone is the same in its own direction and
    /// that has not expired. Expired ones are dropped.
    fn living(&mut self, key: &Key, zone: Zone, now_ns: u64) -> Option<Link> {
        let mut at = self.index.get(key).copied();
        while let Some(link) = at {
            at = self.next_of(link);
            let id = self.id_of(link.slot);
            let Some(entry) = self.entry(id) else { continue };
            if entry.timeout_ns <= now_ns {
                self.remove(id);
                return self.living(key, zone, now_ns);
            }
            if entry.zone.id_for(link.reply) == zone.id_for(link.reply) {
                return Some(link);
            }
        }
        None
    }

    fn id_of(&self, slot: u32) -> ConnectionId {
        ConnectionId(u64::from(self.slots[slot as usize].generation) << 32 | u64::from(slot))
    }

    fn entry(&self, id: ConnectionId) -> Option<Entry> {
        let (slot, generation) = id.parts();
        let slot = self.slots.get(slot as usize)?;
        slot.entry.filter(|_| slot.generation == generation)
    }

    fn set(&mut self, id: ConnectionId, entry: Entry) {
        let (slot, _) = id.parts();
        self.slots[slot as usize].entry = Some(entry);
    }
}

impl ConnectionId {
    fn parts(self) -> (u32, u32) {
        (self.0 as u32, (self.0 >> 32) as u32)
    }
}

impl Entry {
    /// A connection that a program creates, not yet inserted.
    pub fn new(protocol: Protocol, original: Direction, zone: Zone) -> Self {
        Self {
            protocol,
            zone,
            directions: [original, original.swapped()],
            status: 0,
            mark: 0,
            timeout_ns: NEW_TIMEOUT_NS,
        }
    }

    fn of(connection: &Connection, start_ns: u64) -> Self {
        let lives_ns = u64::from(connection.timeout_s) * 1_000_000_000;
        Self {
            protocol: connection.protocol,
            zone: Zone::default(),
            directions: [connection.original, connection.reply()],
            // Every connection in the table is confirmed.
            status: connection.status_bits() | Status::Confirmed as u32,
            mark: connection.mark,
            timeout_ns: start_ns.saturating_add(lives_ns),
        }
    }

    pub fn has(&self, status: Status) -> bool {
        self.status & status as u32 != 0
    }

    fn keys(&self) -> [Key; 2] {
        [false, true].map(|reply| {
            let Direction { from, to } = self.directions[usize::from(reply)];
            Key { protocol: self.protocol, from, to, zone: self.zone.id_for(reply) }
        })
    }
}

impl Zone {
    fn id_for(self, reply: bool) -> u16 {
        if self.directions & 1 << u8::from(reply) != 0 { self.id } else { 0 }
    }
}

/// Default lifetime of a new connection.
const NEW_TIMEOUT_NS: u64 = 10_000_000_000;
