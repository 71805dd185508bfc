//! Flow control: whether a device may ask its neighbour to pause, and pauses when it is asked.

use super::{Ethtool, bytes, word};
use crate::error::Result;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pause {
    pub rx: bool,
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
