//! `--link`: packets of a capture that have no Ethernet header.

use clap::ValueEnum;
use pcap::LinkPolicy;

/// What happens to packets that were captured without an Ethernet header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LinkArg {
    /// Add an Ethernet header to raw IP, loopback and Linux cooked packets
    #[default]
    Auto,
    /// Refuse the capture
    Strict,
}

impl From<LinkArg> for LinkPolicy {
    fn from(arg: LinkArg) -> Self {
        match arg {
            LinkArg::Auto => Self::AddHeader,
            LinkArg::Strict => Self::Strict,
        }
    }
}
