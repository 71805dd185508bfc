//! Text of `map`: the list, one map in full, its entries, a change.

use control::assignment::{AssignReport, AssignedEntry};
use control::inventory::{Content, Entries, Found, Map, MapRef, MapReport, Maps};
use control::maps::{Changed, Outcome, Pinned};
use report::Table;
use report::number::human;
use report::table::Column;

use super::prog::process_text;
use super::{Paint, View};

impl View for Maps {
    fn text(&self, _paint: Paint) -> String {
        if self.maps.is_empty() {
            return "there are no maps".to_owned();
        }
        let mut table = Table::new([
            Column::number("id"),
            Column::text("type"),
            Column::text("name"),
            Column::number("key"),
            Column::number("value"),
            Column::number("entries"),
            Column::text("flags"),
            Column::number("locked"),
            Column::text("used by"),
        ]);
        for map in &self.maps {
            table.row(row(map));
        }
        table.to_string()
    }
}

fn row(map: &Map) -> [String; 9] {
    let MapRef { id, kind, name } = &map.reference;
    [
        id.to_string(),
        kind.clone(),
        name.clone(),
        format!("{} B", map.key_bytes),
        format!("{} B", map.value_bytes),
        map.max_entries.to_string(),
        flags(map),
        map.memlock_bytes.map_or_else(|| "-".to_owned(), bytes),
        used_by(map),
    ]
}

fn flags(map: &Map) -> String {
    let frozen = if map.frozen { " frozen" } else { "" };
    format!("{:#x}{frozen}", map.flags)
}

/// Programs that use a map, then processes that hold it.
fn used_by(map: &Map) -> String {
    let programs = map.programs.iter().map(|one| format!("{} {}", one.id, one.name));
    let holders = map.holders.iter().map(process_text);
    let all: Vec<_> = programs.chain(holders).collect();
    if all.is_empty() { "-".to_owned() } else { all.join(", ") }
}

impl View for MapReport {
    fn text(&self, paint: Paint) -> String {
        let map = &self.map;
        let ty = |ty: &Option<String>| ty.as_ref().map(|ty| format!(", {ty}")).unwrap_or_default();
        let rows = [
            ("type", map.reference.kind.clone()),
            ("key", format!("{} bytes{}", map.key_bytes, ty(&self.key_type))),
            ("value", format!("{} bytes{}", map.value_bytes, ty(&self.value_type))),
            ("entries", format!("at most {}", map.max_entries)),
            ("flags", flags(map)),
            ("memory locked", map.memlock_bytes.map_or_else(|| "unknown".to_owned(), bytes)),
            ("BTF", map.btf_id.map_or_else(|| "none".to_owned(), |id| id.to_string())),
            ("used by", used_by(map)),
        ];
        let mut text = heading(&map.reference, paint);
        for (name, value) in rows {
            text.push_str(&format!("  {name:<14}{value}\n"));
        }
        if let Some(kind) = &map.owner_type {
            text.push_str(&format!("  {:<14}{kind}\n", "programs"));
        }
        for pin in &map.pins {
            text.push_str(&format!("  {:<14}{pin}\n", "pinned"));
        }
        text
    }
}

impl View for Entries {
    fn text(&self, paint: Paint) -> String {
        let mut text = heading(&self.map, paint);
        for entry in &self.entries {
            text.push_str(&format!(
                "{}{}\n",
                paint.bold(&entry.key.to_string()),
                content_text(&entry.content)
            ));
        }
        match self.entries.len() {
            1 => text.push_str("1 entry\n"),
            count => text.push_str(&format!("{count} entries\n")),
        }
        text
    }
}

/// The value or values of an entry, from directly after the key.
fn content_text(content: &Content) -> String {
    match content {
        Content::One { value } => format!(": {value}"),
        Content::PerCpu { cpus, sum } => {
            let sum = sum.as_ref().map(|sum| format!(" {sum}")).unwrap_or_default();
            let each = cpus.iter().enumerate();
            let each = each.map(|(cpu, value)| format!("\n  cpu {cpu}: {value}"));
            format!(":{sum}{}", each.collect::<String>())
        }
    }
}

impl View for Found {
    fn text(&self, _paint: Paint) -> String {
        match &self.content {
            Some(content) => format!("{}{}", self.key, content_text(content)),
            None => format!("{} has no entry {}", name(&self.map), self.key),
        }
    }
}

impl View for Changed {
    fn text(&self, _paint: Paint) -> String {
        let (map, key) = (name(&self.map), &self.key);
        match self.outcome {
            Outcome::Set => format!("set {key} in {map}"),
            Outcome::Deleted => format!("deleted {key} from {map}"),
            Outcome::Absent => format!("{map} has no entry {key}: nothing was changed"),
            Outcome::Present => format!("{map} has an entry {key} already: nothing was changed"),
        }
    }
}

impl View for AssignReport {
    fn text(&self, paint: Paint) -> String {
        let line = |entry: &AssignedEntry| match entry.outcome {
            Outcome::Absent => format!("{}: absent, so it was not set", entry.key),
            Outcome::Present => format!("{}: present before, so it was not set", entry.key),
            _ => format!("{}{}", entry.key, content_text(&entry.content)),
        };
        let lines = self.entries.iter().map(|entry| format!("{}\n", line(entry)));
        heading(&self.map, paint) + &lines.collect::<String>()
    }
}

impl View for Pinned {
    fn text(&self, _paint: Paint) -> String {
        format!("pinned {} at {}", name(&self.map), self.path)
    }
}

/// `map 12 counters`, as sentences call it.
pub fn name(map: &MapRef) -> String {
    format!("map {} {}", map.id, map.name).trim_end().to_owned()
}

fn heading(map: &MapRef, paint: Paint) -> String {
    format!("{} {} ({})\n", paint.bold(&format!("map {}", map.id)), map.name, map.kind)
}

fn bytes(count: u64) -> String {
    human(count as f64, "B")
}

#[cfg(test)]
mod tests {
    use control::inventory::{Entry, Tree};

    use super::*;

    const PLAIN: Paint = Paint { colour: false };

    fn reference() -> MapRef {
        MapRef { id: 12, kind: "percpu_array".into(), name: "stats".into() }
    }

    #[test]
    fn per_cpu_values_follow_their_sum() {
        let count = |count| Tree::Record(vec![("packets".into(), Tree::Int(count))]);
        let cpus = vec![count(1), count(2)];
        let sum = Tree::sum(&cpus);
        let entry = Entry { key: Tree::Int(0), content: Content::PerCpu { cpus, sum } };
        let entries = Entries { map: reference(), entries: vec![entry] };
        let want = "map 12 stats (percpu_array)\n0: {packets: 3}\n  cpu 0: {packets: 1}\n  \
                    cpu 1: {packets: 2}\n1 entry\n";
        assert_eq!(entries.text(PLAIN), want);
        let json = serde_json::to_value(&entries).unwrap();
        assert_eq!(json["entries"][0]["sum"]["packets"], 3);
        assert_eq!(json["entries"][0]["cpus"][1]["packets"], 2);
        assert_eq!(json["map"]["type"], "percpu_array");
    }

    #[test]
    fn absence_is_an_answer() {
        let found = Found { map: reference(), found: false, key: Tree::Int(9), content: None };
        assert_eq!(found.text(PLAIN), "map 12 stats has no entry 9");
        let json = serde_json::to_value(&found).unwrap();
        assert_eq!(json["found"], false);
        assert!(json.get("value").is_none());
        let key = Tree::Int(9);
        let changed = Changed { map: reference(), key, done: false, outcome: Outcome::Absent };
        assert!(changed.text(PLAIN).ends_with("nothing was changed"));
        assert_eq!(serde_json::to_value(&changed).unwrap()["done"], false);
    }
}
