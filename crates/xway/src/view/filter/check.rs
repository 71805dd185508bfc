//! Text of `filter check`: the rules as they are interpreted, and warnings about likely mistakes.

use control::check::Outcome;
use control::filter::check::{CompiledProgram, RulesReport};

use crate::view::check::{accepted_text, refused_text};
use crate::view::{Paint, View};

impl View for RulesReport {
    fn text(&self, paint: Paint) -> String {
        let mut text = String::new();
        if let Some(file) = &self.file {
            text.push_str(&rules_text(self, paint));
            text.push_str(&sets_text(self));
            text.push_str(&reads_text(self));
            text.push_str(&policies_text(self));
            let program = self.program.as_ref().map(|program| program_text(program, paint));
            text.push_str(&program.unwrap_or_default());
            text.push_str(&warnings_text(self, paint));
            text.push_str(&format!("{file}: {}\n", sum(self)));
        } else {
            text.push_str(&policies_text(self));
        }
        text
    }
}

fn rules_text(report: &RulesReport, paint: Paint) -> String {
    let width = report.rules.iter().map(|rule| rule.name.len()).max().unwrap_or(0);
    let numbers = report.rules.len().to_string().len();
    let rules = report.rules.iter().map(|rule| {
        let name = format!("{:width$}", rule.name);
        format!("{:>numbers$}  {}  {}\n", rule.number, paint.bold(&name), rule.rule)
    });
    let rules: String = rules.collect();
    format!("{rules}{:>numbers$}  {:width$}  {}\n", "", "otherwise", report.default)
}

fn sets_text(report: &RulesReport) -> String {
    let sets = report.sets.iter().map(|set| {
        let from = set.file.as_ref().map(|file| format!(", {file}")).unwrap_or_default();
        let sizes = [(set.ipv4_ranges, "IPv4"), (set.ipv6_ranges, "IPv6")];
        let sizes = sizes.into_iter().filter(|(size, _)| *size > 0);
        let sizes: Vec<_> =
            sizes.map(|(size, family)| format!("{size} {family} {}", plural(size))).collect();
        let sizes = if sizes.is_empty() { "empty".to_owned() } else { sizes.join(", ") };
        format!("set @{}: {sizes}{from}\n", set.name)
    });
    sets.collect()
}

fn reads_text(report: &RulesReport) -> String {
    match report.reads.is_empty() {
        true => "reads nothing but the length of a packet\n".to_owned(),
        false => format!("reads of a packet: {}\n", report.reads.join(", ")),
    }
}

fn policies_text(report: &RulesReport) -> String {
    let shown = report.policies.iter().filter(|one| report.all_policies || !one.usual);
    let width = report.policies.iter().map(|one| one.oddity.len()).max().unwrap_or(0);
    let shown = shown.map(|one| {
        let usual = if one.usual { "" } else { " (not the default)" };
        format!("policy {:width$} {}{usual}\n", one.oddity, one.policy)
    });
    shown.collect()
}

fn warnings_text(report: &RulesReport, paint: Paint) -> String {
    let shown = report.warnings.iter().take(SHOWN);
    let shown = shown.map(|one| format!("{} {}\n", paint.bad("warning:"), one.text));
    let shown: String = shown.collect();
    match report.warnings.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown}and {more} more warnings, see --json\n"),
    }
}

fn sum(report: &RulesReport) -> String {
    let counted = |count: usize, what: &str| match count {
        0 => format!("no {what}s"),
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    };
    format!(
        "{}, {}",
        counted(report.rules.len(), "rule"),
        counted(report.warnings.len(), "warning")
    )
}

fn program_text(program: &CompiledProgram, paint: Paint) -> String {
    let kernel = match (&program.kernel, &program.too_much) {
        (None, Some(why)) => format!("{} {why}\n", paint.bad("memory limit exceeded:")),
        (None, None) => {
            "kernel: not checked, that needs CAP_BPF and CAP_NET_ADMIN (root)\n".to_owned()
        }
        (Some(Outcome::Accepted(accepted)), _) => {
            format!("kernel: accepts it, {}", accepted_text(accepted))
        }
        (Some(Outcome::Refused(refused)), _) => {
            format!("{}\n{}", paint.bad("kernel: refuses it"), refused_text(refused, paint))
        }
    };
    format!("{}memory: {}\n{kernel}", program.description, program.memory.text())
}

const fn plural(ranges: usize) -> &'static str {
    if ranges == 1 { "range" } else { "ranges" }
}

/// Most warnings that are listed.
const SHOWN: usize = 20;

#[cfg(test)]
mod tests {
    use control::filter::check::{CheckedPolicy, CheckedRule, CheckedSet, RuleWarning};
    use control::filter::memory::Memory;

    use super::*;

    const PLAIN: Paint = Paint { colour: false };

    fn policy(oddity: &'static str, usual: bool) -> CheckedPolicy {
        CheckedPolicy { oddity, policy: "drop", usual }
    }

    fn checked() -> RulesReport {
        let rule = |number, name: &str, rule: &str| CheckedRule {
            number,
            name: name.into(),
            rule: rule.into(),
            decides: true,
        };
        let text = "rule 2 `b` is never reached".to_owned();
        let (rules, because) = (vec!["b".to_owned()], vec!["long".to_owned()]);
        RulesReport {
            file: Some("r.toml".into()),
            default: "pass".into(),
            rules: vec![rule(1, "long", "drop udp"), rule(2, "b", "drop udp dport 53")],
            sets: vec![CheckedSet { name: "x".into(), ipv4_ranges: 2, ipv6_ranges: 1, file: None }],
            policies: vec![policy("options", false), policy("tunnel", true)],
            reads: vec!["link", "network"],
            warnings: vec![RuleWarning { kind: "never-reached", rules, because, text }],
            program: Some(CompiledProgram {
                description: "code: 7 instructions\n".into(),
                memory: Memory::default(),
                too_much: None,
                kernel: None,
            }),
            all_policies: false,
        }
    }

    #[test]
    fn rules_sets_and_warnings() {
        let want = "\
1  long  drop udp
2  b     drop udp dport 53
   otherwise  pass
set @x: 2 IPv4 ranges, 1 IPv6 range
reads of a packet: link, network
policy options drop (not the default)
code: 7 instructions
memory: 0 B in 0 maps: 
kernel: not checked, that needs CAP_BPF and CAP_NET_ADMIN (root)
warning: rule 2 `b` is never reached
r.toml: 2 rules, 1 warning
";
        assert_eq!(checked().text(PLAIN), want);
        let json = serde_json::to_value(checked()).unwrap();
        assert_eq!(json["rules"][1]["rule"], "drop udp dport 53");
        assert_eq!(json["warnings"][0]["because"][0], "long");
    }

    #[test]
    fn policies_alone() {
        let shown = RulesReport { file: None, all_policies: true, ..checked() };
        let want = "policy options drop (not the default)\npolicy tunnel  drop\n";
        assert_eq!(shown.text(PLAIN), want);
    }

    #[test]
    fn many_warnings_are_counted() {
        let mut many = checked();
        let warning = || RuleWarning {
            kind: "unused-set",
            rules: Vec::new(),
            because: Vec::new(),
            text: "t".into(),
        };
        many.warnings = std::iter::repeat_with(warning).take(23).collect();
        let text = many.text(PLAIN);
        assert!(text.contains("and 3 more warnings") && text.contains("23 warnings\n"), "{text}");
    }
}
