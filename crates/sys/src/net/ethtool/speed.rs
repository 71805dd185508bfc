//! How fast a device's link is.

use super::{Ethtool, bytes, word};
use crate::error::Result;

impl Ethtool {
    /// Speed in Mbit/s; `None` without a carrier, or if the driver does not report it.
    pub fn speed_mbit(&self, name: &str) -> Result<Option<u32>> {
        let call = "ioctl(ETHTOOL_GLINKSETTINGS)";
        let mut data = bytes(&[ETHTOOL_GLINKSETTINGS]);
        data.resize(HEAD, 0);
        // Without space for link modes, the kernel returns the required size as a negative number.
        self.ioctl(call, name, &mut data)?;
        let masks = (data[MASK_WORDS] as i8).unsigned_abs();
        data.resize(HEAD + MASKS * usize::from(masks) * 4, 0);
        data[MASK_WORDS] = masks;
        self.ioctl(call, name, &mut data)?;
        Ok(Some(word(&data, 1)).filter(|speed| (1..UNKNOWN).contains(speed)))
    }
}

const ETHTOOL_GLINKSETTINGS: u32 = 0x4c;
/// `struct ethtool_link_settings` up to its masks: supported, advertised, the partner's.
const HEAD: usize = 48;
const MASKS: usize = 3;
/// Offset of `link_mode_masks_nwords`.
const MASK_WORDS: usize = 15;
/// `INT_MAX` and above (`SPEED_UNKNOWN` is -1) mean an unknown speed.
const UNKNOWN: u32 = i32::MAX as u32;
