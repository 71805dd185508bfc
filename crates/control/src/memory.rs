//! `Memory`: kernel memory of maps, in total and by map.

use serde::Serialize;

/// Memory of all maps that a program needs and that do not exist yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// Sum of all maps, in bytes.
    pub bytes: u64,
    /// Sorted by size, the largest first.
    pub maps: Vec<MapMemory>,
}

/// Memory of one map.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MapMemory {
    pub name: String,
    pub bytes: u64,
}

impl Memory {
    pub(crate) fn of(mut maps: Vec<MapMemory>) -> Self {
        maps.sort_by_key(|map| std::cmp::Reverse(map.bytes));
        Self { bytes: maps.iter().map(|map| map.bytes).sum(), maps }
    }

    /// One line such as `1.3 MiB in 24 maps: filter_data 1.1 MiB, filter_lines 128 KiB, …`.
    pub fn text(&self) -> String {
        let shown = self.maps.iter().take(SHOWN);
        let mut shown: Vec<_> =
            shown.map(|map| format!("{} {}", map.name, amount(map.bytes))).collect();
        if self.maps.len() > SHOWN {
            shown.push("…".to_owned());
        }
        format!("{} in {} maps: {}", amount(self.bytes), self.maps.len(), shown.join(", "))
    }
}

/// An amount of memory with its unit.
pub fn amount(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        0x400..0x10_0000 => format!("{:.0} KiB", bytes as f64 / 1024.0),
        0x10_0000.. => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

/// Maps that a text names.
const SHOWN: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_maps_come_first() {
        let map = |name: &str, bytes| MapMemory { name: name.into(), bytes };
        let maps = vec![map("a", 100), map("b", 3 << 20), map("c", 2048), map("d", 1)];
        let memory = Memory::of(maps);
        assert_eq!(memory.bytes, (3 << 20) + 2149);
        assert_eq!(memory.text(), "3.0 MiB in 4 maps: b 3.0 MiB, c 2 KiB, a 100 B, …");
        let json = serde_json::to_value(&memory).unwrap();
        assert_eq!(json["maps"][0]["name"], "b");
        assert_eq!(Memory::of(Vec::new()).text(), "0 B in 0 maps: ");
    }
}
