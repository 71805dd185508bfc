//! `attach`, `detach`, `status`, `drop`, `forward`.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::object::ObjectArgs;

/// Where in the receive path a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModeArg {
    /// In the driver, before the packet becomes an skb
    Native,
    /// In the stack, on any driver
    Generic,
    /// On the network card
    Offload,
}

/// How a program is put on an interface.
#[derive(Clone, Debug, Args)]
pub struct Placement {
    /// In the driver, in the stack, or on the card
    #[arg(long, value_enum, default_value_t = ModeArg::Native)]
    pub mode: ModeArg,

    /// Take the place of a program that is there already
    #[arg(long)]
    pub replace: bool,

    /// Set a global variable of the object before it is loaded (may be repeated)
    #[arg(long = "set", value_name = "GLOBAL=VALUE", value_parser = assignment)]
    pub set: Vec<(String, String)>,
}

impl From<ModeArg> for kernel::Mode {
    fn from(mode: ModeArg) -> Self {
        match mode {
            ModeArg::Native => Self::Native,
            ModeArg::Generic => Self::Generic,
            ModeArg::Offload => Self::Offload,
        }
    }
}

impl From<Placement> for control::Placement {
    fn from(Placement { mode, replace, set }: Placement) -> Self {
        Self { mode: mode.into(), replace, set }
    }
}

#[derive(Debug, Args)]
pub struct AttachArgs {
    /// Network interface
    pub iface: String,

    /// Object file (`prog.o`), or the name of a built-in program
    pub object: String,

    /// Which program of the object; needed when it holds more than one
    #[arg(long, value_name = "NAME")]
    pub program: Option<String>,

    /// Program type, where the section name does not say it
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,

    /// Attach the program as it is, without counting its verdicts
    #[arg(long)]
    pub no_count: bool,

    #[command(flatten)]
    pub open: ObjectArgs,

    #[command(flatten)]
    pub placement: Placement,
}

#[derive(Debug, Args)]
pub struct DetachArgs {
    /// Network interface
    pub iface: String,

    /// Detach also a program that xway did not attach
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Only this interface
    pub iface: Option<String>,

    /// Redraw until stopped
    #[arg(long, short)]
    pub watch: bool,

    /// Time over which rates are measured, such as 500ms or 2s
    #[arg(long, default_value = "1s", value_parser = duration)]
    pub interval: Duration,
}

#[derive(Debug, Args)]
pub struct DropArgs {
    /// Network interface
    pub iface: String,

    /// The whole rule set, such as '10.1.0.2 udp 1234' or '2001:db8::/64 tcp'
    #[arg(value_name = "RULE")]
    pub rules: Vec<String>,

    /// Add a rule to those in force (may be repeated)
    #[arg(long, value_name = "RULE", conflicts_with = "rules")]
    pub add: Vec<String>,

    /// Remove a rule from those in force (may be repeated)
    #[arg(long, value_name = "RULE", conflicts_with = "rules")]
    pub remove: Vec<String>,

    #[command(flatten)]
    pub placement: Placement,
}

#[derive(Debug, Args)]
pub struct ForwardArgs {
    /// Interfaces to forward between
    #[arg(required = true, value_name = "IFACE")]
    pub ifaces: Vec<String>,

    /// Destination NAT, such as '10.1.0.2 udp 1234 -> 10.1.1.2' (may be repeated)
    #[arg(long, value_name = "RULE")]
    pub nat: Vec<String>,

    /// Hand to the stack what no NAT rule matches, instead of routing it
    #[arg(long, requires = "nat")]
    pub nat_only: bool,

    /// Leave the source address of replies as it is
    #[arg(long, requires = "nat")]
    pub no_replies: bool,

    /// Attach even where VLAN tags cannot be seen: frames of every VLAN are then routed as untagged
    #[arg(long)]
    pub ignore_stripped_tags: bool,

    #[command(flatten)]
    pub placement: Placement,
}

pub(super) fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write it as NAME=VALUE".to_owned()),
    }
}

/// `250ms`, `2s`, `1.5m`, `1h`, or a bare number of seconds.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let time = traffic::rate::duration(text).map_err(|error| error.to_string())?;
    if time.is_zero() || time > LONGEST {
        return Err("a time must be above zero and at most a day".to_owned());
    }
    Ok(time)
}

/// `65536`, `64KiB`, `16MiB`, `1GiB`.
pub(super) fn memory(text: &str) -> Result<u64, String> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("", 0)];
    let found = units.into_iter().find_map(|(unit, shift)| {
        let number: u64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        number.checked_mul(1 << shift).filter(|bytes| *bytes > 0)
    });
    found.ok_or_else(|| format!("`{text}` is no amount of memory: write 65536, 64KiB or 16MiB"))
}

const LONGEST: Duration = Duration::from_secs(86_400);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_of_memory() {
        for (text, bytes) in
            [("65536", 65_536), ("64KiB", 65_536), ("16MiB", 16 << 20), ("2 GiB", 2 << 30)]
        {
            assert_eq!(memory(text), Ok(bytes));
        }
        for wrong in ["", "0", "MiB", "-1", "16MB", "16mib", "1.5MiB", "99999999999GiB"] {
            assert!(memory(wrong).unwrap_err().contains("16MiB"), "{wrong}");
        }
    }

    #[test]
    fn times() {
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(duration("24h"), Ok(Duration::from_secs(86_400)));
        for wrong in ["", "s", "-1s", "0", "inf", "nan", "soon", "25h", "99999999999s"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn assignments() {
        assert_eq!(assignment("port=1=2"), Ok(("port".into(), "1=2".into())));
        assert!(assignment("=1").is_err());
        assert!(assignment("port").is_err());
    }
}
