//! Text of `check`: the result of the verifier for each program of an object.

use control::check::{Accepted, CheckReport, Checked, Outcome, Refused};
use report::number::human;
use report::text;

use super::prog::source_place;
use super::{Paint, View};

impl View for CheckReport {
    fn text(&self, paint: Paint) -> String {
        let programs: Vec<_> = self.programs.iter().map(|one| checked_text(one, paint)).collect();
        let refused =
            self.programs.iter().filter(|one| matches!(one.outcome, Outcome::Refused(_))).count();
        let total = self.programs.len();
        let verdict = match refused {
            0 => format!("{}: the kernel accepts {}", self.object, all(total)),
            _ => format!("{}: the kernel refuses {refused} of {total}", self.object),
        };
        format!("{}{verdict}\n", programs.concat())
    }
}

fn checked_text(checked: &Checked, paint: Paint) -> String {
    let kind = checked.kind.as_deref().unwrap_or("unknown type");
    let (name, section) = (paint.bold(&checked.name), text::line(&checked.section));
    let head = format!("{name} ({kind}, section {section})");
    match &checked.outcome {
        Outcome::Accepted(accepted) => {
            format!("{} {head}: {}", paint.good("ok"), accepted_text(accepted))
        }
        Outcome::Refused(refused) => {
            format!("{} {head}\n{}", paint.bad("refused"), refused_text(refused, paint))
        }
    }
}

/// Sizes, maps and warnings, in lines.
pub fn accepted_text(accepted: &Accepted) -> String {
    let size = |bytes: u32| human(f64::from(bytes), "B");
    let mut parts = Vec::new();
    if let Some(insns) = accepted.verified_insns {
        parts.push(format!("{insns} instructions verified"));
    }
    parts.push(format!("{} translated", size(accepted.xlated_bytes)));
    if accepted.jited_bytes != 0 {
        parts.push(format!("{} of machine code", size(accepted.jited_bytes)));
    }
    if !accepted.maps.is_empty() {
        parts.push(format!("maps {}", text::line(&accepted.maps.join(", "))));
    }
    let warnings = accepted.warnings.iter();
    let warnings = warnings.map(|warning| format!("  warning: {}\n", text::line(warning)));
    format!("{}\n{}", parts.join(", "), warnings.collect::<String>())
}

/// The reason, the place and the remedy of a refusal, in lines.
pub fn refused_text(refused: &Refused, paint: Paint) -> String {
    let mut lines = vec![paint.bad(&refused.message)];
    lines.extend(refused.more.iter().cloned());
    if let Some(name) = &refused.reached {
        lines.push(format!("in program {}, which it tail-calls", text::line(name)));
    }
    if let Some(source) = &refused.source {
        lines.push(text::line(&source_place(source)).into_owned());
    }
    if let Some(slot) = refused.instruction {
        let insn = refused.insn.as_ref().map(|insn| format!(": {insn}")).unwrap_or_default();
        lines.push(format!("at instruction {slot}{insn}"));
    }
    if let Some(hint) = &refused.hint {
        lines.push(format!("hint: {hint}"));
    }
    let lines = lines
        .into_iter()
        .flat_map(|line| line.lines().map(|line| format!("  {line}\n")).collect::<Vec<_>>());
    format!("{}{}", lines.collect::<String>(), refused.annotated)
}

fn all(total: usize) -> String {
    match total {
        1 => "it".to_owned(),
        _ => format!("all {total} programs"),
    }
}

#[cfg(test)]
mod tests {
    use kernel::Source;

    use super::*;

    const PLAIN: Paint = Paint { colour: false };

    fn report(outcome: Outcome) -> CheckReport {
        let accepted = matches!(outcome, Outcome::Accepted(_));
        let checked = Checked {
            name: "drop".into(),
            section: "xdp".into(),
            kind: Some("xdp".into()),
            insns: 12,
            outcome,
        };
        CheckReport { object: "x.o".into(), builtin: false, accepted, programs: vec![checked] }
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
x.o: the kernel accepts it
";
        assert_eq!(accepted.text(PLAIN), want);
        let json = serde_json::to_value(&accepted).unwrap();
        assert_eq!(json["programs"][0]["accepted"]["verified_insns"], 20);
    }
}
