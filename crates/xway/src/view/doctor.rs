//! Text of `doctor`: what this machine and this user allow.

use control::doctor::{Capabilities, DoctorReport, Probe, State};

use super::{Paint, View};

impl View for DoctorReport {
    fn text(&self, paint: Paint) -> String {
        let mut text = format!("Linux {} on {}\n\n", self.kernel, self.architecture);
        for fact in &self.facts {
            text.push_str(&row(fact.state, &fact.name, &fact.value, paint));
            if let Some(advice) = &fact.advice {
                text.push_str(&format!("{:INDENT$}{}\n", "", paint.dim(advice)));
            }
        }
        text.push_str(&capabilities_text(&self.capabilities, paint));
        text.push_str("\nTried:\n");
        for probe in &self.probes {
            text.push_str(&probe_text(probe, paint));
        }
        text.push('\n');
        text.push_str(&conclusion(self, paint));
        text
    }
}

fn conclusion(report: &DoctorReport, paint: Paint) -> String {
    if report.ready {
        return format!("{}\n", paint.good("XDP programs can be attached."));
    }
    let gates = report.gates.iter().map(|gate| format!("  {gate}\n"));
    format!("{}\n{}", paint.bad("XDP programs cannot be attached:"), gates.collect::<String>())
}

fn probe_text(probe: &Probe, paint: Paint) -> String {
    let state = if probe.available { State::Good } else { State::Bad };
    let row = row(state, &probe.name, probe.purpose, paint);
    match &probe.refusal {
        Some(words) => format!("{row}{:INDENT$}{}\n", "", paint.dim(words)),
        None => row,
    }
}

fn capabilities_text(capabilities: &Capabilities, paint: Paint) -> String {
    let Capabilities { effective, missing } = capabilities;
    let list =
        |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(" ") };
    let state = if missing.is_empty() { State::Good } else { State::Warning };
    let mut text = row(state, "capabilities", &list(effective), paint);
    if !missing.is_empty() {
        let missing = format!("missing: {}", list(missing));
        text.push_str(&format!("{:INDENT$}{}\n", "", paint.dim(&missing)));
    }
    text
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
    use control::doctor::Fact;

    use super::*;

    fn report(gates: Vec<String>) -> DoctorReport {
        DoctorReport {
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
