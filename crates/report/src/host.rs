//! The facts of the machine that a number depends on.
//!
//! Rule: read-only, from files under /proc and /sys; what cannot be read is absent, never an
//! error. No name of the host and nothing about its user: reports are published.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::date::utc;

/// Facts about a machine; a field that the machine does not report is absent from the JSON.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Host {
    /// Release, as `uname -r` gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Architecture, such as `x86_64`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arch: Option<String>,
    /// Model name of the first CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<String>,
    /// CPUs that are online.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores: Option<usize>,
    /// Whether the CPU reports a hypervisor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub virtual_machine: Option<bool>,
    /// Clock of the first CPU at the time of reading.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_mhz: Option<f64>,
    /// Frequency governor of the first CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// Size of the main memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Runnable tasks on average over 1, 5 and 15 minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<[f64; 3]>,
    /// `net.core.bpf_jit_enable`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bpf_jit: Option<u32>,
    /// CPU weakness → what the kernel does about it; those that do not affect it are left out.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub mitigations: BTreeMap<String, String>,
    /// UTC, RFC 3339, to the second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
}

impl Host {
    /// The machine that this runs on, now.
    pub fn read() -> Host {
        let arch = Some(std::env::consts::ARCH.to_owned());
        Host { arch, ..Host::read_from(Path::new("/"), SystemTime::now()) }
    }

    /// The machine whose /proc and /sys are under `root`.
    pub fn read_from(root: &Path, now: SystemTime) -> Host {
        let cpus = text(root, "proc/cpuinfo").unwrap_or_default();
        Host {
            kernel: text(root, "proc/sys/kernel/osrelease"),
            arch: None,
            cpu: field(&cpus, "model name").map(str::to_owned),
            cores: Some(cpus.lines().filter(|line| line.starts_with("processor")).count())
                .filter(|cores| *cores > 0),
            virtual_machine: field(&cpus, "flags")
                .map(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
            clock_mhz: field(&cpus, "cpu MHz").and_then(|mhz| mhz.parse().ok()),
            governor: text(root, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            memory_bytes: text(root, "proc/meminfo").and_then(|text| memory(&text)),
            load: text(root, "proc/loadavg").and_then(|text| load(&text)),
            bpf_jit: text(root, "proc/sys/net/core/bpf_jit_enable")
                .and_then(|text| text.parse().ok()),
            mitigations: mitigations(root),
            date: now.duration_since(UNIX_EPOCH).ok().map(|since| utc(since.as_secs())),
        }
    }

    /// One line for the foot of a table or page.
    pub fn summary(&self) -> String {
        let memory = self.memory_bytes.map(|bytes| format!("{} GiB", (bytes + (1 << 29)) >> 30));
        let machine = self.virtual_machine.filter(|is| *is).map(|_| "virtual machine".to_owned());
        let parts = [
            self.cpu.clone(),
            self.cores.map(|cores| format!("{cores} cores")),
            memory,
            machine,
            self.kernel.as_ref().map(|release| format!("Linux {release}")),
            self.date.clone(),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

fn text(root: &Path, path: &str) -> Option<String> {
    let text = fs::read_to_string(root.join(path)).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The value of the first `name : value` line.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim())
}

fn memory(meminfo: &str) -> Option<u64> {
    let kib: u64 = field(meminfo, "MemTotal")?.strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

fn load(loadavg: &str) -> Option<[f64; 3]> {
    let mut averages = loadavg.split(' ').map(str::parse::<f64>);
    let mut next = || averages.next()?.ok().filter(|value| value.is_finite());
    Some([next()?, next()?, next()?])
}

fn mitigations(root: &Path) -> BTreeMap<String, String> {
    let folder = "sys/devices/system/cpu/vulnerabilities";
    let Ok(entries) = fs::read_dir(root.join(folder)) else { return BTreeMap::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names
        .filter_map(|name| text(root, &format!("{folder}/{name}")).map(|state| (name, state)))
        .filter(|(_, state)| state != "Not affected")
        .collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A folder of its own that is gone when the test is.
    struct Root(std::path::PathBuf);

    impl Root {
        fn new(name: &str, files: &[(&str, &str)]) -> Root {
            let unique = format!("xway-host-{name}-{}", std::process::id());
            let root = Root(std::env::temp_dir().join(unique));
            fs::create_dir_all(&root.0).unwrap();
            for (path, text) in files {
                let path = root.0.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            root
        }

        fn read(&self) -> Host {
            Host::read_from(&self.0, UNIX_EPOCH + Duration::from_secs(1_709_208_000))
        }
    }

    impl Drop for Root {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn facts_are_read_from_files() {
        let weak = "sys/devices/system/cpu/vulnerabilities";
        let cpu = "processor\t: 0\nmodel name\t: Nine Thousand @ 3.0GHz\ncpu MHz\t\t: 2999.998\n\
             flags\t\t: fpu hypervisor\n";
        let host = Root::new(
            "whole",
            &[
                ("proc/cpuinfo", &format!("{cpu}\nprocessor\t: 1\nmodel name\t: Other\n")),
                ("proc/meminfo", "MemTotal:       24605340 kB\nMemFree: 1 kB\n"),
                ("proc/loadavg", "1.04 0.40 0.17 1/91 9112\n"),
                ("proc/sys/kernel/osrelease", "6.18.1\n"),
                ("proc/sys/net/core/bpf_jit_enable", "1\n"),
                (&format!("{weak}/meltdown"), "Not affected\n"),
                (&format!("{weak}/retbleed"), "Mitigation: Enhanced IBRS\n"),
            ],
        )
        .read();
        assert_eq!(host.cpu.as_deref(), Some("Nine Thousand @ 3.0GHz"));
        assert_eq!(
            (host.cores, host.virtual_machine, host.bpf_jit),
            (Some(2), Some(true), Some(1))
        );
        assert_eq!(host.memory_bytes, Some(24_605_340 * 1024));
        assert_eq!(host.clock_mhz, Some(2999.998));
        assert_eq!(host.load, Some([1.04, 0.40, 0.17]));
        assert_eq!(host.mitigations.len(), 1);
        assert_eq!(host.mitigations["retbleed"], "Mitigation: Enhanced IBRS");
        let summary = "Nine Thousand @ 3.0GHz, 2 cores, 23 GiB, virtual machine, \
                       Linux 6.18.1, 2024-02-29T12:00:00Z";
        assert_eq!(host.summary(), summary);
    }

    #[test]
    fn what_cannot_be_read_is_absent() {
        let files = [("proc/loadavg", "nan 1 1"), ("proc/meminfo", "MemTotal: many kB")];
        let host = Root::new("broken", &files).read();
        let date = Some("2024-02-29T12:00:00Z".to_owned());
        assert_eq!(host, Host { date, ..Host::default() });
    }
}
