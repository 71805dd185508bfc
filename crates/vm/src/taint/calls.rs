//! Flow of labels through helpers and kfuncs.
//!
//! Functions that are sources, or copy bytes, are listed by name; the result of any other has the
//! labels of all arguments, and of the memory that an argument with a length after it refers to.

use std::sync::Arc;

use super::label::Label;
use super::{Taint, is_address, is_followed};
use crate::memory::RegionId;
use crate::processor::{CallEvent, Step};

/// Functions whose results are marked.
const SOURCES: &[(&str, Label)] = &[
    ("bpf_ktime_get_ns", Label::CLOCK),
    ("bpf_ktime_get_boot_ns", Label::CLOCK),
    ("bpf_ktime_get_coarse_ns", Label::CLOCK),
    ("bpf_ktime_get_tai_ns", Label::CLOCK),
    ("bpf_jiffies64", Label::CLOCK),
    ("bpf_get_prandom_u32", Label::RANDOM),
    ("bpf_tcp_gen_syncookie", Label::RANDOM),
    ("bpf_tcp_raw_gen_syncookie_ipv4", Label::RANDOM),
    ("bpf_tcp_raw_gen_syncookie_ipv6", Label::RANDOM),
    ("bpf_get_current_task", Label::ADDRESS),
    ("bpf_get_current_pid_tgid", Label::RANDOM),
];

/// Maximum number of bytes of a memory argument.
const LONGEST: u64 = 1 << 16;

impl Taint {
    /// Effect of a call before it runs: a marked argument may determine how often it calls back.
    pub(super) fn before_call(&mut self, step: &Step<'_>) {
        let program = step.program;
        let name = program.callee(program.ops()[step.slot].imm);
        let label = match name {
            "bpf_loop" => self.label(1).as_data(),
            "bpf_for_each_map_elem" => {
                self.map_at(step.registers[1]).map_or(Label::NONE, |map| self.map(map))
            }
            "bpf_xdp_adjust_head" | "bpf_xdp_adjust_tail" | "bpf_xdp_adjust_meta" => {
                self.label(2).as_data()
            }
            _ => Label::NONE,
        };
        self.branch_on(step, label);
    }

    pub(super) fn after_call(&mut self, step: &Step<'_>, call: &CallEvent<'_>) {
        if let Some(map) = self.map_at(call.args[0]) {
            self.used.push(map);
        }
        let source = SOURCES.iter().find(|(name, _)| *name == call.name).map(|(_, label)| *label);
        let result = match call.name {
            "bpf_map_lookup_elem" | "bpf_map_lookup_percpu_elem" => self.key(call),
            "bpf_map_update_elem" => self.update(step, call),
            "bpf_map_delete_elem" => self.key(call),
            "bpf_map_push_elem" | "bpf_map_pop_elem" | "bpf_map_peek_elem" => self.queue(call),
            "bpf_xdp_load_bytes" => self.load_bytes(call),
            "bpf_xdp_store_bytes" => self.store_bytes(call),
            _ => source.unwrap_or_else(|| self.any(step, call)),
        };
        if let Some(map) = self.map_at(call.result).filter(|_| is_address(step, call.result)) {
            self.used.push(map);
        }
        let pointer = if is_address(step, call.result) { Label::POINTER } else { Label::NONE };
        self.set(0, result | pointer);
        self.registers().labels[1..6].fill(Label::NONE);
    }

    /// Labels of the result of an operation on an element. A marked key in an operation that
    /// changes the map makes the whole map uncertain.
    fn key(&mut self, call: &CallEvent<'_>) -> Label {
        let Some(number) = self.map_at(call.args[0]) else { return Label::NONE };
        let size = self.maps[number].attributes().key_size as usize;
        let key = self.shadow.read(call.args[1], size).as_data();
        let is_lookup = call.name.starts_with("bpf_map_lookup");
        self.doubt(number, if is_lookup { Label::NONE } else { key });
        // Every index of an array exists.
        key | if self.is_array(number) { Label::NONE } else { self.map(number) }
    }

    fn is_array(&self, number: usize) -> bool {
        use spec::MapKind;
        let kind = self.maps[number].attributes().kind;
        kind == MapKind::ARRAY || kind == MapKind::PERCPU_ARRAY
    }

    fn update(&mut self, step: &Step<'_>, call: &CallEvent<'_>) -> Label {
        let result = self.key(call);
        let Some(number) = self.map_at(call.args[0]) else { return result };
        let map = Arc::clone(&self.maps[number]);
        let attributes = map.attributes();
        let (from, len) = (call.args[2], attributes.value_size as usize);
        if !is_followed(&map) {
            let value = self.shadow.read(from, len).as_data();
            self.doubt(number, value | self.control);
            return result;
        }
        let key = step.read(call.args[1], attributes.key_size as usize);
        if let Some(key) = key.filter(|_| call.result == 0) {
            let cpu = if attributes.copies() > 1 { self.cpu } else { 0 };
            let to = map.lookup(cpu, &key);
            if to != 0 {
                self.shadow.copy((from, to), len, self.control);
            }
        }
        result
    }

    fn queue(&mut self, call: &CallEvent<'_>) -> Label {
        let Some(number) = self.map_at(call.args[0]) else { return Label::NONE };
        let len = self.maps[number].attributes().value_size as usize;
        if call.name == "bpf_map_push_elem" {
            let value = self.shadow.read(call.args[1], len).as_data();
            self.doubt(number, value);
        } else {
            let label = self.map(number);
            self.shadow.write(call.args[1], len, label | self.control);
        }
        self.map(number)
    }

    /// Reads bytes of the packet, which may be in several buffers: all of its labels count.
    fn load_bytes(&mut self, call: &CallEvent<'_>) -> Label {
        let asked = self.label(2).as_data() | self.label(4).as_data();
        let label = asked | self.shadow.all_of_packet().as_data() | self.control;
        self.shadow.write(call.args[2], call.args[3].min(LONGEST) as usize, label);
        asked
    }

    /// A marked byte, or place, makes the whole packet uncertain.
    fn store_bytes(&mut self, call: &CallEvent<'_>) -> Label {
        let asked = self.label(2).as_data() | self.label(4).as_data();
        let len = call.args[3].min(LONGEST) as usize;
        self.control |= asked | self.shadow.read(call.args[2], len).as_data();
        asked
    }

    fn any(&mut self, step: &Step<'_>, call: &CallEvent<'_>) -> Label {
        let mut label = Label::NONE;
        for register in 1..6 {
            label |= self.label(register).without_pointer();
        }
        let pairs = || call.args.windows(2).filter(|pair| is_memory(step, pair));
        for pair in pairs() {
            label |= self.shadow.read(pair[0], pair[1] as usize).as_data();
        }
        if !label.is_empty() {
            for pair in pairs() {
                self.shadow.write(pair[0], pair[1] as usize, label);
            }
        }
        label
    }
}

/// Whether two arguments are an address and a length.
fn is_memory(step: &Step<'_>, pair: &[u64]) -> bool {
    let [address, len] = *pair else { return false };
    let maps = RegionId::of(address) == RegionId::MAPS;
    is_address(step, address) && !maps && len > 0 && len <= LONGEST
}
