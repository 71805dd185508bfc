//! Built-in chains of `iptables-legacy` and `ip6tables-legacy`, in the form of nftables' chains.
//!
//! Rule: no table is created by reading: only those are read that the kernel lists. Not here: what
//! rules match.

use std::fs;
use std::io::ErrorKind;
use std::iter;

use super::hook::{BaseChain, Hook};
use super::iptables::{HOOK_ENTRY, Iptables, SIZE, VALID_HOOKS};
use crate::error::{Error, Result};

/// All built-in chains of the calling thread's namespace, as [`base_chains`](super::base_chains())
/// returns them.
pub(super) fn legacy_chains() -> Result<Vec<BaseChain>> {
    let all = |table: &LegacyTable| {
        let LegacyTable { name, layout, info, entries } = table;
        (0..HOOKS).filter_map(|hook| chain(name, layout, hook, info, entries)).collect::<Vec<_>>()
    };
    Ok(legacy_tables()?.iter().flat_map(all).collect())
}

/// A table as the kernel lists it.
pub(super) struct LegacyTable {
    pub name: String,
    pub layout: &'static Layout,
    /// `struct ipt_getinfo`.
    info: Vec<u8>,
    entries: Vec<u8>,
}

impl LegacyTable {
    /// `struct xt_entry_target` of each entry, and what follows it.
    pub fn targets(&self) -> impl Iterator<Item = &[u8]> {
        let mut at = 0;
        iter::from_fn(move || {
            let length = usize::from(half(&self.entries, at + self.layout.next)?);
            let target = usize::from(half(&self.entries, at + self.layout.target)?);
            let entry = self.entries.get(at..at + length).filter(|entry| !entry.is_empty())?;
            at += length;
            Some(entry.get(target..).unwrap_or_default())
        })
    }
}

/// All tables that the kernel lists.
pub(super) fn legacy_tables() -> Result<Vec<LegacyTable>> {
    let mut tables = Vec::new();
    for (is_ipv6, file) in [(false, "ip_tables_names"), (true, "ip6_tables_names")] {
        let path = format!("/proc/thread-self/net/{file}");
        let text = match fs::read_to_string(&path) {
            Ok(text) if !text.is_empty() => text,
            Ok(_) => continue,
            Err(error) if NONE.contains(&error.kind()) => continue,
            Err(error) => return Err(Error::from_io("read", &path, &error)),
        };
        let socket = Iptables::of(is_ipv6)?;
        for table in text.lines() {
            let info = socket.info(table)?;
            let entries = socket.entries(table, word(&info, SIZE).unwrap_or(0) as usize)?;
            let layout = if is_ipv6 { &IPV6 } else { &IPV4 };
            tables.push(LegacyTable { name: table.to_owned(), layout, info, entries });
        }
    }
    Ok(tables)
}

/// Places in `struct ipt_entry` or `struct ip6t_entry`.
pub(super) struct Layout {
    pub family: &'static str,
    target: usize,
    next: usize,
}

static IPV4: Layout = Layout { family: "iptables", target: 88, next: 90 };
static IPV6: Layout = Layout { family: "ip6tables", target: 140, next: 142 };

/// The chain at a hook, which ends with the entry of its policy.
fn chain(
    table: &str,
    layout: &Layout,
    number: usize,
    info: &[u8],
    entries: &[u8],
) -> Option<BaseChain> {
    (word(info, VALID_HOOKS)? & 1 << number != 0).then_some(())?;
    let hook = Hook::from_number(number as u32)?;
    let mut at = word(info, HOOK_ENTRY + 4 * number)? as usize;
    let policy = word(info, UNDERFLOW + 4 * number)? as usize;
    let mut rules = 0;
    while at < policy {
        let length = half(entries, at + layout.next)?;
        (length > 0).then_some(())?;
        at += usize::from(length);
        rules += 1;
    }
    let target = policy + usize::from(half(entries, policy + layout.target)?);
    Some(BaseChain {
        family: layout.family,
        table: table.to_owned(),
        name: hook.name().to_uppercase(),
        kind: if table == "nat" { "nat" } else { "filter" }.to_owned(),
        hook,
        priority: priority(table, hook),
        drops: word(entries, target + TARGET)?.cast_signed() == DROP,
        rules,
    })
}

/// Priorities of `include/uapi/linux/netfilter_ipv4.h`.
fn priority(table: &str, hook: Hook) -> i32 {
    match table {
        "raw" => -300,
        "mangle" => -150,
        "nat" if matches!(hook, Hook::Prerouting | Hook::Output) => -100,
        "nat" => 100,
        "security" => 50,
        _ => 0,
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

const NONE: [ErrorKind; 2] = [ErrorKind::NotFound, ErrorKind::PermissionDenied];
const HOOKS: usize = 5;
/// Where `struct ipt_getinfo` has the offsets of the policies.
const UNDERFLOW: usize = 56;
/// `struct xt_entry_target`, after which a standard target has its verdict.
const TARGET: usize = 32;
/// `-NF_DROP - 1`.
const DROP: i32 = -1;

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(layout: &Layout, verdict: i32) -> Vec<u8> {
        let head = layout.target + 24;
        let mut bytes = vec![0; head + TARGET + 8];
        let length = bytes.len() as u16;
        bytes[layout.target..layout.target + 2].copy_from_slice(&(head as u16).to_ne_bytes());
        bytes[layout.next..layout.next + 2].copy_from_slice(&length.to_ne_bytes());
        bytes[head + TARGET..head + TARGET + 4].copy_from_slice(&verdict.to_ne_bytes());
        bytes
    }

    #[test]
    fn rules_end_at_the_policy() {
        for layout in [&IPV4, &IPV6] {
            let entries = [-2, -2, DROP].map(|verdict| entry(layout, verdict)).concat();
            let mut info = vec![0; 84];
            let size = entries.len() / 3;
            for (at, word) in [(VALID_HOOKS, 0b100), (UNDERFLOW + 8, 2 * size as u32)] {
                info[at..at + 4].copy_from_slice(&word.to_ne_bytes());
            }
            let found = chain("filter", layout, 2, &info, &entries).unwrap();
            assert_eq!((found.rules, found.drops, &*found.name), (2, true, "FORWARD"));
            assert_eq!(
                (found.family, found.hook, found.priority),
                (layout.family, Hook::Forward, 0)
            );
            assert_eq!(chain("filter", layout, 1, &info, &entries), None, "no such hook");
            assert_eq!(chain("filter", layout, 2, &info, &entries[..size]), None, "cut");
            assert_eq!(chain("filter", layout, 2, &info, &vec![0; 3 * size]), None, "no length");
        }
    }
}
