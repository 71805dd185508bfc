//! What a filter's maps take of the kernel's memory.
//!
//! Field names are promised in `docs/json.md`.

use serde::Serialize;

/// Told before anything is loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// Of all maps that are made.
    pub bytes: u64,
    /// The biggest first.
    pub maps: Vec<MapMemory>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MapMemory {
    pub name: String,
    pub bytes: u64,
}

impl Memory {
    pub fn of(mut maps: Vec<MapMemory>) -> Self {
        maps.sort_by_key(|map| std::cmp::Reverse(map.bytes));
        Self { bytes: maps.iter().map(|map| map.bytes).sum(), maps }
    }

    /// `1.3 MiB in 24 maps: filter_data 1.1 MiB, filter_lines 128 KiB, …`
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

/// Bytes for people.
pub fn amount(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        0x400..0x10_0000 => format!("{:.0} KiB", bytes as f64 / 1024.0),
        0x10_0000.. => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

const SHOWN: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_biggest_come_first() {
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
