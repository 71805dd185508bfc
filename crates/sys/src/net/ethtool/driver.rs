//! Which driver a device has.

use super::{Ethtool, bytes, text};
use crate::error::Result;

/// The driver of an interface, as it identifies itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Driver {
    /// Name of the driver.
    pub name: String,
    /// Version of the driver.
    pub version: String,
    /// Version of the firmware; often empty.
    pub firmware: String,
    /// Such as `0000:03:00.0`; empty for virtual devices.
    pub bus: String,
}

impl Ethtool {
    /// Reads the driver of an interface.
    pub fn driver(&self, name: &str) -> Result<Driver> {
        let mut data = bytes(&[ETHTOOL_GDRVINFO]);
        data.resize(DRVINFO, 0);
        self.ioctl("ioctl(ETHTOOL_GDRVINFO)", name, &mut data)?;
        let field = |index: usize| text(&data[4 + index * 32..4 + (index + 1) * 32]);
        Ok(Driver { name: field(0), version: field(1), firmware: field(2), bus: field(3) })
    }
}

const ETHTOOL_GDRVINFO: u32 = 0x03;
/// `struct ethtool_drvinfo`.
const DRVINFO: usize = 196;
