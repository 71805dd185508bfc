//! A file of rules as it is understood, and what is perhaps not meant.
//!
//! Field names are promised in `docs/json.md`.

use control::filter::memory::Memory;
use serde::Serialize;

use crate::view::check::Outcome;
use crate::view::{Paint, View};

#[derive(Debug, Default, Serialize)]
pub struct Checked {
    /// `None` when only policies are asked for.
    pub file: Option<String>,
    /// When no rule decides.
    pub default: String,
    pub rules: Vec<Rule>,
    pub sets: Vec<Set>,
    pub policies: Vec<Policy>,
    /// What of packets is read, because some rule asks for it.
    pub reads: Vec<&'static str>,
    pub warnings: Vec<Warning>,
    /// `None` without a file.
    pub program: Option<Program>,
    /// Text shows all of the policies.
    #[serde(skip)]
    pub all_policies: bool,
}

#[derive(Debug, Serialize)]
pub struct Rule {
    /// From 1 on.
    pub number: usize,
    pub name: String,
    /// In the shortest way to write it.
    pub rule: String,
    /// The search ends with it.
    pub decides: bool,
}

#[derive(Debug, Serialize)]
pub struct Set {
    pub name: String,
    /// Ranges without gaps; those that touch are one.
    pub ipv4_ranges: usize,
    pub ipv6_ranges: usize,
    /// `None` when its addresses stand beside the rules.
    pub file: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct Policy {
    pub oddity: &'static str,
    pub policy: &'static str,
    pub usual: bool,
}

#[derive(Debug, Serialize)]
pub struct Warning {
    pub kind: &'static str,
    /// Names of the rules that it is about.
    pub rules: Vec<String>,
    /// Names of those that are the reason.
    pub because: Vec<String>,
    pub text: String,
}

/// What the rules became.
#[derive(Debug, Serialize)]
pub struct Program {
    /// In lines for people.
    pub description: String,
    pub memory: Memory,
    /// Why there is not as much memory; then the verifier was not asked.
    pub too_much: Option<String>,
    /// What the verifier said; `None` when it was not asked, for lack of rights.
    pub kernel: Option<Outcome>,
}

impl View for Checked {
    fn text(&self, paint: Paint) -> String {
        let mut text = String::new();
        if let Some(file) = &self.file {
            text.push_str(&self.rules_text(paint));
            text.push_str(&self.sets_text());
            text.push_str(&self.reads_text());
            text.push_str(&self.policies_text());
            let program = self.program.as_ref().map(|program| program.text(paint));
            text.push_str(&program.unwrap_or_default());
            text.push_str(&self.warnings_text(paint));
            text.push_str(&format!("{file}: {}\n", self.sum()));
        } else {
            text.push_str(&self.policies_text());
        }
        text
    }
}

impl Checked {
    fn rules_text(&self, paint: Paint) -> String {
        let width = self.rules.iter().map(|rule| rule.name.len()).max().unwrap_or(0);
        let numbers = self.rules.len().to_string().len();
        let rules = self.rules.iter().map(|rule| {
            let name = format!("{:width$}", rule.name);
            format!("{:>numbers$}  {}  {}\n", rule.number, paint.bold(&name), rule.rule)
        });
        let rules: String = rules.collect();
        format!("{rules}{:>numbers$}  {:width$}  {}\n", "", "otherwise", self.default)
    }

    fn sets_text(&self) -> String {
        let sets = self.sets.iter().map(|set| {
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

    fn reads_text(&self) -> String {
        match self.reads.is_empty() {
            true => "reads nothing of a packet but its length\n".to_owned(),
            false => format!("reads of a packet: {}\n", self.reads.join(", ")),
        }
    }

    fn policies_text(&self) -> String {
        let shown = self.policies.iter().filter(|one| self.all_policies || !one.usual);
        let width = self.policies.iter().map(|one| one.oddity.len()).max().unwrap_or(0);
        let shown = shown.map(|one| {
            let usual = if one.usual { "" } else { " (not the usual one)" };
            format!("policy {:width$} {}{usual}\n", one.oddity, one.policy)
        });
        shown.collect()
    }

    fn warnings_text(&self, paint: Paint) -> String {
        let shown = self.warnings.iter().take(SHOWN);
        let shown = shown.map(|one| format!("{} {}\n", paint.bad("warning:"), one.text));
        let shown: String = shown.collect();
        match self.warnings.len().saturating_sub(SHOWN) {
            0 => shown,
            more => format!("{shown}and {more} more warnings, see --json\n"),
        }
    }

    fn sum(&self) -> String {
        let counted = |count: usize, what: &str| match count {
            0 => format!("no {what}s"),
            1 => format!("1 {what}"),
            _ => format!("{count} {what}s"),
        };
        format!(
            "{}, {}",
            counted(self.rules.len(), "rule"),
            counted(self.warnings.len(), "warning")
        )
    }
}

impl Program {
    fn text(&self, paint: Paint) -> String {
        let kernel = match &self.kernel {
            None if self.too_much.is_some() => {
                let why = self.too_much.as_deref().unwrap_or_default();
                format!("{} {why}\n", paint.bad("too much memory:"))
            }
            None => "kernel: not asked, that needs CAP_BPF and CAP_NET_ADMIN (root)\n".to_owned(),
            Some(Outcome::Accepted(accepted)) => format!("kernel: takes it, {}", accepted.text()),
            Some(Outcome::Refused(refused)) => {
                format!("{}\n{}", paint.bad("kernel: refuses it"), refused.text(paint))
            }
        };
        format!("{}memory: {}\n{kernel}", self.description, self.memory.text())
    }
}

const fn plural(ranges: usize) -> &'static str {
    if ranges == 1 { "range" } else { "ranges" }
}

/// More of them on a screen help nobody.
const SHOWN: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Paint = Paint { colour: false };

    fn policy(oddity: &'static str, usual: bool) -> Policy {
        Policy { oddity, policy: "drop", usual }
    }

    fn checked() -> Checked {
        let rule = |number, name: &str, rule: &str| Rule {
            number,
            name: name.into(),
            rule: rule.into(),
            decides: true,
        };
        let text = "rule 2 `b` is never reached".to_owned();
        let (rules, because) = (vec!["b".to_owned()], vec!["long".to_owned()]);
        Checked {
            file: Some("r.toml".into()),
            default: "pass".into(),
            rules: vec![rule(1, "long", "drop udp"), rule(2, "b", "drop udp dport 53")],
            sets: vec![Set { name: "x".into(), ipv4_ranges: 2, ipv6_ranges: 1, file: None }],
            policies: vec![policy("options", false), policy("tunnel", true)],
            reads: vec!["link", "network"],
            warnings: vec![Warning { kind: "never-reached", rules, because, text }],
            program: Some(Program {
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
policy options drop (not the usual one)
code: 7 instructions
memory: 0 B in 0 maps: 
kernel: not asked, that needs CAP_BPF and CAP_NET_ADMIN (root)
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
        let shown = Checked { file: None, all_policies: true, ..checked() };
        let want = "policy options drop (not the usual one)\npolicy tunnel  drop\n";
        assert_eq!(shown.text(PLAIN), want);
    }

    #[test]
    fn many_warnings_are_counted() {
        let mut many = checked();
        let warning = || Warning {
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
