//! Calls in words: what each argument of a helper or kernel function means.
//!
//! Not here: what they do; a function without a row has its arguments shown as they are.

use spec::asm::Helper;
use spec::btf::Btf;
use spec::{Target, Verdict};
use vm::{Pointee, Step};

use super::words::{Words, errno, number};

/// What an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Argument {
    Context,
    Map,
    /// Key of the map that came before it.
    Key,
    /// Value of the map that came before it.
    Value,
    Pointer,
    Number,
    /// A 32-bit number that may be negative.
    Delta,
    Flags,
}

use Argument::{Context, Delta, Flags, Key, Map, Number, Pointer, Value};

/// What comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// An address, or null.
    Address,
    /// A number, or an error.
    Status,
    Verdict,
    /// What a lookup in the routing table came to, or an error.
    Route,
    /// A number of all 64 bits.
    Plain,
}

/// A call that is about to be made.
#[derive(Debug)]
pub struct Asked {
    pub arguments: Vec<String>,
    /// The map that it is about, with the key.
    pub map: Option<u32>,
    pub key: Option<Vec<u8>>,
    pub value: Option<Vec<u8>>,
}

/// The name of what an instruction calls outside the program; `None` for anything else.
pub fn name(step: &Step<'_>) -> Option<String> {
    let insn = step.program.source().insns.get(step.slot)?;
    if !insn.is_call() || insn.is_local_call() {
        return None;
    }
    match step.program.source().fixup_at(step.slot) {
        Some(Target::Kfunc { name, .. }) => Some(name.clone()),
        _ => Helper(insn.imm.cast_unsigned()).name().map(str::to_owned),
    }
}

/// Reads the arguments before the call is made.
pub fn ask(words: &mut Words, step: &Step<'_>, name: &str) -> Asked {
    let mut asked = Asked { arguments: Vec::new(), map: None, key: None, value: None };
    let kinds = kinds(words, step, name);
    for (value, kind) in step.registers[1..6].iter().zip(kinds) {
        let shown = argument(words, step, *value, kind, &mut asked);
        asked.arguments.push(shown);
    }
    asked
}

fn kinds(words: &Words, step: &Step<'_>, name: &str) -> Vec<Argument> {
    if let Some((_, kinds, _)) = CALLS.iter().find(|(known, ..)| *known == name) {
        return kinds.to_vec();
    }
    let known = match step.program.source().fixup_at(step.slot) {
        Some(Target::Kfunc { type_id, .. }) => {
            words.btf().and_then(|btf| parameters(btf, *type_id))
        }
        _ => None,
    };
    let set = step.registers[1..6].iter().take_while(|value| !Step::is_unset(**value)).count();
    vec![Pointer; known.unwrap_or(set).min(5)]
}

/// How many parameters a function has by its type.
pub fn parameters(btf: &Btf, function: u32) -> Option<usize> {
    let prototype = btf.ty(btf.ty(function)?.target())?;
    Some(prototype.params().count())
}

fn argument(
    words: &mut Words,
    step: &Step<'_>,
    value: u64,
    kind: Argument,
    asked: &mut Asked,
) -> String {
    match kind {
        Map => {
            if let Pointee::Map { map } = step.pointee(value) {
                asked.map = Some(map);
            }
            words.any(step, value)
        }
        Key => {
            asked.key = bytes(words, step, value, asked.map, |attributes| attributes.0);
            content(words, step, value, asked, true)
        }
        Value => {
            asked.value = bytes(words, step, value, asked.map, |attributes| attributes.1);
            content(words, step, value, asked, false)
        }
        Delta => (value as u32 as i32).to_string(),
        Flags if value == 0 => "0".to_owned(),
        Flags => format!("{value:#x}"),
        Context | Pointer | Number => words.pointer(step, value),
    }
}

/// The bytes of a key or value of the map.
fn bytes(
    words: &Words,
    step: &Step<'_>,
    address: u64,
    map: Option<u32>,
    size: impl Fn((u32, u32)) -> u32,
) -> Option<Vec<u8>> {
    let attributes = words.map(map?)?.attributes();
    step.read(address, size((attributes.key_size, attributes.value_size)) as usize)
}

fn content(words: &mut Words, step: &Step<'_>, value: u64, asked: &Asked, key: bool) -> String {
    let shown = match (asked.map, &asked.key, &asked.value) {
        (Some(map), Some(raw), _) if key => words.key(map, raw).to_string(),
        (Some(map), _, Some(raw)) if !key => words.value(map, raw).to_string(),
        _ => return words.pointer(step, value),
    };
    match step.pointee(value) {
        Pointee::Packet { .. } => format!("{shown} at {}", words.pointer(step, value)),
        _ => shown,
    }
}

/// What came back, in words.
pub fn answer(words: &mut Words, step: &Step<'_>, name: &str, result: u64) -> String {
    let row = CALLS.iter().find(|(known, ..)| *known == name);
    match row.map(|(.., answer)| *answer) {
        Some(Answer::Address) if result == 0 => "null".to_owned(),
        Some(Answer::Address) => words.pointer(step, result),
        Some(Answer::Verdict) => Verdict::from_code(result as u32).name().to_owned(),
        Some(Answer::Plain) => number(result),
        Some(Answer::Route) => match ROUTES.get(result as usize) {
            Some(words) => (*words).to_owned(),
            None => errno(result).unwrap_or_else(|| number(result)),
        },
        Some(Answer::Status) | None => errno(result).unwrap_or_else(|| words.pointer(step, result)),
    }
}

/// `BPF_FIB_LKUP_RET_*` by their numbers.
const ROUTES: &[&str] = &[
    "success",
    "blackhole",
    "unreachable",
    "prohibit",
    "not forwarded",
    "forwarding disabled",
    "unsupported tunnel",
    "no neighbour",
    "fragmentation needed",
    "no source address",
];

type Row = (&'static str, &'static [Argument], Answer);

const CALLS: &[Row] = &[
    ("bpf_map_lookup_elem", &[Map, Key], Answer::Address),
    ("bpf_map_lookup_percpu_elem", &[Map, Key, Number], Answer::Address),
    ("bpf_map_update_elem", &[Map, Key, Value, Flags], Answer::Status),
    ("bpf_map_delete_elem", &[Map, Key], Answer::Status),
    ("bpf_map_push_elem", &[Map, Value, Flags], Answer::Status),
    ("bpf_map_pop_elem", &[Map, Pointer], Answer::Status),
    ("bpf_map_peek_elem", &[Map, Pointer], Answer::Status),
    ("bpf_for_each_map_elem", &[Map, Pointer, Pointer, Flags], Answer::Status),
    ("bpf_tail_call", &[Context, Map, Number], Answer::Status),
    ("bpf_redirect", &[Number, Flags], Answer::Verdict),
    ("bpf_redirect_map", &[Map, Number, Flags], Answer::Verdict),
    ("bpf_xdp_adjust_head", &[Context, Delta], Answer::Status),
    ("bpf_xdp_adjust_tail", &[Context, Delta], Answer::Status),
    ("bpf_xdp_adjust_meta", &[Context, Delta], Answer::Status),
    ("bpf_xdp_get_buff_len", &[Context], Answer::Plain),
    ("bpf_xdp_load_bytes", &[Context, Number, Pointer, Number], Answer::Status),
    ("bpf_xdp_store_bytes", &[Context, Number, Pointer, Number], Answer::Status),
    ("bpf_fib_lookup", &[Context, Pointer, Number, Flags], Answer::Route),
    ("bpf_check_mtu", &[Context, Number, Pointer, Delta, Flags], Answer::Status),
    ("bpf_csum_diff", &[Pointer, Number, Pointer, Number, Number], Answer::Status),
    ("bpf_ktime_get_ns", &[], Answer::Plain),
    ("bpf_ktime_get_boot_ns", &[], Answer::Plain),
    ("bpf_ktime_get_coarse_ns", &[], Answer::Plain),
    ("bpf_ktime_get_tai_ns", &[], Answer::Plain),
    ("bpf_jiffies64", &[], Answer::Plain),
    ("bpf_get_prandom_u32", &[], Answer::Plain),
    ("bpf_get_smp_processor_id", &[], Answer::Plain),
    ("bpf_get_numa_node_id", &[], Answer::Plain),
    ("bpf_perf_event_output", &[Context, Map, Flags, Pointer, Number], Answer::Status),
    ("bpf_ringbuf_output", &[Map, Pointer, Number, Flags], Answer::Status),
    ("bpf_ringbuf_reserve", &[Map, Number, Flags], Answer::Address),
    ("bpf_ringbuf_submit", &[Pointer, Flags], Answer::Plain),
    ("bpf_ringbuf_discard", &[Pointer, Flags], Answer::Plain),
    ("bpf_loop", &[Number, Pointer, Pointer, Flags], Answer::Status),
    ("bpf_spin_lock", &[Pointer], Answer::Plain),
    ("bpf_spin_unlock", &[Pointer], Answer::Plain),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_name_helpers_that_there_are() {
        for (name, kinds, _) in CALLS {
            assert!(Helper::named(name).is_some(), "{name}");
            assert!(kinds.len() <= 5, "{name}");
        }
    }
}
