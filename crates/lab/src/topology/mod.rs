//! The named topologies. Each file draws one and gives its addresses.
//!
//! Common to all: MAC `02:78:77:00:LINK:END`, static neighbours on every link, IPv6 usable
//! immediately, no link-local addresses. In the first second after the build IPv6 sends a few
//! multicast listener reports, so count your own frames, not all.

mod router;
mod service;
mod three_hosts;
mod two_hosts;

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use packet::Mac;

pub use router::Router;
pub use service::Service;
pub use three_hosts::ThreeHosts;
pub use two_hosts::TwoHosts;

use crate::error::{Error, Result};
use crate::lab::Lab;
use crate::link::LinkOptions;

/// A topology by name, for `xway lab up`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    TwoHosts,
    Router,
    ThreeHosts,
    Service,
}

impl Topology {
    /// All topologies.
    pub const ALL: [Self; 4] = [Self::TwoHosts, Self::Router, Self::ThreeHosts, Self::Service];

    /// The name that commands use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TwoHosts => "two-hosts",
            Self::Router => "router",
            Self::ThreeHosts => "three-hosts",
            Self::Service => "service",
        }
    }

    /// What it looks like, in a few lines of text.
    pub const fn drawing(self) -> &'static str {
        match self {
            Self::TwoHosts => two_hosts::DRAWING,
            Self::Router => router::DRAWING,
            Self::ThreeHosts => three_hosts::DRAWING,
            Self::Service => service::DRAWING,
        }
    }

    /// Builds it; hosts are found by name in the lab.
    pub fn build(self, options: &LinkOptions) -> Result<Lab> {
        let mut lab = Lab::new()?;
        lab.set_topology(self.name())?;
        match self {
            Self::TwoHosts => two_hosts::wire(&mut lab, options)?,
            Self::Router => router::wire(&mut lab, options)?,
            Self::ThreeHosts => three_hosts::wire(&mut lab, options)?,
            Self::Service => service::wire(&mut lab, options)?,
        }
        Ok(lab)
    }
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Topology {
    type Err = Error;

    /// Underscores are accepted as dashes.
    fn from_str(word: &str) -> Result<Self> {
        let wanted = word.replace('_', "-");
        let found = Self::ALL.into_iter().find(|topology| topology.name() == wanted);
        found.ok_or_else(|| Error::NoTopology(word.to_owned()))
    }
}

/// `02:78:77:00:LINK:END`: locally administered, "xw".
const fn mac(link: u8, end: u8) -> Mac {
    Mac([2, 0x78, 0x77, 0, link, end])
}

/// `10.0.LINK.END`.
fn v4(link: u8, end: u8) -> IpAddr {
    IpAddr::from([10, 0, link, end])
}

/// `fd00:0:0:LINK::END`.
fn v6(link: u8, end: u8) -> IpAddr {
    IpAddr::from([0xfd00, 0, 0, u16::from(link), 0, 0, 0, u16::from(end)])
}

/// Both addresses of an end, with the prefix lengths that all topologies use.
fn addresses(link: u8, end: u8) -> [(IpAddr, u8); 2] {
    [(v4(link, end), 24), (v6(link, end), 64)]
}

/// Where both addresses of an end are found.
fn neighbour(link: u8, end: u8) -> [(IpAddr, Mac); 2] {
    [(v4(link, end), mac(link, end)), (v6(link, end), mac(link, end))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for topology in Topology::ALL {
            assert_eq!(topology.name().parse::<Topology>().unwrap(), topology);
        }
        assert_eq!("two_hosts".parse::<Topology>().unwrap(), Topology::TwoHosts);
        assert!("star".parse::<Topology>().is_err());
    }

    #[test]
    fn addresses_follow_link_and_end() {
        assert_eq!(v4(1, 2).to_string(), "10.0.1.2");
        assert_eq!(v6(1, 2).to_string(), "fd00:0:0:1::2");
        assert_eq!(mac(1, 2).to_string(), "02:78:77:00:01:02");
    }
}
