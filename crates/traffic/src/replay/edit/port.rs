//! `PortMap`: replaces ports.

use std::ops::RangeInclusive;
use std::str::FromStr;

use super::{EditError, Side, read, read_map};

/// As text: `[src:|dst:]FROM=TO`, each a port, a range `FIRST-LAST`, or `*` for all. The first port
/// of FROM becomes the first of TO, and so on; a smaller TO repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortMap {
    /// The ports that are replaced.
    pub side: Side,
    /// Ports to replace.
    pub from: RangeInclusive<u16>,
    /// Ports that replace them.
    pub to: RangeInclusive<u16>,
}

impl PortMap {
    pub(super) fn map(&self, side: Side, port: u16) -> Option<u16> {
        if !self.side.covers(side) || !self.from.contains(&port) || self.to.is_empty() {
            return None;
        }
        let (first, last) = (u32::from(*self.to.start()), u32::from(*self.to.end()));
        let nth = u32::from(port - self.from.start());
        Some((first + nth % (last - first + 1)) as u16)
    }
}

impl FromStr for PortMap {
    type Err = EditError;

    fn from_str(text: &str) -> Result<Self, EditError> {
        let (side, from, to) = read_map(text, range, range)?;
        Ok(Self { side, from, to })
    }
}

fn range(text: &str) -> Result<RangeInclusive<u16>, EditError> {
    if text == "*" {
        return Ok(0..=u16::MAX);
    }
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (read(first, "port")?, read(last, "port")?);
    if first > last {
        return Err(EditError::PortRange { text: text.to_owned() });
    }
    Ok(first..=last)
}
