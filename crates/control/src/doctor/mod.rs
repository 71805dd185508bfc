//! What this kernel and this user allow, found by inspection and by trying.
//!
//! Rule: no failure ends the examination; what cannot be read is reported as unknown.

mod interface;

use std::collections::BTreeMap;
use std::path::Path;

use kernel::probe::{self, Feature, Unavailable};
use kernel::{Mode, Tags};
use report::number::human;
use serde::Serialize;
use sys::cap::{Cap, Caps};
use sys::confine::Support;
use sys::net::{Link, Netlink};

pub use interface::{Advice, InterfaceReport, Peer, Queues, RingSizes};

use crate::Control;
use crate::error::Result;
use crate::target::no_interface;

/// The examination of a machine.
#[derive(Debug, Serialize)]
pub struct DoctorReport {
    /// Release of the kernel.
    pub kernel: String,
    /// Architecture of this program, such as `x86_64`.
    pub architecture: &'static str,
    /// This process can attach an XDP program to some interface; if not, the exit code is 1.
    pub ready: bool,
    /// Why not, and who must act, a sentence each.
    pub gates: Vec<String>,
    /// Capabilities of this process.
    pub capabilities: Capabilities,
    /// Settings and circumstances.
    pub facts: Vec<Fact>,
    /// Kernel features, each tried.
    pub probes: Vec<Probe>,
    /// Names of capabilities that some commands need and this process lacks.
    pub missing_capabilities: Vec<String>,
    /// Interfaces of this namespace by name: those that were named, else all except loopback.
    pub interfaces: BTreeMap<String, InterfaceReport>,
}

/// Capabilities of this process.
#[derive(Debug, Default, Serialize)]
pub struct Capabilities {
    /// Names of those that it has.
    pub effective: Vec<String>,
    /// Names of those that some commands need and it lacks.
    pub missing: Vec<String>,
}

/// A setting or circumstance.
#[derive(Debug, Serialize)]
pub struct Fact {
    /// Name of it, for people.
    pub name: String,
    /// Whether it needs attention.
    pub state: State,
    /// What was found, for people.
    pub value: String,
    /// What to change.
    pub advice: Option<String>,
}

/// A kernel feature, tried.
#[derive(Debug, Serialize)]
pub struct Probe {
    /// A word for scripts.
    pub name: String,
    /// What needs the feature.
    pub purpose: &'static str,
    /// The kernel offers it to this process.
    pub available: bool,
    /// `false` if this process lacks the rights to try it, so that the kernel may support it.
    pub permitted: bool,
    /// The kernel's own sentence, for people; `null` when available.
    pub refusal: Option<String>,
}

/// Whether a fact needs attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// As it should be.
    Good,
    /// It works, with a drawback.
    Warning,
    /// Something does not work.
    Bad,
    /// The system does not report it.
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

/// Examines this machine as far as this process may, and the named interfaces.
///
/// # Errors
/// There is no such interface.
pub fn examine(control: &Control, interfaces: &[String]) -> Result<DoctorReport> {
    let interfaces = examined(interfaces)?;
    let capabilities = capabilities();
    let features = probe::all();
    let gates = gates(&capabilities, &features);
    let is_limited = !capabilities.missing.is_empty();
    Ok(DoctorReport {
        kernel: sys::proc::kernel_release().unwrap_or_else(|error| error.to_string()),
        architecture: std::env::consts::ARCH,
        ready: gates.is_empty(),
        gates,
        missing_capabilities: capabilities.missing.clone(),
        capabilities,
        facts: facts(control.root()),
        probes: features.into_iter().map(|feature| tried(feature, is_limited)).collect(),
        interfaces,
    })
}

fn examined(names: &[String]) -> Result<BTreeMap<String, InterfaceReport>> {
    let links = Netlink::open().and_then(|mut netlink| netlink.links()).unwrap_or_default();
    for name in names {
        if !links.iter().any(|link| link.name == *name) {
            return Err(no_interface(name, &links));
        }
    }
    let is_wanted = |link: &&Link| {
        if names.is_empty() { !link.loopback } else { names.contains(&link.name) }
    };
    let wanted = links.iter().filter(is_wanted);
    Ok(wanted.map(|link| (link.name.clone(), interface::examine(link, &links))).collect())
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

/// Why no XDP program can be attached to any interface, and who must act.
fn gates(capabilities: &Capabilities, features: &[Feature]) -> Vec<String> {
    let lacks = |cap: &Cap| capabilities.missing.iter().any(|name| name == cap.name());
    let missing: Vec<_> = [Cap::Bpf, Cap::NetAdmin].into_iter().filter(lacks).collect();
    if !missing.is_empty() {
        let gate = |cap: Cap| format!("this process lacks {cap}: run it as root or grant it");
        return missing.into_iter().map(gate).collect();
    }
    let refusal = |name: &str| features.iter().find(|one| one.name == name)?.refusal.clone();
    if let Some(words) = refusal("xdp") {
        return vec![format!("the kernel loads no XDP program ({words}): {CLOSED}")];
    }
    // Attaching is tried in a namespace of its own, which takes one more capability than attaching.
    match (refusal("xdp-native"), refusal("xdp-generic")) {
        (Some(native), Some(generic)) if !lacks(&Cap::SysAdmin) => {
            vec![format!("the kernel attaches no XDP program ({native}; {generic}): {CLOSED}")]
        }
        _ => Vec::new(),
    }
}

/// What forbids it when no capability is missing.
const CLOSED: &str = "its configuration, lockdown, a security module or the container forbids it";

/// `is_limited` states whether this process lacks capabilities: only then a refused call may be one
/// that the kernel supports.
fn tried(feature: Feature, is_limited: bool) -> Probe {
    let is_denied = feature.refusal.as_ref().is_some_and(Unavailable::is_denied);
    Probe {
        available: feature.is_available(),
        permitted: !(is_limited && is_denied),
        name: feature.name,
        purpose: feature.purpose,
        refusal: feature.refusal.map(|reason| reason.to_string()),
    }
}

fn facts(state: &Path) -> Vec<Fact> {
    let confinement = sys::confine::support();
    let kernel = vec![btf(), jit(), hardening(), unprivileged(), addresses(), memlock()];
    let rest = [bpffs(state), file_limits(confinement), call_limits(confinement)];
    kernel.into_iter().chain(rest).chain(vlan_tags()).collect()
}

/// Commands that parse files without the kernel limit themselves to the files they were given.
fn file_limits(support: Support) -> Fact {
    match support.landlock {
        Some(version) => Fact::good("Landlock", format!("version {version}")),
        None => Fact {
            advice: Some(
                "commands that only parse files can open every file of their user: a kernel with \
                 CONFIG_SECURITY_LANDLOCK, and landlock among its security modules (lsm=)"
                    .to_owned(),
            ),
            ..Fact::new("Landlock", State::Warning, "not supported".to_owned())
        },
    }
}

fn call_limits(support: Support) -> Fact {
    match support.seccomp {
        true => Fact::good("seccomp filters", "supported".to_owned()),
        false => Fact {
            advice: Some(
                "commands that only parse files can make every system call: a kernel with \
                 CONFIG_SECCOMP_FILTER, on x86_64, aarch64 or riscv64"
                    .to_owned(),
            ),
            ..Fact::new("seccomp filters", State::Warning, "not supported".to_owned())
        },
    }
}

/// Where programs find the VLAN tags of what each interface receives.
fn vlan_tags() -> Vec<Fact> {
    let links = Netlink::open().and_then(|mut netlink| netlink.links()).unwrap_or_default();
    let links = links.into_iter().filter(|link| !link.loopback);
    links.map(|link| vlan_tags_of(&link)).collect()
}

fn vlan_tags_of(link: &Link) -> Fact {
    let name = format!("VLAN tags of {}", link.name);
    let found = |mode: Mode| kernel::tags(link.ifindex, mode);
    let (native, generic) = match (found(Mode::Native), found(Mode::Generic)) {
        (Ok(native), Ok(generic)) => (native, generic),
        (Err(error), _) | (_, Err(error)) => {
            return Fact::new(&name, State::Unknown, error.to_string());
        }
    };
    let value = format!("native: {}; generic: {}", place(&native), place(&generic));
    match (&native, &generic) {
        (Tags::Hidden(why), _) | (_, Tags::Hidden(why)) => Fact {
            advice: Some(format!("{why}: what depends on tags is refused in that mode")),
            ..Fact::new(&name, State::Warning, value)
        },
        _ => Fact::good(&name, value),
    }
}

fn place(tags: &Tags) -> String {
    match tags {
        Tags::InFrame => "in the frame".to_owned(),
        Tags::Device => "read from the device".to_owned(),
        Tags::Switchable(features) => {
            format!("in the frame with {} off, which xway switches", features.join(" and "))
        }
        Tags::Hidden(_) => "not visible".to_owned(),
    }
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
        "2" => (State::Warning, "for all users", "constants are blinded: programs run slower"),
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

/// A kernel setting, read and explained: state, text, advice.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn feature(name: &str, refusal: Option<&str>) -> Feature {
        let failed = |message: &str| probe::Unavailable::Failed { message: message.to_owned() };
        Feature { name: name.to_owned(), purpose: "", refusal: refusal.map(failed) }
    }

    fn missing(caps: &[Cap]) -> Capabilities {
        let missing = caps.iter().map(|cap| cap.name().to_owned()).collect();
        Capabilities { missing, ..Capabilities::default() }
    }

    #[test]
    fn the_gate_that_is_shut_is_named() {
        let open = [feature("xdp", None), feature("xdp-native", Some("EOPNOTSUPP"))];
        assert_eq!(gates(&missing(&[Cap::SysResource]), &open), [""; 0], "generic will do");
        let both = gates(&missing(&[Cap::NetAdmin, Cap::Bpf]), &open);
        assert!(both[0].contains("CAP_BPF") && both[1].contains("CAP_NET_ADMIN"), "{both:?}");
        let shut = gates(&missing(&[]), &[feature("xdp", Some("EPERM"))]);
        assert!(shut[0].contains("EPERM") && shut[0].contains("lockdown"), "{shut:?}");
        let neither =
            [feature("xdp-native", Some("no driver")), feature("xdp-generic", Some("no stack"))];
        let gate = gates(&missing(&[]), &neither);
        assert!(gate[0].contains("no driver; no stack"), "{gate:?}");
        let unsure = gates(&missing(&[Cap::SysAdmin]), &neither);
        assert_eq!(unsure, [""; 0], "the probe itself was not allowed");
    }
}
