//! What the verifier said of each program of an object.
//!
//! Field names are promised in `docs/json.md`.

use report::number::human;
use report::text;
use serde::Serialize;

use super::prog::Source;
use super::{Paint, View};

#[derive(Debug, Serialize)]
pub struct Report {
    pub object: String,
    /// It came with `xway`.
    pub builtin: bool,
    /// All of them.
    pub accepted: bool,
    pub programs: Vec<Checked>,
}

#[derive(Debug, Serialize)]
pub struct Checked {
    pub name: String,
    pub section: String,
    /// `None` when neither section nor caller says.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Slots in the object, before the verifier's rewriting.
    pub insns: usize,
    #[serde(flatten)]
    pub outcome: Outcome,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    Accepted(Accepted),
    Refused(Box<Refused>),
}

#[derive(Debug, Serialize)]
pub struct Accepted {
    /// Instructions that the verifier walked.
    pub verified_insns: Option<u32>,
    pub xlated_bytes: u32,
    pub jited_bytes: u32,
    pub maps: Vec<String>,
    pub warnings: Vec<String>,
}

#[derive(Debug, Default, Serialize)]
pub struct Refused {
    /// The line that decides.
    pub message: String,
    pub more: Vec<String>,
    /// The program that was refused, where it is one that this one only calls.
    pub reached: Option<String>,
    pub instruction: Option<usize>,
    /// The instruction in the kernel's notation.
    pub insn: Option<String>,
    pub source: Option<Source>,
    pub hint: Option<String>,
    /// As the kernel wrote it; only when asked for.
    pub log: Option<String>,
    #[serde(skip)]
    pub annotated: String,
}

impl View for Report {
    fn text(&self, paint: Paint) -> String {
        let programs: Vec<_> = self.programs.iter().map(|one| one.text(paint)).collect();
        let refused =
            self.programs.iter().filter(|one| matches!(one.outcome, Outcome::Refused(_))).count();
        let total = self.programs.len();
        let verdict = match refused {
            0 => format!("{}: the kernel takes {}", self.object, all(total)),
            _ => format!("{}: the kernel refuses {refused} of {total}", self.object),
        };
        format!("{}{verdict}\n", programs.concat())
    }
}

impl Checked {
    fn text(&self, paint: Paint) -> String {
        let kind = self.kind.as_deref().unwrap_or("unknown type");
        let head =
            format!("{} ({kind}, section {})", paint.bold(&self.name), text::line(&self.section));
        match &self.outcome {
            Outcome::Accepted(accepted) => {
                format!("{} {head}: {}", paint.good("ok"), accepted.text())
            }
            Outcome::Refused(refused) => {
                format!("{} {head}\n{}", paint.bad("refused"), refused.text(paint))
            }
        }
    }
}

impl Accepted {
    /// Sizes, maps and warnings, in lines.
    pub fn text(&self) -> String {
        let size = |bytes: u32| human(f64::from(bytes), "B");
        let mut facts = Vec::new();
        if let Some(insns) = self.verified_insns {
            facts.push(format!("{insns} instructions verified"));
        }
        facts.push(format!("{} translated", size(self.xlated_bytes)));
        if self.jited_bytes != 0 {
            facts.push(format!("{} of machine code", size(self.jited_bytes)));
        }
        if !self.maps.is_empty() {
            facts.push(format!("maps {}", text::line(&self.maps.join(", "))));
        }
        let warnings =
            self.warnings.iter().map(|warning| format!("  warning: {}\n", text::line(warning)));
        format!("{}\n{}", facts.join(", "), warnings.collect::<String>())
    }
}

impl Refused {
    /// Why, where, and what to do, in lines.
    pub fn text(&self, paint: Paint) -> String {
        let mut lines = vec![paint.bad(&self.message)];
        lines.extend(self.more.iter().cloned());
        if let Some(name) = &self.reached {
            lines.push(format!("in program {}, which it reaches", text::line(name)));
        }
        if let Some(source) = &self.source {
            lines.push(text::line(&source.place()).into_owned());
        }
        if let Some(slot) = self.instruction {
            let insn = self.insn.as_ref().map(|insn| format!(": {insn}")).unwrap_or_default();
            lines.push(format!("at instruction {slot}{insn}"));
        }
        if let Some(hint) = &self.hint {
            lines.push(format!("hint: {hint}"));
        }
        let lines = lines
            .into_iter()
            .flat_map(|line| line.lines().map(|line| format!("  {line}\n")).collect::<Vec<_>>());
        format!("{}{}", lines.collect::<String>(), self.annotated)
    }
}

fn all(total: usize) -> String {
    match total {
        1 => "it".to_owned(),
        _ => format!("all {total} programs"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Paint = Paint { colour: false };

    fn report(outcome: Outcome) -> Report {
        let accepted = matches!(outcome, Outcome::Accepted(_));
        let checked = Checked {
            name: "drop".into(),
            section: "xdp".into(),
            kind: Some("xdp".into()),
            insns: 12,
            outcome,
        };
        Report { object: "x.o".into(), builtin: false, accepted, programs: vec![checked] }
    }

    #[test]
    fn a_refusal_says_what_where_and_what_to_do() {
        let refused = report(Outcome::Refused(Box::new(Refused {
            message: "invalid access to packet".into(),
            instruction: Some(4),
            insn: Some("r0 = *(u8 *)(r2 +13)".into()),
            source: Some(Source { file: "a/x.c".into(), line: 7, text: "p[13]".into() }),
            hint: Some("compare with data_end".into()),
            ..Refused::default()
        })));
        let want = "\
refused drop (xdp, section xdp)
  invalid access to packet
  a/x.c:7: p[13]
  at instruction 4: r0 = *(u8 *)(r2 +13)
  hint: compare with data_end
x.o: the kernel refuses 1 of 1
";
        assert_eq!(refused.text(PLAIN), want);
        let json = serde_json::to_value(&refused).unwrap();
        assert_eq!(json["programs"][0]["refused"]["source"]["line"], 7);
        assert_eq!(json["accepted"], false);
    }

    #[test]
    fn an_accepted_program_tells_its_size() {
        let accepted = report(Outcome::Accepted(Accepted {
            verified_insns: Some(20),
            xlated_bytes: 96,
            jited_bytes: 0,
            maps: vec!["counts".into()],
            warnings: vec!["loaded without BTF".into()],
        }));
        let want = "\
ok drop (xdp, section xdp): 20 instructions verified, 96 B translated, maps counts
  warning: loaded without BTF
x.o: the kernel takes it
";
        assert_eq!(accepted.text(PLAIN), want);
        let json = serde_json::to_value(&accepted).unwrap();
        assert_eq!(json["programs"][0]["accepted"]["verified_insns"], 20);
    }
}
