//! Names of kernel addresses, read from `/proc/kallsyms` for the addresses asked for.
//!
//! Rule: hidden addresses (`kernel.kptr_restrict`) leave everything nameless, never wrongly named.

use std::collections::{HashMap, HashSet};

/// Addresses and what lies there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Symbols {
    names: HashMap<u64, String>,
}

impl Symbols {
    /// Reads the kernel's table, once; empty when it cannot be read.
    pub fn of(wanted: &HashSet<u64>) -> Self {
        if wanted.is_empty() {
            return Self::default();
        }
        Self::parse(&sys::proc::kallsyms().unwrap_or_default(), wanted)
    }

    pub fn parse(kallsyms: &str, wanted: &HashSet<u64>) -> Self {
        let known = entries(kallsyms).filter(|(address, _)| wanted.contains(address));
        let mut names = HashMap::new();
        for (address, name) in known {
            names.entry(address).or_insert_with(|| name.to_owned());
        }
        Self { names }
    }

    pub fn name(&self, address: u64) -> Option<&str> {
        self.names.get(&address).map(String::as_str)
    }
}

/// Where `name` lies; `None` when it is unknown or hidden.
pub fn address_of(kallsyms: &str, name: &str) -> Option<u64> {
    entries(kallsyms).find(|(_, found)| *found == name).map(|(address, _)| address)
}

fn entries(kallsyms: &str) -> impl Iterator<Item = (u64, &str)> {
    kallsyms.lines().filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let address = u64::from_str_radix(words.next()?, 16).ok().filter(|at| *at != 0)?;
        let _kind = words.next()?;
        Some((address, words.next()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_asked_for_and_is_shown() {
        let table = "ffffffff81000000 T _text\nffffffff81000010 t helper\t[module]\n\
                     0000000000000000 T hidden\nffffffff81000010 t alias\nbroken\n";
        let wanted = HashSet::from([0xffff_ffff_8100_0010, 0]);
        let symbols = Symbols::parse(table, &wanted);
        assert_eq!(symbols.name(0xffff_ffff_8100_0010), Some("helper"));
        assert_eq!(symbols.name(0), None);
        assert_eq!(symbols.name(0xffff_ffff_8100_0000), None);
        assert_eq!(address_of(table, "_text"), Some(0xffff_ffff_8100_0000));
        assert_eq!(address_of(table, "hidden"), None);
    }
}
