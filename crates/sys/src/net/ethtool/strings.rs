//! The driver's and the kernel's string sets, and the statistics that are named by one.

use super::{Ethtool, bytes, text, word};
use crate::error::{Error, Result};

/// `enum ethtool_stringset`.
#[derive(Clone, Copy)]
pub(super) enum StringSet {
    Statistics = 1,
    Features = 4,
}

impl Ethtool {
    /// The driver's own counters in its order, such as `rx_queue_0_xdp_drops`. Empty when it has
    /// none.
    pub fn statistics(&self, name: &str) -> Result<Vec<(String, u64)>> {
        let names = self.strings(name, StringSet::Statistics)?;
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let mut data = bytes(&[ETHTOOL_GSTATS, names.len() as u32]);
        data.resize(8 + names.len() * 8, 0);
        self.ioctl("ioctl(ETHTOOL_GSTATS)", name, &mut data)?;
        let values = data[8..].chunks_exact(8).map(|value| {
            u64::from_ne_bytes(value.try_into().expect("chunks of eight bytes have eight bytes"))
        });
        Ok(names.into_iter().zip(values).collect())
    }

    pub(super) fn strings(&self, name: &str, set: StringSet) -> Result<Vec<String>> {
        let count = self.string_count(name, set)?;
        if count > MOST_STRINGS {
            return Err(Error::new(CALL, name, libc::E2BIG));
        }
        let mut data = bytes(&[ETHTOOL_GSTRINGS, set as u32, count as u32]);
        data.resize(12 + count * STRING, 0);
        self.ioctl(CALL, name, &mut data)?;
        Ok(data[12..].chunks_exact(STRING).map(text).collect())
    }

    fn string_count(&self, name: &str, set: StringSet) -> Result<usize> {
        let mut data = bytes(&[ETHTOOL_GSSET_INFO, 0, 1 << set as u32, 0, 0]);
        match self.ioctl("ioctl(ETHTOOL_GSSET_INFO)", name, &mut data) {
            Ok(_) if word(&data, 2) != 0 => Ok(word(&data, 4) as usize),
            Ok(_) => Ok(0),
            Err(error) if error.is(libc::EOPNOTSUPP) => Ok(0),
            Err(error) => Err(error),
        }
    }
}

const CALL: &str = "ioctl(ETHTOOL_GSTRINGS)";
const ETHTOOL_GSTRINGS: u32 = 0x1b;
const ETHTOOL_GSTATS: u32 = 0x1d;
const ETHTOOL_GSSET_INFO: u32 = 0x37;
/// `ETH_GSTRING_LEN`.
const STRING: usize = 32;
/// Above what any driver has: big cards show a few thousand.
const MOST_STRINGS: usize = 1 << 16;
