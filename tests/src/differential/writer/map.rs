//! Actions on maps: lookups, updates, deletes, queues, values without a lookup.

use spec::MapKind;
use spec::asm::{Cond, Helper, Reg, Reg::*, Size};

use super::{BUFFER, DATA, KEY, Kind, Writer, frame};
use crate::differential::maps::{KEYED, OUT, PUSHED, REDIRECTS};

impl Writer<'_> {
    fn map_of(&mut self, kinds: &[MapKind]) -> Option<usize> {
        let all = self.maps.of(kinds);
        (!all.is_empty()).then(|| self.rng.pick(&all))
    }

    /// Writes a key that is likely to be there: few are ever used.
    fn key(&mut self, map: usize) {
        let def = &self.maps.defs[map];
        let (kind, size) = (def.kind, def.key_size);
        if kind == MapKind::LPM_TRIE {
            let bits = (size as i32 - 4) * 8;
            let prefix = self.rng.pick(&[0, 1, 7, 8, 9, bits - 1, bits, bits, bits, bits + 1]);
            self.a.store32(frame(KEY), prefix);
            self.key_number(KEY + 4, Size::Byte);
            if size > 5 {
                self.key_number(KEY + 5, Size::Byte);
            }
            return;
        }
        let width = match size {
            1 => Size::Byte,
            2 => Size::Half,
            _ => Size::Word,
        };
        self.key_number(KEY, width);
        if size > 4 && self.rng.one_in(4) {
            self.key_number(KEY + 4, Size::Byte);
        }
    }

    fn key_number(&mut self, off: i16, size: Size) {
        let most = self.rng.pick(&[1, 3, 7]);
        let open = self.state.open();
        let scratch = open.into_iter().find(|reg| self.state.kind(*reg) == Kind::Unset);
        match (self.scalar(), scratch, self.rng.one_in(2)) {
            (Some(from), Some(scratch), true) => {
                self.a.mov(scratch, from).and(scratch, most).store(size, frame(off), scratch);
            }
            _ => {
                self.a.store(size, frame(off), self.rng.between(0, most));
            }
        }
    }

    /// Looks an element up and works on its value.
    pub(super) fn lookup(&mut self) -> bool {
        let Some(map) = self.map_of(&KEYED).filter(|_| self.can_call()) else { return false };
        self.key(map);
        let per_cpu = self.maps.kind(map).is_per_cpu() && self.rng.one_in(3);
        if per_cpu {
            self.argument(R3, (0, 3));
        }
        self.frame_argument(R2, KEY);
        self.a.load_map(R1, map);
        let lookup = if per_cpu { Helper::MAP_LOOKUP_PERCPU_ELEM } else { Helper::MAP_LOOKUP_ELEM };
        self.a.call(lookup);
        self.state.called();
        self.found(map);
        true
    }

    /// r0 is a value or null.
    fn found(&mut self, map: usize) {
        let len = self.maps.defs[map].value_size as u16;
        let skip = self.a.label();
        let (none, some) = (self.rng.one_in(2), self.state.clone());
        if none {
            let there = self.a.label();
            self.a.jump_if(R0, Cond::Ne, 0, there).jump(skip).bind(there);
        } else {
            self.a.jump_if(R0, Cond::Eq, 0, skip);
        }
        let value = Kind::Value { map, len, skew: Some(0) };
        self.state.set(R0, value);
        let keeper = self.targets::<1>().filter(|[reg]| *reg != R0 && self.rng.one_in(2));
        if let Some([keeper]) = keeper {
            self.a.mov(keeper, R0);
            self.state.set(keeper, value);
        }
        for _ in 0..1 + self.rng.below(3) {
            if self.state.kind(R0) == value {
                self.access_through(R0);
            }
        }
        if self.depth < 3 {
            self.block(3);
        }
        self.a.bind(skip);
        self.state.meet(&some);
    }

    /// A lookup in a map that a map of maps holds.
    pub(super) fn nested_lookup(&mut self) -> bool {
        let kinds = [MapKind::ARRAY_OF_MAPS, MapKind::HASH_OF_MAPS];
        let Some(outer) = self.map_of(&kinds).filter(|_| self.can_call()) else { return false };
        let none = self.a.label();
        self.key_number(KEY, Size::Word);
        self.frame_argument(R2, KEY);
        self.a.load_map(R1, outer).call(Helper::MAP_LOOKUP_ELEM);
        self.state.called();
        let before = self.state.clone();
        self.a.jump_if(R0, Cond::Eq, 0, none);
        self.a.store32(frame(KEY), self.rng.between(0, 2));
        self.a.mov(R1, R0).mov(R2, R10).add(R2, KEY).call(Helper::MAP_LOOKUP_ELEM);
        // Inner maps are equal arrays, before the map that holds them.
        self.found(outer - 1);
        self.a.bind(none);
        self.state.meet(&before);
        true
    }

    /// Points into an array's first value, or the map of results.
    pub(super) fn direct_value(&mut self) -> bool {
        let Some([to]) = self.targets() else { return false };
        // Only arrays of one value have values at fixed addresses.
        let single = |map: &usize| self.maps.defs[*map].max_entries == 1;
        let map = self.maps.of(&[MapKind::ARRAY]).into_iter().find(single).unwrap_or(OUT);
        let len = self.maps.defs[map].value_size as u16;
        let by = self.rng.below(usize::from(len)) as u16;
        self.a.load_map_value(to, map, by.into());
        self.state.set(to, Kind::Value { map, len, skew: Some(0) }.behind(by));
        true
    }

    pub(super) fn update(&mut self) -> bool {
        let Some(map) = self.map_of(&KEYED).filter(|_| self.can_call()) else { return false };
        self.key(map);
        self.argument(R4, (0, 5));
        self.value_argument(map);
        self.frame_argument(R2, KEY);
        self.a.load_map(R1, map).call(Helper::MAP_UPDATE_ELEM);
        self.answered();
        self.elements_moved(Some(map));
        true
    }

    /// A new value: from the frame or from wherever there are enough bytes.
    fn value_argument(&mut self, map: usize) {
        if self.rng.one_in(2) {
            return self.frame_argument(R3, DATA);
        }
        self.bytes_argument(R3, self.maps.defs[map].value_size as u16);
    }

    pub(super) fn delete(&mut self) -> bool {
        let Some(map) = self.map_of(&KEYED).filter(|_| self.can_call()) else { return false };
        self.key(map);
        self.frame_argument(R2, KEY);
        self.a.load_map(R1, map).call(Helper::MAP_DELETE_ELEM);
        self.answered();
        self.elements_moved(Some(map));
        true
    }

    /// Pushes, pops or peeks.
    pub(super) fn queue(&mut self) -> bool {
        let Some(map) = self.map_of(&PUSHED).filter(|_| self.can_call()) else { return false };
        let bloom = self.maps.kind(map) == MapKind::BLOOM_FILTER;
        // Values from a small set, or a filter would never know one.
        if bloom {
            self.a.store64(frame(DATA), self.rng.between(0, 3));
        }
        let pushes = self.rng.one_in(2);
        if pushes {
            let most = if bloom { 0 } else { 2 };
            self.argument(R3, (0, most));
            self.frame_argument(R2, DATA);
            self.a.load_map(R1, map).call(Helper::MAP_PUSH_ELEM);
        } else {
            self.frame_argument(R2, DATA);
            let peek = bloom || self.rng.one_in(2);
            self.a.load_map(R1, map);
            self.a.call(if peek { Helper::MAP_PEEK_ELEM } else { Helper::MAP_POP_ELEM });
        }
        self.answered();
        true
    }

    /// A redirect to an entry that may be there.
    pub(super) fn redirect_map(&mut self) -> bool {
        let Some(map) = self.map_of(&REDIRECTS).filter(|_| self.can_call()) else {
            return false;
        };
        self.argument(R2, (0, 7));
        let flags = self.rng.pick(&[0, 1, 2, 3, 4, 8, 24, 64]);
        self.state.set(R3, Kind::Unset);
        self.a.mov(R3, flags).load_map(R1, map).call(Helper::REDIRECT_MAP);
        self.answered();
        true
    }

    /// Elements of a map, or of any, may be gone: pointers to values of other maps than arrays are
    /// forgotten.
    pub(super) fn elements_moved(&mut self, changed: Option<usize>) {
        let maps = self.maps;
        self.state.forget(|kind| match kind {
            Kind::Value { map, .. } => {
                changed.is_none_or(|changed| changed == map) && map != OUT && !maps.is_array(map)
            }
            _ => false,
        });
    }

    /// Bytes that a helper may read: in the frame, a value, or the packet.
    pub(super) fn bytes_argument(&mut self, to: Reg, len: u16) {
        self.bytes_of(to, len, |_| true);
    }

    /// An argument of bytes for helpers that do not read packets.
    pub(super) fn kept_bytes_argument(&mut self, to: Reg, len: u16) {
        self.bytes_of(to, len, |kind| !matches!(kind, Kind::Packet { .. }));
    }

    fn bytes_of(&mut self, to: Reg, len: u16, wanted: impl Fn(Kind) -> bool) {
        let fits = |kind: Kind| kind.len() >= len && !kind.is_undecided() && wanted(kind);
        let fits = self.state.all(fits);
        let from = if fits.is_empty() || self.rng.one_in(2) { None } else { Some(fits[0]) };
        match from {
            Some(from) => {
                let room = usize::from(self.state.kind(from).len() - len);
                let by = self.rng.below(room + 1) as i16;
                self.a.mov(to, from).add(to, by);
            }
            None => {
                self.a.mov(to, R10).add(to, if len <= 32 { BUFFER } else { DATA });
            }
        }
        self.state.set(to, Kind::Unset);
    }
}
