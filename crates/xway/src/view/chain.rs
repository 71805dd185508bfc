//! Text of `chain`.

use control::chain::{ChainReport, MemberReport};
use report::table::{Column, Table};
use report::text;

use super::{Paint, View};

fn row(number: usize, member: &MemberReport) -> Vec<String> {
    let count = |count: Option<u64>| count.map_or_else(|| "-".to_owned(), |one| one.to_string());
    let verdicts = member.verdicts.iter().filter(|(_, packets)| **packets > 0);
    let verdicts: Vec<_> = verdicts.map(|(name, packets)| format!("{name} {packets}")).collect();
    vec![
        (number + 1).to_string(),
        member.name.clone(),
        member.priority.to_string(),
        member.continue_on.join(" "),
        count(member.packets),
        member.ns.map_or_else(|| "-".to_owned(), |ns| format!("{ns:.1}")),
        verdicts.join(", "),
    ]
}

/// A member of libxdp's dispatcher.
fn dispatched_row(number: usize, member: &MemberReport) -> Vec<String> {
    let own = member.own.as_ref();
    let id = own.and_then(|own| own.id).map(|id| id.to_string());
    let tag = own.and_then(|own| own.tag.clone());
    vec![
        (number + 1).to_string(),
        member.name.clone(),
        member.priority.to_string(),
        member.continue_on.join(" "),
        id.unwrap_or_else(|| "none attached".to_owned()),
        tag.unwrap_or_else(|| "-".to_owned()),
        own.map_or_else(String::new, |own| directories(&own.pins)),
    ]
}

/// The directories of pins; libxdp has one for all of a dispatcher.
fn directories(pins: &[String]) -> String {
    let parents = pins.iter().filter_map(|pin| Some(pin.rsplit_once('/')?.0));
    let mut all: Vec<_> = parents.map(text::line).collect();
    all.dedup();
    all.join(" ")
}

/// The members of libxdp's dispatcher, below a heading.
fn dispatcher_text(report: &ChainReport, head: &str, version: u8) -> String {
    let interface = &report.interface;
    let mut text = format!(
        "{head}\nthe dispatcher (version {version}) belongs to libxdp and not to xway\n\
         `xway chain {interface} adopt OBJECT…` moves its members to a chain of xway\n\
         `xdp-loader unload {interface} --all` ends them\n"
    );
    if let Some(reason) = &report.reason {
        text += &format!("members cannot be read: {reason}\n");
    }
    let mut table = Table::new([
        Column::number(""),
        Column::text("member"),
        Column::number("priority"),
        Column::text("continues on"),
        Column::number("program"),
        Column::text("tag"),
        Column::text("pinned"),
    ]);
    for (number, member) in report.members.iter().enumerate() {
        table.row(dispatched_row(number, member));
    }
    text + &table.to_string()
}

impl View for ChainReport {
    fn text(&self, _paint: Paint) -> String {
        let (Some(mode), Some(id)) = (self.mode, self.program_id) else {
            return format!("{}: no program runs", self.interface);
        };
        let mut head = format!("{}: {} in {mode} mode, program {id}", self.interface, self.form);
        if let Some(version) = self.dispatcher_version {
            return dispatcher_text(self, &head, version);
        }
        if let Some(reason) = &self.reason {
            head += &format!("\nnot composed: {reason}");
        }
        let mut table = Table::new([
            Column::number(""),
            Column::text("member"),
            Column::number("priority"),
            Column::text("continues on"),
            Column::number("packets"),
            Column::number("ns"),
            Column::text("verdicts"),
        ]);
        for (number, member) in self.members.iter().enumerate() {
            table.row(row(number, member));
        }
        format!("{head}\n{table}")
    }
}

#[cfg(test)]
mod tests {
    use control::chain::OwnProgram;

    use super::*;

    const PLAIN: Paint = Paint { colour: false };

    #[test]
    fn members_are_rows() {
        let member = |name: &str, packets| MemberReport {
            name: name.to_owned(),
            program: name.to_owned(),
            priority: 300,
            continue_on: vec!["pass".to_owned(), "tx".to_owned()],
            packets,
            bytes: packets,
            verdicts: [("drop", 2), ("pass", 0)].into(),
            ns: packets.map(|_| 12.34),
            own: None,
        };
        let report = ChainReport {
            interface: "eth1".to_owned(),
            mode: Some("native"),
            program_id: Some(7),
            form: "tail-calls",
            reason: Some("licenses differ".to_owned()),
            dispatcher_version: None,
            members: vec![member("a", Some(2)), member("b", None)],
        };
        let text = report.text(PLAIN);
        for part in [
            "eth1: tail-calls in native mode, program 7\nnot composed: licenses differ",
            "pass tx",
            "12.3",
            "drop 2",
        ] {
            assert!(text.contains(part), "{text}");
        }
        let empty = ChainReport { mode: None, program_id: None, ..report };
        assert_eq!(empty.text(PLAIN), "eth1: no program runs");
    }

    #[test]
    fn members_of_libxdp_are_marked() {
        let own = |id: Option<u32>| OwnProgram {
            id,
            tag: id.map(|_| "00ff".to_owned()),
            pins: vec!["/sys/fs/bpf/xdp/dispatch-2-7/prog0-prog".to_owned()],
        };
        let member = |name: &str, id| MemberReport {
            name: name.to_owned(),
            program: name.to_owned(),
            priority: 50,
            continue_on: vec!["pass".to_owned()],
            packets: None,
            bytes: None,
            verdicts: [].into(),
            ns: None,
            own: Some(own(id)),
        };
        let report = ChainReport {
            interface: "eth1".to_owned(),
            mode: Some("native"),
            program_id: Some(7),
            form: "libxdp",
            reason: None,
            dispatcher_version: Some(2),
            members: vec![member("count", Some(9)), member("prog1", None)],
        };
        let text = report.text(PLAIN);
        for part in
            ["belongs to libxdp", "chain eth1 adopt", "00ff", "none attached", "dispatch-2-7\n"]
        {
            assert!(text.contains(part), "{text}");
        }
    }
}
