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
        for _ in 0..ATTEMPTS {
            let names = self.strings(name, StringSet::Statistics)?;
            if names.is_empty() {
                return Ok(Vec::new());
            }
            let mut data = request(&[ETHTOOL_GSTATS, names.len() as u32], 8);
            self.ioctl(STATISTICS, name, &mut data)?;
            if word(&data, 1) as usize == names.len() {
                let values = data[8..].chunks_exact(8).map(counter);
                return Ok(names.into_iter().zip(values).collect());
            }
        }
        let detail = "the device's counters changed while they were read";
        Err(Error::new(STATISTICS, name, libc::EAGAIN).with_detail(detail))
    }

    pub(super) fn strings(&self, name: &str, set: StringSet) -> Result<Vec<String>> {
        let count = self.string_count(name, set)?;
        if count > MOST_STRINGS {
            return Err(Error::new(CALL, name, libc::E2BIG));
        }
        if count == 0 {
            return Ok(Vec::new());
        }
        let mut data = request(&[ETHTOOL_GSTRINGS, set as u32, count as u32], STRING);
        self.ioctl(CALL, name, &mut data)?;
        let count = word(&data, 2) as usize;
        Ok(data[12..].chunks_exact(STRING).take(count).map(text).collect())
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

/// A request with space for the answer. The kernel writes all items that the device has at that
/// moment, regardless of the number in the request (net/ethtool/ioctl.c, `ethtool_get_strings` and
/// `ethtool_get_stats`, at v6.18), and channels that another process adds add counters. So there is
/// space for more than any device has; pages that are not written cost nothing.
fn request(words: &[u32], item: usize) -> Vec<u8> {
    let head = bytes(words);
    let mut data = vec![0; head.len() + MOST_STRINGS * item];
    data[..head.len()].copy_from_slice(&head);
    data
}

fn counter(value: &[u8]) -> u64 {
    u64::from_ne_bytes(value.try_into().expect("chunks of eight bytes have eight bytes"))
}

const STATISTICS: &str = "ioctl(ETHTOOL_GSTATS)";
/// Reads of names and counters until both have the same number.
const ATTEMPTS: usize = 5;
const CALL: &str = "ioctl(ETHTOOL_GSTRINGS)";
const ETHTOOL_GSTRINGS: u32 = 0x1b;
const ETHTOOL_GSTATS: u32 = 0x1d;
const ETHTOOL_GSSET_INFO: u32 = 0x37;
/// `ETH_GSTRING_LEN`.
const STRING: usize = 32;
/// Above what any driver has: big cards show a few thousand.
const MOST_STRINGS: usize = 1 << 16;
