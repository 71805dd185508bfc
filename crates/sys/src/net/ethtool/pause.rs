//! Flow control: whether a device requests its neighbor to pause, and pauses on request.

use super::{Ethtool, bytes, word};
use crate::error::Result;

/// Use of pause frames on an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pause {
    /// Whether it pauses on request.
    pub rx: bool,
    /// Whether it requests pauses.
    pub tx: bool,
}

impl Ethtool {
    /// `EOPNOTSUPP` for devices without it, such as virtual ones.
    pub fn pause(&self, name: &str) -> Result<Pause> {
        let mut words = [0; WORDS];
        words[0] = ETHTOOL_GPAUSEPARAM;
        let mut data = bytes(&words);
        self.ioctl("ioctl(ETHTOOL_GPAUSEPARAM)", name, &mut data)?;
        Ok(Pause { rx: word(&data, 2) != 0, tx: word(&data, 3) != 0 })
    }
}

const ETHTOOL_GPAUSEPARAM: u32 = 0x12;
/// `struct ethtool_pauseparam`: command, whether it is negotiated, receive, transmit.
const WORDS: usize = 4;
