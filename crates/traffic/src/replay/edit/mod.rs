//! `Edits`: what is changed in captured frames before they are sent.
//!
//! Rule: checksums are corrected by the difference that a change makes (RFC 1624), so that a right
//! one stays right and a wrong one stays wrong, also in fragments and in packets that were cut.
//! Changed is the outermost packet only: not what tunnels carry, nor what ICMP errors quote.

mod address;
mod apply;
mod mac;
mod port;
mod sum;
mod vlan;

use std::str::FromStr;

pub use address::AddressMap;
pub use mac::MacMap;
pub use port::PortMap;
pub use vlan::Vlan;

/// What to change. Of each list the first map that fits a value is taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edits {
    pub macs: Vec<MacMap>,
    pub addresses: Vec<AddressMap>,
    /// Of TCP, UDP and UDP-Lite.
    pub ports: Vec<PortMap>,
    pub vlan: Option<Vlan>,
}

/// Which of a packet's two ends a map is for.
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
    from: impl FnOnce(&str) -> Result<F, String>,
    to: impl FnOnce(&str) -> Result<T, String>,
) -> Result<(Side, F, T), String> {
    let prefixes = [("src:", Side::Source), ("dst:", Side::Destination)];
    let found =
        prefixes.iter().find_map(|(prefix, side)| Some((*side, text.strip_prefix(prefix)?)));
    let (side, map) = found.unwrap_or((Side::Both, text));
    let Some((left, right)) = map.split_once('=') else {
        return Err(format!(
            "`{text}` is no map: FROM=TO, with src: or dst: in front for one side"
        ));
    };
    Ok((side, from(left)?, to(right)?))
}

fn read<T: FromStr>(text: &str, what: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("`{text}` is no {what}"))
}
