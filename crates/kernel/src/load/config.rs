//! Values of `extern … __kconfig`: the kernel's version, its configuration, and a few answers
//! about the kernel under reserved names.

use std::collections::HashMap;

use spec::Spec;

use super::symbols::Host;
use crate::error::{Error, Result};
use crate::limits::CONFIG_LIMIT;

/// Fills the places in the `.kconfig` map.
pub(super) fn fill(spec: &mut Spec, host: &mut Host) -> Result<()> {
    answer(spec, host)?;
    match spec.kconfig.iter().find(|var| !var.weak) {
        None => Ok(()),
        Some(var) => Err(Error::Unresolved {
            what: "configuration option",
            name: var.name.clone(),
            why: "; give its value with --kconfig NAME=VALUE, or declare it __weak if the \
                  program can do without"
                .to_owned(),
        }),
    }
}

/// Gives the object's configuration variables the values of the running kernel, as far as they
/// are known: from its configuration file or from other interfaces of the system.
///
/// # Errors
/// A value does not fit its variable.
pub fn fill_configuration(spec: &mut Spec) -> Result<()> {
    answer(spec, &mut Host::new())
}

fn answer(spec: &mut Spec, host: &mut Host) -> Result<()> {
    if spec.kconfig.is_empty() {
        return Ok(());
    }
    let options = options()?;
    for var in spec.kconfig.clone() {
        let text = match reserved(&var.name, host)? {
            Some(number) => Some(number.to_string()),
            None => options.get(&var.name).cloned().or_else(|| derived(&var.name)),
        };
        if let Some(text) = text {
            spec.set_kconfig(&var.name, &text)?;
        }
    }
    Ok(())
}

/// Configuration values that can be derived when the kernel offers no configuration file.
fn derived(name: &str) -> Option<String> {
    match name {
        "CONFIG_HZ" => sys::thread::tick_hz().map(|hz| hz.to_string()),
        "CONFIG_BPF" | "CONFIG_BPF_SYSCALL" | "CONFIG_NET" => Some("y".to_owned()),
        _ => None,
    }
}

/// Names that are not configuration options.
fn reserved(name: &str, host: &mut Host) -> Result<Option<u64>> {
    Ok(match name {
        "LINUX_KERNEL_VERSION" => Some(version(&sys::proc::kernel_release()?)),
        // Cookies came with Linux 5.15, the oldest kernel that is supported.
        "LINUX_HAS_BPF_COOKIE" => Some(1),
        "LINUX_HAS_SYSCALL_WRAPPER" => {
            let wrapped = host.address("__x64_sys_bpf")?.or(host.address("__arm64_sys_bpf")?);
            Some(u64::from(wrapped.is_some()))
        }
        _ => None,
    })
}

/// `KERNEL_VERSION(6, 1, 20)` of `6.1.20-whatever`. The last part stops at 255, as the kernel's.
fn version(release: &str) -> u64 {
    let mut parts = release
        .split(|letter: char| !letter.is_ascii_digit())
        .map(|part| part.parse::<u64>().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    let (major, minor, patch) = (next(), next(), next());
    major << 16 | minor << 8 | patch.min(255)
}

fn options() -> Result<HashMap<String, String>> {
    let Some(raw) = sys::proc::kernel_config()? else { return Ok(HashMap::new()) };
    let text = if raw.starts_with(&[0x1f, 0x8b]) { gunzip(&raw) } else { Some(raw) };
    Ok(text.map(|text| parse(&String::from_utf8_lossy(&text))).unwrap_or_default())
}

/// `CONFIG_X=value` lines; `# CONFIG_X is not set` stands for `n`.
fn parse(text: &str) -> HashMap<String, String> {
    text.lines()
        .filter_map(|line| {
            if let Some(rest) = line.strip_prefix("# ") {
                let name = rest.strip_suffix(" is not set")?;
                return Some((name.to_owned(), "n".to_owned()));
            }
            let (name, value) = line.split_once('=')?;
            name.starts_with("CONFIG_").then(|| (name.to_owned(), value.to_owned()))
        })
        .collect()
}

/// RFC 1952: a header of ten bytes followed by optional parts, deflated data, eight bytes of
/// checksum and length.
fn gunzip(raw: &[u8]) -> Option<Vec<u8>> {
    const EXTRA: u8 = 4;
    const NAME: u8 = 8;
    const COMMENT: u8 = 16;
    const HEADER_CHECK: u8 = 2;
    let flags = *raw.get(3)?;
    let mut at = 10;
    if flags & EXTRA != 0 {
        at += 2 + usize::from(u16::from_le_bytes([*raw.get(at)?, *raw.get(at + 1)?]));
    }
    for part in [NAME, COMMENT] {
        if flags & part != 0 {
            at += raw.get(at..)?.iter().position(|byte| *byte == 0)? + 1;
        }
    }
    if flags & HEADER_CHECK != 0 {
        at += 2;
    }
    miniz_oxide::inflate::decompress_to_vec_with_limit(raw.get(at..)?, CONFIG_LIMIT).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
    use super::*;

    #[test]
    fn configuration_lines() {
        let text = "#\n# Linux\n#\nCONFIG_BPF=y\nCONFIG_HZ=250\n# CONFIG_X is not set\n\
                    CONFIG_NAME=\"abc\"\nCONFIG_BASE=0xffff\nCONFIG_M=m\nbroken\n";
        let options = parse(text);
        let table = [
            ("CONFIG_BPF", Some("y")),
            ("CONFIG_HZ", Some("250")),
            ("CONFIG_X", Some("n")),
            ("CONFIG_NAME", Some("\"abc\"")),
            ("CONFIG_BASE", Some("0xffff")),
            ("CONFIG_M", Some("m")),
            ("broken", None),
        ];
        for (name, expected) in table {
            assert_eq!(options.get(name).map(String::as_str), expected, "{name}");
        }
    }

    #[test]
    fn the_timer_tells_its_frequency() {
        let Some(hz) = derived("CONFIG_HZ") else { panic!("every Linux has a coarse clock") };
        assert!(["100", "250", "300", "1000"].contains(&hz.as_str()), "{hz}");
        if let Some(configured) = super::options().unwrap().get("CONFIG_HZ") {
            assert_eq!(*configured, hz);
        }
    }

    #[test]
    fn versions_of_releases() {
        let table = [
            ("6.18.44-fc", 6 << 16 | 18 << 8 | 44),
            ("5.15.300", 5 << 16 | 15 << 8 | 255),
            ("6.1-rc3", 6 << 16 | 1 << 8),
            ("", 0),
        ];
        for (release, expected) in table {
            assert_eq!(version(release), expected, "{release}");
        }
    }

    #[test]
    fn packed_configurations_are_read() {
        let data = miniz_oxide::deflate::compress_to_vec(b"CONFIG_BPF=y\n", 6);
        let name = [0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3].iter().chain(b"config\0").copied();
        let packed: Vec<u8> = name.chain(data).chain([0; 8]).collect();
        assert_eq!(gunzip(&packed).unwrap(), b"CONFIG_BPF=y\n");
        assert_eq!(gunzip(&packed[..12]), None);
    }
}
