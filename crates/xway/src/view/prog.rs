//! Programs in the kernel: the list, one in full, its code.
//!
//! Field names are promised in `docs/json.md`.

use report::number::human;
use report::table::Column;
use report::{Table, text};
use serde::Serialize;

use super::{Paint, View};

#[derive(Debug, Serialize)]
pub struct Programs {
    pub programs: Vec<Program>,
}

#[derive(Debug, Serialize)]
pub struct Shown {
    pub program: Program,
}

/// What tells one program from another.
#[derive(Clone, Debug, Serialize)]
pub struct ProgramRef {
    pub id: u32,
    #[serde(rename = "type")]
    pub kind: String,
    pub name: String,
    pub tag: String,
}

#[derive(Debug, Serialize)]
pub struct Program {
    #[serde(flatten)]
    pub reference: ProgramRef,
    pub loaded_at: String,
    pub uid: u32,
    pub gpl_compatible: bool,
    pub xlated_bytes: u32,
    pub jited_bytes: u32,
    pub memlock_bytes: Option<u64>,
    /// Instructions that the verifier walked.
    pub verified_insns: Option<u32>,
    pub btf_id: Option<u32>,
    /// The one interface that it may run on.
    pub bound_to: Option<u32>,
    pub maps: Vec<MapRef>,
    /// Only while the kernel counts runs.
    pub runs: Option<Runs>,
    pub attached: Vec<Place>,
    pub holders: Vec<Holder>,
}

#[derive(Debug, Serialize)]
pub struct MapRef {
    pub id: u32,
    pub name: String,
}

#[derive(Debug, Serialize)]
pub struct Runs {
    pub count: u64,
    pub time_ns: u64,
    pub missed: u64,
}

/// Where a program is attached.
#[derive(Debug, Serialize)]
pub struct Place {
    /// `xdp`, `tcx`, …
    pub kind: String,
    /// Only for interfaces of this network namespace.
    pub interface: Option<String>,
    pub ifindex: Option<u32>,
    pub mode: Option<String>,
    pub link_id: Option<u32>,
}

/// A process that keeps it alive.
#[derive(Debug, Serialize)]
pub struct Holder {
    pub pid: u32,
    pub command: String,
}

/// A program's code.
#[derive(Debug, Serialize)]
pub struct Listing {
    pub program: ProgramRef,
    pub form: Form,
    pub functions: Vec<Function>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    Translated,
    Jited,
}

#[derive(Debug, Serialize)]
pub struct Function {
    pub name: String,
    pub address: Option<String>,
    pub instructions: Vec<Instruction>,
}

#[derive(Debug, Serialize)]
pub struct Instruction {
    /// Slot in the program, or byte in the function's machine code.
    pub at: usize,
    pub bytes: String,
    pub text: String,
    /// The source line that begins here.
    pub source: Option<Source>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Source {
    pub file: String,
    pub line: u32,
    pub text: String,
}

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
            table.row(program.row());
        }
        table.to_string()
    }
}

impl Program {
    fn row(&self) -> [String; 11] {
        let ProgramRef { id, kind, name, tag } = &self.reference;
        let ids: Vec<_> = self.maps.iter().map(|map| map.id.to_string()).collect();
        [
            id.to_string(),
            kind.clone(),
            name.clone(),
            tag.clone(),
            self.loaded_at.replace('T', " ").replace('Z', ""),
            bytes(u64::from(self.xlated_bytes)),
            bytes(u64::from(self.jited_bytes)),
            self.memlock_bytes.map_or_else(|| "-".to_owned(), bytes),
            or_dash(ids.join(",")),
            self.runs.as_ref().map_or_else(|| "-".to_owned(), Runs::text),
            or_dash(self.held_by().join(", ")),
        ]
    }

    /// Attachments, then processes.
    fn held_by(&self) -> Vec<String> {
        let places = self.attached.iter().map(Place::text);
        let holders = self.holders.iter().map(Holder::text);
        places.chain(holders).collect()
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let maps: Vec<_> = self.maps.iter().map(|map| format!("{} {}", map.id, map.name)).collect();
        let license = if self.gpl_compatible { "GPL-compatible" } else { "not GPL-compatible" };
        let number = |number: Option<u32>| number.map(|number| number.to_string());
        let rows = [
            ("type", Some(self.reference.kind.clone())),
            ("tag", Some(self.reference.tag.clone())),
            ("loaded", Some(format!("{} by uid {}", self.loaded_at, self.uid))),
            ("license", Some(license.to_owned())),
            ("translated", Some(bytes(u64::from(self.xlated_bytes)))),
            ("machine code", Some(bytes(u64::from(self.jited_bytes)))),
            ("memory locked", self.memlock_bytes.map(bytes)),
            ("verified", self.verified_insns.map(|insns| format!("{insns} instructions"))),
            ("BTF", number(self.btf_id)),
            ("bound to", number(self.bound_to).map(|index| format!("interface {index}"))),
            ("maps", some(maps.join(", "))),
            ("runs", self.runs.as_ref().map(Runs::text)),
        ];
        rows.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

impl View for Shown {
    fn text(&self, paint: Paint) -> String {
        let program = &self.program;
        let mut text = heading(&program.reference, paint);
        for (name, value) in program.facts() {
            text.push_str(&format!("  {name:<14}{value}\n"));
        }
        for place in &program.attached {
            text.push_str(&format!("  {:<14}{}\n", "attached", place.text()));
        }
        for holder in &program.holders {
            text.push_str(&format!("  {:<14}{}\n", "held by", holder.text()));
        }
        text
    }
}

impl Runs {
    fn text(&self) -> String {
        let mean = self.time_ns as f64 / self.count.max(1) as f64;
        format!("{} ({} each)", self.count, human(mean, "ns"))
    }
}

impl Place {
    /// `eth0 native (link 3)`, `xdp on interface 5 elsewhere (link 4)`.
    fn text(&self) -> String {
        let link = self.link_id.map(|id| format!(" (link {id})")).unwrap_or_default();
        match (&self.interface, self.ifindex) {
            (Some(name), _) => {
                let mode = self.mode.as_deref().unwrap_or(&self.kind);
                format!("{name} {mode}{link}")
            }
            (None, Some(index)) => {
                format!("{} on interface {index} of another namespace{link}", self.kind)
            }
            (None, None) => format!("{}{link}", self.kind),
        }
    }
}

impl Holder {
    pub fn text(&self) -> String {
        format!("{} ({})", self.command, self.pid)
    }
}

impl View for Listing {
    fn text(&self, paint: Paint) -> String {
        let mut text = heading(&self.program, paint);
        for function in &self.functions {
            function.draw(self.form, paint, &mut text);
        }
        text
    }
}

impl Function {
    fn draw(&self, form: Form, paint: Paint, text: &mut String) {
        let address = self.address.as_ref().map(|at| format!(" {at}")).unwrap_or_default();
        text.push_str(&format!("\n{}:{address}\n", paint.bold(&self.name)));
        let mut shown = None;
        for instruction in &self.instructions {
            let source = instruction.source.as_ref().filter(|source| !source.text.is_empty());
            if source.is_some() && source != shown {
                let line = source.map(Source::comment).unwrap_or_default();
                text.push_str(&format!("{}\n", paint.dim(&line)));
                shown = source;
            }
            let at = match form {
                Form::Translated => format!("{:4}", instruction.at),
                Form::Jited => format!("{:4x}", instruction.at),
            };
            text.push_str(&format!("{at}: {}\n", text::line(&instruction.text)));
        }
    }
}

impl Source {
    /// `dir/file.c:12: text`, or the text alone.
    pub fn place(&self) -> String {
        match self.line {
            0 => self.text.clone(),
            line => format!("{}:{line}: {}", self.file, self.text),
        }
    }

    /// As the verifier writes it: `; text @ file.c:12`.
    fn comment(&self) -> String {
        let base = self.file.rsplit('/').next().unwrap_or_default();
        match base {
            "" => format!("; {}", self.text),
            _ => format!("; {} @ {base}:{}", self.text, self.line),
        }
    }
}

/// `program 17 drop`, the head of an answer about one program.
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
            maps: vec![MapRef { id: 3, name: "stats".into() }],
            runs: Some(Runs { count: 4, time_ns: 200, missed: 0 }),
            attached: vec![Place {
                kind: "xdp".into(),
                interface: Some("eth0".into()),
                ifindex: Some(2),
                mode: Some("native".into()),
                link_id: Some(5),
            }],
            holders: vec![Holder { pid: 7, command: "xway".into() }],
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
    fn what_is_unknown_is_left_out() {
        let text = Shown { program: program() }.text(PLAIN);
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
