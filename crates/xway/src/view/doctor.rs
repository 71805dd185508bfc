//! What this machine and this user allow.
//!
//! Field names are promised in `docs/json.md`.

use serde::Serialize;

use super::{Paint, View};

#[derive(Debug, Serialize)]
pub struct Report {
    pub kernel: String,
    pub architecture: &'static str,
    /// Some XDP program can be attached somewhere.
    pub ready: bool,
    /// Why not, and who must open it.
    pub gates: Vec<String>,
    pub capabilities: Capabilities,
    pub facts: Vec<Fact>,
    pub probes: Vec<Probe>,
}

#[derive(Debug, Default, Serialize)]
pub struct Capabilities {
    pub effective: Vec<String>,
    pub missing: Vec<String>,
}

/// A circumstance that is good, or that somebody may want to change.
#[derive(Debug, Serialize)]
pub struct Fact {
    pub name: String,
    pub state: State,
    pub value: String,
    pub advice: Option<String>,
}

/// A feature, tried.
#[derive(Debug, Serialize)]
pub struct Probe {
    pub name: String,
    /// What needs it.
    pub purpose: &'static str,
    pub available: bool,
    /// The kernel's own words.
    pub refusal: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Good,
    /// It works, with a drawback.
    Warning,
    Bad,
    /// The system does not say.
    Unknown,
}

impl Fact {
    pub fn new(name: &str, state: State, value: String) -> Self {
        Self { name: name.to_owned(), state, value, advice: None }
    }

    pub fn good(name: &str, value: String) -> Self {
        Self::new(name, State::Good, value)
    }
}

impl View for Report {
    fn text(&self, paint: Paint) -> String {
        let mut text = format!("Linux {} on {}\n\n", self.kernel, self.architecture);
        for fact in &self.facts {
            text.push_str(&row(fact.state, &fact.name, &fact.value, paint));
            if let Some(advice) = &fact.advice {
                text.push_str(&format!("{:INDENT$}{}\n", "", paint.dim(advice)));
            }
        }
        text.push_str(&self.capabilities.text(paint));
        text.push_str("\nTried:\n");
        for probe in &self.probes {
            text.push_str(&probe.text(paint));
        }
        text.push('\n');
        text.push_str(&self.conclusion(paint));
        text
    }
}

impl Report {
    fn conclusion(&self, paint: Paint) -> String {
        if self.ready {
            return format!("{}\n", paint.good("XDP programs can be attached."));
        }
        let gates = self.gates.iter().map(|gate| format!("  {gate}\n"));
        format!("{}\n{}", paint.bad("XDP programs cannot be attached:"), gates.collect::<String>())
    }
}

impl Probe {
    fn text(&self, paint: Paint) -> String {
        let state = if self.available { State::Good } else { State::Bad };
        let row = row(state, &self.name, self.purpose, paint);
        match &self.refusal {
            Some(words) => format!("{row}{:INDENT$}{}\n", "", paint.dim(words)),
            None => row,
        }
    }
}

impl Capabilities {
    fn text(&self, paint: Paint) -> String {
        let list = |names: &[String]| {
            if names.is_empty() { "none".to_owned() } else { names.join(" ") }
        };
        let state = if self.missing.is_empty() { State::Good } else { State::Warning };
        let mut text = row(state, "capabilities", &list(&self.effective), paint);
        if !self.missing.is_empty() {
            let missing = format!("missing: {}", list(&self.missing));
            text.push_str(&format!("{:INDENT$}{}\n", "", paint.dim(&missing)));
        }
        text
    }
}

fn row(state: State, name: &str, value: &str, paint: Paint) -> String {
    let mark = match state {
        State::Good => paint.good("ok  "),
        State::Warning => paint.bold("warn"),
        State::Bad => paint.bad("no  "),
        State::Unknown => paint.dim("?   "),
    };
    format!("{mark}  {name:<NAME$}  {value}\n")
}

/// Columns of the text.
const NAME: usize = 30;
const INDENT: usize = NAME + 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn report(gates: Vec<String>) -> Report {
        Report {
            kernel: "6.18.0".into(),
            architecture: "x86_64",
            ready: gates.is_empty(),
            gates,
            capabilities: Capabilities {
                effective: vec!["CAP_BPF".into()],
                missing: vec!["CAP_NET_ADMIN".into()],
            },
            facts: vec![Fact::good("BTF", "5.52 MB".into())],
            probes: vec![Probe {
                name: "freplace".into(),
                purpose: "chains of other tools",
                available: false,
                refusal: Some("bpf(PROG_LOAD): Operation not permitted (EPERM)".into()),
            }],
        }
    }

    #[test]
    fn a_shut_gate_is_the_last_word() {
        let plain = Paint { colour: false };
        let text = report(vec!["this process lacks CAP_NET_ADMIN".into()]).text(plain);
        assert!(text.ends_with("cannot be attached:\n  this process lacks CAP_NET_ADMIN\n"));
        assert!(text.contains("missing: CAP_NET_ADMIN"), "{text}");
        assert!(text.contains("bpf(PROG_LOAD): Operation not permitted (EPERM)"), "{text}");
        assert!(report(vec![]).text(plain).ends_with("can be attached.\n"));
    }

    #[test]
    fn states_are_words() {
        let json = serde_json::to_value(report(vec![])).unwrap();
        assert_eq!(json["facts"][0]["state"], "good");
        assert_eq!(json["probes"][0]["available"], false);
    }
}
