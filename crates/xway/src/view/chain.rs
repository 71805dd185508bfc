//! Text of `chain`.

use control::chain::{ChainReport, MemberReport};
use report::table::{Column, Table};

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

impl View for ChainReport {
    fn text(&self, _paint: Paint) -> String {
        let (Some(mode), Some(id)) = (self.mode, self.program_id) else {
            return format!("{}: no program runs", self.interface);
        };
        let mut head = format!("{}: {} in {mode} mode, program {id}", self.interface, self.form);
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
        };
        let report = ChainReport {
            interface: "eth1".to_owned(),
            mode: Some("native"),
            program_id: Some(7),
            form: "tail-calls",
            reason: Some("licenses differ".to_owned()),
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
}
