//! `attach`, `detach`, `status`, `drop`.

use std::time::Duration;

use clap::{Args, ValueEnum};
use control::lockout::Lockout;

use super::object::ObjectArgs;
use super::value::{assignment, duration};

/// Where in the receive path a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModeArg {
    /// In the driver, before a packet becomes an skb
    Native,
    /// In the kernel's stack, with any driver
    Generic,
    /// On the network card
    Offload,
}

/// How a program is attached to an interface.
#[derive(Clone, Debug, Args)]
pub struct Placement {
    /// Mode in which the program is attached
    #[arg(long, value_enum, default_value_t = ModeArg::Native)]
    pub mode: ModeArg,

    /// Replace a program that is attached already
    #[arg(long)]
    pub replace: bool,

    /// Set a global variable before the program is loaded, such as port=53 (may be repeated)
    #[arg(long = "set", value_name = "GLOBAL=VALUE", value_parser = assignment)]
    pub set: Vec<(String, String)>,

    #[command(flatten)]
    pub caution: Caution,
}

/// Protection against changes that lock the operator out.
#[derive(Clone, Debug, Default, Args)]
pub struct Caution {
    #[command(flatten)]
    pub wait: Wait,

    /// Make the change even if it ends the SSH session in which this command runs
    #[arg(long)]
    pub force: bool,
}

/// Whether the change must be confirmed.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Wait {
    /// Undo the change after this time, such as 60s, unless `xway confirm` follows
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub confirm: Option<Duration>,
}

impl Caution {
    /// Whether the change may end the session.
    pub fn lockout(&self) -> Lockout {
        if self.force { Lockout::Allow } else { Lockout::Refuse }
    }
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
    fn from(Placement { mode, replace, set, caution }: Placement) -> Self {
        let (confirm, lockout) = (caution.wait.confirm, caution.lockout());
        Self { mode: mode.into(), replace, set, confirm, lockout, ..Self::default() }
    }
}

#[derive(Debug, Args)]
pub struct AttachArgs {
    /// Network interface
    pub iface: String,

    /// Object file such as prog.o, or name of a built-in program (drop, forward)
    pub object: String,

    /// Program of the object; required if there are several
    #[arg(long, value_name = "NAME")]
    pub program: Option<String>,

    /// Program type, if the section name does not contain it, such as xdp or xdp.frags
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,

    /// Attach the program unchanged, without counting its verdicts
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

    /// Also detach a program that xway did not attach
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Network interface; all interfaces without it
    pub iface: Option<String>,

    /// Refresh the output until Ctrl-C; on a terminal, show tables to sort, filter and scroll
    #[arg(long, short)]
    pub watch: bool,

    /// Measure how long the programs of this host run, in nanoseconds per packet; costs each run
    /// some tens of nanoseconds, and requires CAP_SYS_ADMIN
    #[arg(long)]
    pub run_time: bool,

    /// Interval over which rates are measured, such as 500ms or 2s
    #[arg(long, default_value = "1s", value_parser = duration)]
    pub interval: Duration,
}

#[derive(Debug, Args)]
pub struct DropArgs {
    /// Network interface
    pub iface: String,

    /// Complete set of rules, such as '10.1.0.2 udp 1234' or '2001:db8::/64 tcp'
    #[arg(value_name = "RULE")]
    pub rules: Vec<String>,

    /// Add a rule to the loaded ones (may be repeated)
    #[arg(long, value_name = "RULE", conflicts_with = "rules")]
    pub add: Vec<String>,

    /// Remove a loaded rule (may be repeated)
    #[arg(long, value_name = "RULE", conflicts_with = "rules")]
    pub remove: Vec<String>,

    #[command(flatten)]
    pub placement: Placement,
}
