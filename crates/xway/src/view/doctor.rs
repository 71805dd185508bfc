//! Text of `doctor`: what this machine and this user allow.

use control::doctor::{Advice, Capabilities, DoctorReport, InterfaceReport, Probe, State};

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
        for (name, interface) in &self.interfaces {
            text.push_str(&interface_text(name, interface, paint));
        }
        text.push('\n');
        text.push_str(&to_do(self, paint));
        text.push_str(&conclusion(self, paint));
        text
    }
}

fn interface_text(name: &str, interface: &InterfaceReport, paint: Paint) -> String {
    let InterfaceReport { driver, mtu, queues, native, rings, peer, programs, .. } = interface;
    let mut words =
        vec![driver.as_ref().map_or("no driver".to_owned(), |one| format!("driver {one}"))];
    words.push(match native {
        Some(true) => "native XDP".to_owned(),
        Some(false) => "generic XDP only".to_owned(),
        None => "native XDP unknown".to_owned(),
    });
    words.push(format!("MTU {mtu}"));
    let max = queues.max.map(|max| format!(" of {max}")).unwrap_or_default();
    words.push(format!("{} rx and {} tx queues{max}", queues.rx, queues.tx));
    words.extend(interface.speed_mbit.map(|speed| format!("{speed} Mbit/s")));
    words.extend(rings.map(|rings| format!("rings of {} and {}", rings.rx, rings.tx)));
    words.extend(peer.as_ref().map(|peer| match &peer.name {
        Some(name) => format!("peer {name}"),
        None => "peer in another namespace".to_owned(),
    }));
    let ids: Vec<_> = programs.iter().map(u32::to_string).collect();
    words.extend((!ids.is_empty()).then(|| format!("runs program {}", ids.join(", "))));
    format!("\n{}: {}\n", paint.bold(name), words.join(", "))
}

/// Problems of interfaces with the commands that solve them.
fn to_do(report: &DoctorReport, paint: Paint) -> String {
    let all = report
        .interfaces
        .iter()
        .flat_map(|(name, one)| one.advice.iter().map(move |advice| (name, advice)));
    let lines = all.map(|(name, Advice { problem, command })| {
        let command = command.as_ref().map(|command| format!("\n    {command}"));
        format!("  {name}: {problem}{}\n", command.unwrap_or_default())
    });
    let lines: String = lines.collect();
    if lines.is_empty() { lines } else { format!("{}\n{lines}\n", paint.bold("What to do:")) }
}

fn conclusion(report: &DoctorReport, paint: Paint) -> String {
    if report.ready {
        return format!("{}\n", paint.good("XDP programs can be attached."));
    }
    let gates = report.gates.iter().map(|gate| format!("  {gate}\n"));
    format!("{}\n{}", paint.bad("XDP programs cannot be attached:"), gates.collect::<String>())
}

fn probe_text(probe: &Probe, paint: Paint) -> String {
    let state = match (probe.available, probe.permitted) {
        (true, _) => State::Good,
        (false, true) => State::Bad,
        (false, false) => State::Unknown,
    };
    let row = row(state, &probe.name, probe.purpose, paint);
    match &probe.refusal {
        Some(words) if !probe.permitted => {
            let words = format!("not permitted, so it may be supported: {words}");
            format!("{row}{:INDENT$}{}\n", "", paint.dim(&words))
        }
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
            missing_capabilities: vec!["CAP_NET_ADMIN".into()],
            interfaces: std::collections::BTreeMap::new(),
            facts: vec![Fact::good("BTF", "5.52 MB".into())],
            probes: vec![Probe {
                name: "freplace".into(),
                purpose: "chains of other tools",
                available: false,
                permitted: true,
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
