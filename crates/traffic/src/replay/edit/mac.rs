//! `MacMap`: replaces Ethernet addresses.

use std::str::FromStr;

use packet::Mac;

use super::{EditError, Side, read_map};

/// As text: `[src:|dst:]FROM=TO`, FROM an address or `*` for any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacMap {
    /// The addresses that are replaced.
    pub side: Side,
    /// The address to replace; any when `None`.
    pub from: Option<Mac>,
    /// The new address.
    pub to: Mac,
}

impl MacMap {
    pub(super) fn map(&self, side: Side, mac: Mac) -> Option<Mac> {
        let fits = self.side.covers(side) && self.from.is_none_or(|from| from == mac);
        fits.then_some(self.to)
    }
}

impl FromStr for MacMap {
    type Err = EditError;

    fn from_str(text: &str) -> Result<Self, EditError> {
        let mac = |text: &str| Ok(text.parse()?);
        let any = |text: &str| if text == "*" { Ok(None) } else { mac(text).map(Some) };
        let (side, from, to) = read_map(text, any, mac)?;
        Ok(Self { side, from, to })
    }
}
