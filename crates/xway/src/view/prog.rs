//! Text of `prog`: the list, one program in full, its code.

use control::hits::{HitMember, HitReport};
use control::inventory::listing::{Form, Function, Listing, ObjectListing};
use control::inventory::{Attachment, Process, Program, ProgramRef, ProgramReport, Programs, Runs};
use kernel::Source;
use report::number::human;
use report::table::Column;
use report::{Table, text};

use super::{Paint, View};

impl View for Programs {
    fn text(&self, _paint: Paint) -> String {
        if self.programs.is_empty() {
            return "no programs are loaded".to_owned();
        }
        let mut table = Table::new([
            Column::number("id"),
            Column::text("type"),
            Column::text("name"),
            Column::text("tag"),
            Column::text("loaded (UTC)"),
            Column::number("xlated"),
            Column::number("jited"),
            Column::number("locked"),
            Column::text("maps"),
            Column::text("runs"),
            Column::text("held by"),
        ]);
        for program in &self.programs {
            table.row(row(program));
        }
        table.to_string()
    }
}

fn row(program: &Program) -> [String; 11] {
    let ProgramRef { id, kind, name, tag } = &program.reference;
    let ids: Vec<_> = program.maps.iter().map(|map| map.id.to_string()).collect();
    [
        id.to_string(),
        kind.clone(),
        name.clone(),
        tag.clone(),
        program.loaded_at.replace('T', " ").replace('Z', ""),
        bytes(u64::from(program.xlated_bytes)),
        bytes(u64::from(program.jited_bytes)),
        program.memlock_bytes.map_or_else(|| "-".to_owned(), bytes),
        or_dash(ids.join(",")),
        program.runs.as_ref().map_or_else(|| "-".to_owned(), runs_text),
        or_dash(held_by(program).join(", ")),
    ]
}

/// Attachments, then processes.
fn held_by(program: &Program) -> Vec<String> {
    let attachments = program.attached.iter().map(attachment_text);
    let holders = program.holders.iter().map(process_text);
    attachments.chain(holders).collect()
}

fn facts(program: &Program) -> Vec<(&'static str, String)> {
    let maps: Vec<_> = program.maps.iter().map(|map| format!("{} {}", map.id, map.name)).collect();
    let license = if program.gpl_compatible { "GPL-compatible" } else { "not GPL-compatible" };
    let number = |number: Option<u32>| number.map(|number| number.to_string());
    let rows = [
        ("type", Some(program.reference.kind.clone())),
        ("tag", Some(program.reference.tag.clone())),
        ("loaded", Some(format!("{} by uid {}", program.loaded_at, program.uid))),
        ("license", Some(license.to_owned())),
        ("translated", Some(bytes(u64::from(program.xlated_bytes)))),
        ("machine code", Some(bytes(u64::from(program.jited_bytes)))),
        ("memory locked", program.memlock_bytes.map(bytes)),
        ("verified", program.verified_insns.map(|insns| format!("{insns} instructions"))),
        ("BTF", number(program.btf_id)),
        ("bound to", number(program.bound_to).map(|index| format!("interface {index}"))),
        ("maps", some(maps.join(", "))),
        ("runs", program.runs.as_ref().map(runs_text)),
    ];
    rows.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

impl View for ProgramReport {
    fn text(&self, paint: Paint) -> String {
        let program = &self.program;
        let mut text = heading(&program.reference, paint);
        for (name, value) in facts(program) {
            text.push_str(&format!("  {name:<14}{value}\n"));
        }
        for attachment in &program.attached {
            text.push_str(&format!("  {:<14}{}\n", "attached", attachment_text(attachment)));
            for pin in &attachment.link_pins {
                text.push_str(&format!("  {:<14}{pin}\n", "link pinned"));
            }
        }
        for holder in &program.holders {
            text.push_str(&format!("  {:<14}{}\n", "held by", process_text(holder)));
        }
        for pin in &program.pins {
            text.push_str(&format!("  {:<14}{pin}\n", "pinned"));
        }
        text
    }
}

fn runs_text(runs: &Runs) -> String {
    let mean = runs.time_ns as f64 / runs.count.max(1) as f64;
    format!("{} ({} each)", runs.count, human(mean, "ns"))
}

/// `eth0 native (link 3)`, `prog0 of program 9 (link 3)`, `xdp on interface 5 of another namespace
/// (link 4)`.
fn attachment_text(attachment: &Attachment) -> String {
    let Attachment { kind, interface, ifindex, mode, link_id, .. } = attachment;
    let link = link_id.map(|id| format!(" (link {id})")).unwrap_or_default();
    if let (Some(program), Some(function)) = (attachment.program_id, &attachment.function) {
        return format!("{function} of program {program}{link}");
    }
    match (interface, ifindex) {
        (Some(name), _) => format!("{name} {}{link}", mode.as_deref().unwrap_or(kind)),
        (None, Some(index)) => format!("{kind} on interface {index} of another namespace{link}"),
        (None, None) => format!("{kind}{link}"),
    }
}

pub fn process_text(process: &Process) -> String {
    format!("{} ({})", process.command, process.pid)
}

impl View for Listing {
    fn text(&self, paint: Paint) -> String {
        let mut text = heading(&self.program, paint);
        for function in &self.functions {
            draw(function, self.form, paint, &mut text);
        }
        text
    }
}

impl View for ObjectListing {
    fn text(&self, paint: Paint) -> String {
        let mut text = String::new();
        for program in &self.programs {
            let section = text::line(&program.section);
            let name = paint.bold(&format!("program {}", text::line(&program.name)));
            text.push_str(&format!("{name} ({section})\n"));
            for function in &program.functions {
                draw(function, Form::Translated, paint, &mut text);
            }
        }
        if self.programs.is_empty() {
            text.push_str("the object has no programs\n");
        }
        text
    }
}

impl View for HitReport {
    fn text(&self, paint: Paint) -> String {
        let mut text = format!("{}: runs in {:.1} s\n", text::line(&self.interface), self.seconds);
        for HitMember { member, code } in &self.members {
            let name = paint.bold(&format!("member {}", text::line(member)));
            text.push_str(&format!("\n{name}: program {}\n", text::line(&code.name)));
            for function in &code.functions {
                draw(function, Form::Translated, paint, &mut text);
            }
        }
        text
    }
}

/// The runs of an instruction, if the listing has them.
fn hits_text(function: &Function, hits: Option<u64>) -> String {
    let is_counted = function.instructions.iter().any(|one| one.hits.is_some());
    match hits {
        _ if !is_counted => String::new(),
        Some(0) => format!("{:>12} ", "-"),
        Some(hits) => format!("{hits:>12} "),
        None => format!("{:>12} ", "?"),
    }
}

fn draw(function: &Function, form: Form, paint: Paint, text: &mut String) {
    let address = function.address.as_ref().map(|at| format!(" {at}")).unwrap_or_default();
    text.push_str(&format!("\n{}:{address}\n", paint.bold(&function.name)));
    let mut shown = None;
    for instruction in &function.instructions {
        let source = instruction.source.as_ref().filter(|source| !source.text.is_empty());
        if source.is_some() && source != shown {
            let line = source.map(source_comment).unwrap_or_default();
            text.push_str(&format!("{}\n", paint.dim(&line)));
            shown = source;
        }
        let at = match form {
            Form::Translated => format!("{:4}", instruction.at),
            Form::Jited => format!("{:4x}", instruction.at),
        };
        let hits = hits_text(function, instruction.hits);
        text.push_str(&format!("{hits}{at}: {}\n", text::line(&instruction.text)));
    }
}

/// `dir/file.c:12: text`, or the text alone.
pub fn source_place(source: &Source) -> String {
    match source.line {
        0 => source.text.clone(),
        line => format!("{}:{line}: {}", source.file, source.text),
    }
}

/// A source line as the verifier writes it: `; text @ file.c:12`.
fn source_comment(source: &Source) -> String {
    let base = source.file.rsplit('/').next().unwrap_or_default();
    match base {
        "" => format!("; {}", source.text),
        _ => format!("; {} @ {base}:{}", source.text, source.line),
    }
}

/// The heading of an answer about one program: `program 17 drop`.
fn heading(program: &ProgramRef, paint: Paint) -> String {
    format!("{} {}\n", paint.bold(&format!("program {}", program.id)), text::line(&program.name))
}

fn bytes(count: u64) -> String {
    human(count as f64, "B")
}

fn or_dash(text: String) -> String {
    some(text).unwrap_or_else(|| "-".to_owned())
}

fn some(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use control::inventory::MapName;
    use control::inventory::listing::Instruction;

    use super::*;

    const PLAIN: Paint = Paint { colour: false };

    fn program() -> Program {
        Program {
            reference: ProgramRef {
                id: 17,
                kind: "xdp".into(),
                name: "drop".into(),
                tag: "00ff".into(),
            },
            loaded_at: "2026-11-21T22:40:48Z".into(),
            uid: 0,
            gpl_compatible: true,
            xlated_bytes: 800,
            jited_bytes: 480,
            memlock_bytes: Some(4096),
            verified_insns: None,
            btf_id: None,
            bound_to: None,
            maps: vec![MapName { id: 3, name: "stats".into() }],
            runs: Some(Runs { count: 4, time_ns: 200, missed: 0 }),
            attached: vec![Attachment {
                kind: "xdp".into(),
                interface: Some("eth0".into()),
                ifindex: Some(2),
                mode: Some("native".into()),
                link_id: Some(5),
                program_id: None,
                function: None,
                link_pins: Vec::new(),
            }],
            holders: vec![Process { pid: 7, command: "xway".into() }],
            pins: vec!["/sys/fs/bpf/drop".into()],
        }
    }

    #[test]
    fn a_row_says_who_keeps_it_alive() {
        let text = Programs { programs: vec![program()] }.text(PLAIN);
        let row = text.lines().nth(2).unwrap();
        for part in ["17", "drop", "4.10 kB", "4 (50 ns each)", "eth0 native (link 5), xway (7)"] {
            assert!(row.contains(part), "{part} in {row}");
        }
        assert_eq!(Programs { programs: vec![] }.text(PLAIN), "no programs are loaded");
    }

    #[test]
    fn a_replaced_function_is_named() {
        let mut program = program();
        let (interface, ifindex, function) = (None, None, Some("prog0".into()));
        let first = program.attached.remove(0);
        let replaced = Attachment { program_id: Some(9), function, interface, ifindex, ..first };
        assert_eq!(attachment_text(&replaced), "prog0 of program 9 (link 5)");
    }

    #[test]
    fn what_is_unknown_is_left_out() {
        let text = ProgramReport { program: program() }.text(PLAIN);
        assert!(text.starts_with("program 17 drop\n"), "{text}");
        assert!(!text.contains("verified") && !text.contains("BTF"), "{text}");
        assert!(text.contains("  attached      eth0 native (link 5)\n"), "{text}");
    }

    #[test]
    fn a_source_line_is_shown_once() {
        let source = Some(Source { file: "a/x.c".into(), line: 7, text: "return 1;".into() });
        let step = |at| Instruction {
            at,
            bytes: String::new(),
            text: "exit".into(),
            source: source.clone(),
            hits: None,
        };
        let function =
            Function { name: "drop".into(), address: None, instructions: vec![step(0), step(1)] };
        let listing = Listing {
            program: program().reference,
            form: Form::Translated,
            functions: vec![function],
        };
        let want = "program 17 drop\n\ndrop:\n; return 1; @ x.c:7\n   0: exit\n   1: exit\n";
        assert_eq!(listing.text(PLAIN), want);
    }
}
