//! `MacMap`: one hardware address for another.

use std::str::FromStr;

use packet::{Mac, ParseError};

use super::{Side, read_map};

/// As text: `[src:|dst:]FROM=TO`, FROM an address or `*` for any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacMap {
    pub side: Side,
    /// Any when `None`.
    pub from: Option<Mac>,
    pub to: Mac,
}

impl MacMap {
    pub(super) fn map(&self, side: Side, mac: Mac) -> Option<Mac> {
        let fits = self.side.covers(side) && self.from.is_none_or(|from| from == mac);
        fits.then_some(self.to)
    }
}

impl FromStr for MacMap {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mac = |text: &str| text.parse().map_err(|wrong: ParseError| wrong.to_string());
        let any = |text: &str| if text == "*" { Ok(None) } else { mac(text).map(Some) };
        let (side, from, to) = read_map(text, any, mac)?;
        Ok(Self { side, from, to })
    }
}
