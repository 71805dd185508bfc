//! How many queues of a device are in use.

use super::{Ethtool, bytes, word};
use crate::error::Result;

/// Numbers of queues in use, and the largest possible ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Channels {
    /// Queues that only receive.
    pub rx: u32,
    /// Queues that only transmit.
    pub tx: u32,
    /// Queues that do both.
    pub combined: u32,
    /// Largest number of queues that only receive.
    pub max_rx: u32,
    /// Largest number of queues that only transmit.
    pub max_tx: u32,
    /// Largest number of queues that do both.
    pub max_combined: u32,
}

impl Ethtool {
    /// Reads the numbers of queues of an interface.
    pub fn channels(&self, name: &str) -> Result<Channels> {
        let data = self.read_channels(name)?;
        Ok(Channels {
            max_rx: word(&data, 1),
            max_tx: word(&data, 2),
            max_combined: word(&data, 4),
            rx: word(&data, 5),
            tx: word(&data, 6),
            combined: word(&data, 8),
        })
    }

    /// Sets the numbers in use; the `most_` fields are ignored.
    pub fn set_channels(&self, name: &str, channels: Channels) -> Result<()> {
        let now = self.read_channels(name)?;
        let mut words: Vec<u32> = (0..WORDS).map(|index| word(&now, index)).collect();
        words[0] = ETHTOOL_SCHANNELS;
        words[5] = channels.rx;
        words[6] = channels.tx;
        words[8] = channels.combined;
        self.ioctl("ioctl(ETHTOOL_SCHANNELS)", name, &mut bytes(&words))?;
        Ok(())
    }

    fn read_channels(&self, name: &str) -> Result<Vec<u8>> {
        let mut words = [0; WORDS];
        words[0] = ETHTOOL_GCHANNELS;
        let mut data = bytes(&words);
        self.ioctl("ioctl(ETHTOOL_GCHANNELS)", name, &mut data)?;
        Ok(data)
    }
}

const ETHTOOL_GCHANNELS: u32 = 0x3c;
const ETHTOOL_SCHANNELS: u32 = 0x3d;
/// `struct ethtool_channels`: command, four maxima, four counts.
const WORDS: usize = 9;
