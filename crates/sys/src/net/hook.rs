//! Hooks of the stack where packets meet rules, and the chains at them.

/// A chain that the stack calls at a hook of IPv4, IPv6 or both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseChain {
    /// `ip`, `ip6` or `inet` of nftables, `iptables` or `ip6tables` of the older tools.
    pub family: &'static str,
    pub table: String,
    pub name: String,
    /// `filter`, `nat` or `route`.
    pub kind: String,
    pub hook: Hook,
    pub priority: i32,
    /// What has passed all rules is dropped.
    pub drops: bool,
    pub rules: u32,
}

/// Where a packet is on its way through the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    Prerouting,
    Input,
    Forward,
    Output,
    Postrouting,
}

impl Hook {
    /// As nft writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Prerouting => "prerouting",
            Self::Input => "input",
            Self::Forward => "forward",
            Self::Output => "output",
            Self::Postrouting => "postrouting",
        }
    }

    pub(super) fn from_number(number: u32) -> Option<Self> {
        let all = [Self::Prerouting, Self::Input, Self::Forward, Self::Output, Self::Postrouting];
        all.get(number as usize).copied()
    }
}
