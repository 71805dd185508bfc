//! How many packets the rings between a device and its driver hold.

use super::{Ethtool, bytes, word};
use crate::error::Result;

/// Descriptors of each queue's ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rings {
    /// Descriptors of a receive ring.
    pub rx: u32,
    /// Descriptors of a transmit ring.
    pub tx: u32,
    /// Largest receive ring.
    pub max_rx: u32,
    /// Largest transmit ring.
    pub max_tx: u32,
}

impl Ethtool {
    /// `EOPNOTSUPP` for devices without any, such as virtual ones.
    pub fn rings(&self, name: &str) -> Result<Rings> {
        let mut words = [0; WORDS];
        words[0] = ETHTOOL_GRINGPARAM;
        let mut data = bytes(&words);
        self.ioctl("ioctl(ETHTOOL_GRINGPARAM)", name, &mut data)?;
        Ok(Rings {
            max_rx: word(&data, 1),
            max_tx: word(&data, 4),
            rx: word(&data, 5),
            tx: word(&data, 8),
        })
    }
}

const ETHTOOL_GRINGPARAM: u32 = 0x10;
/// `struct ethtool_ringparam`: command, four maxima (rx, mini, jumbo, tx), the same four in use.
const WORDS: usize = 9;
