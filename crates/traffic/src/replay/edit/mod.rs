//! `Edits`: changes to captured frames before they are sent.
//!
//! Rule: checksums are updated incrementally (RFC 1624), so that a correct checksum remains correct
//! and a wrong one remains wrong, also in fragments and truncated packets. Only the outermost
//! packet is changed, not packets in tunnels, nor packets that ICMP errors quote.

mod address;
mod apply;
mod error;
mod mac;
mod port;
mod sum;
mod vlan;

use std::str::FromStr;

pub use address::AddressMap;
pub use error::EditError;
pub use mac::MacMap;
pub use port::PortMap;
pub use vlan::Vlan;

/// The changes. In each list the first map that matches a value applies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edits {
    /// Changes to Ethernet addresses.
    pub macs: Vec<MacMap>,
    /// Changes to IP addresses.
    pub addresses: Vec<AddressMap>,
    /// Changes to the ports of TCP, UDP and UDP-Lite.
    pub ports: Vec<PortMap>,
    /// The change to VLAN tags.
    pub vlan: Option<Vlan>,
}

/// The end of a packet's path to which a map applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    Source,
    Destination,
    #[default]
    Both,
}

impl Side {
    fn covers(self, end: Self) -> bool {
        self == Self::Both || self == end
    }
}

/// Reads `[src:|dst:]FROM=TO`.
fn read_map<F, T>(
    text: &str,
    from: impl FnOnce(&str) -> Result<F, EditError>,
    to: impl FnOnce(&str) -> Result<T, EditError>,
) -> Result<(Side, F, T), EditError> {
    let prefixes = [("src:", Side::Source), ("dst:", Side::Destination)];
    let found =
        prefixes.iter().find_map(|(prefix, side)| Some((*side, text.strip_prefix(prefix)?)));
    let (side, map) = found.unwrap_or((Side::Both, text));
    let Some((left, right)) = map.split_once('=') else {
        return Err(EditError::Map { text: text.to_owned() });
    };
    Ok((side, from(left)?, to(right)?))
}

fn read<T: FromStr>(text: &str, kind: &'static str) -> Result<T, EditError> {
    text.parse().map_err(|_| EditError::Value { text: text.to_owned(), kind })
}
