//! `doctor`: what this kernel and this user allow, found by looking and by trying.
//!
//! Rule: nothing that fails here ends the command: a question without an answer is shown as such,
//! so that it serves the user without rights most of all.

use std::path::Path;

use anyhow::Result;
use report::number::human;
use sys::cap::{Cap, Caps};

use super::{Context, Exit};
use crate::view::doctor::{Capabilities, Fact, Report, State};

pub fn run(context: &Context) -> Result<Exit> {
    let capabilities = capabilities();
    let gates = gates(&capabilities);
    let ready = gates.is_empty();
    context.show(&Report {
        kernel: sys::proc::kernel_release().unwrap_or_else(|error| error.to_string()),
        architecture: std::env::consts::ARCH,
        ready,
        gates,
        capabilities,
        facts: facts(&context.state),
    })?;
    Ok(if ready { Exit::Done } else { Exit::No })
}

fn capabilities() -> Capabilities {
    let name = |cap: Cap| cap.name().to_owned();
    let Ok(caps) = Caps::effective() else { return Capabilities::default() };
    let has = Cap::ALL.into_iter().filter(|cap| caps.allows(*cap));
    Capabilities {
        effective: has.map(name).collect(),
        missing: caps.missing().into_iter().map(name).collect(),
    }
}

/// What keeps every XDP program off every interface.
fn gates(capabilities: &Capabilities) -> Vec<String> {
    let needed = [Cap::Bpf, Cap::NetAdmin].map(Cap::name);
    let lacks = needed.into_iter().filter(|name| capabilities.missing.iter().any(|m| m == name));
    lacks.map(|name| format!("this process lacks {name}: run it as root or grant it")).collect()
}

fn facts(state: &Path) -> Vec<Fact> {
    vec![btf(), jit(), hardening(), unprivileged(), addresses(), memlock(), bpffs(state)]
}

fn btf() -> Fact {
    match sys::proc::kernel_btf() {
        Ok(raw) => Fact::good("BTF", human(raw.len() as f64, "B")),
        Err(error) => Fact {
            advice: Some(
                "objects with field relocations (CO-RE) need it: a kernel with \
                 CONFIG_DEBUG_INFO_BTF"
                    .to_owned(),
            ),
            ..Fact::new("BTF", State::Bad, error.to_string())
        },
    }
}

fn jit() -> Fact {
    setting("JIT", "net/core/bpf_jit_enable", |value| match value {
        "0" => (State::Bad, "off", "programs are interpreted: set net.core.bpf_jit_enable to 1"),
        "1" => (State::Good, "on", ""),
        "2" => (State::Warning, "on, writing machine code to the log", "meant for debugging only"),
        _ => (State::Unknown, "", ""),
    })
}

fn hardening() -> Fact {
    setting("JIT hardening", "net/core/bpf_jit_harden", |value| match value {
        "0" => (State::Good, "off", ""),
        "1" => (State::Good, "for users without CAP_BPF", ""),
        "2" => (State::Warning, "for everybody", "constants are blinded: programs run slower"),
        _ => (State::Unknown, "", ""),
    })
}

fn unprivileged() -> Fact {
    setting("BPF without rights", "kernel/unprivileged_bpf_disabled", |value| match value {
        "0" => (State::Warning, "allowed, but not for XDP", "any user may load socket filters"),
        "1" => (State::Good, "refused until reboot", ""),
        "2" => (State::Good, "refused", ""),
        _ => (State::Unknown, "", ""),
    })
}

fn addresses() -> Fact {
    setting("kernel addresses", "kernel/kptr_restrict", |value| match value {
        "0" | "1" => (State::Good, "shown to those with CAP_SYSLOG", ""),
        "2" => (State::Warning, "hidden", "`prog dump` cannot name helpers"),
        _ => (State::Unknown, "", ""),
    })
}

/// Only kernels before 5.11 charge BPF to it, and `xway` lifts it there when it can.
fn memlock() -> Fact {
    match sys::cap::memlock() {
        Ok(None) => Fact::good("memory lock limit", "none".to_owned()),
        Ok(Some(bytes)) => {
            let text = format!("{}; counts only before Linux 5.11", human(bytes as f64, "B"));
            Fact::good("memory lock limit", text)
        }
        Err(error) => Fact::new("memory lock limit", State::Unknown, error.to_string()),
    }
}

fn bpffs(state: &Path) -> Fact {
    let places = [Path::new("/sys/fs/bpf").to_owned(), state.join("bpf")];
    let mounted: Vec<_> = places
        .iter()
        .filter(|place| sys::mount::is_bpffs(place))
        .map(|place| place.display().to_string())
        .collect();
    match mounted.as_slice() {
        [] => Fact {
            advice: Some("`xway attach` mounts its own when it runs as root".to_owned()),
            ..Fact::new("bpffs", State::Warning, "not mounted".to_owned())
        },
        _ => Fact::good("bpffs", mounted.join(", ")),
    }
}

/// A kernel setting, read and put into words: state, text, advice.
fn setting(name: &str, path: &str, words: impl Fn(&str) -> (State, &str, &str)) -> Fact {
    let value = match sys::proc::setting(path) {
        Ok(value) => value,
        Err(error) => return Fact::new(name, State::Unknown, error.to_string()),
    };
    let (state, text, advice) = words(&value);
    let text = if text.is_empty() { value.clone() } else { text.to_owned() };
    let advice = (!advice.is_empty()).then(|| advice.to_owned());
    Fact { advice, ..Fact::new(name, state, text) }
}
