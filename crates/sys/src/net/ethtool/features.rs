//! Offloads and other switches of a device, by the kernel's own names (`rx-gro`,
//! `tx-checksum-ip-generic`), or by the short names that `ethtool -K` has for groups of them.

use super::strings::StringSet;
use super::{Ethtool, bytes, word};
use crate::error::{Error, Result};

/// One switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// Name of the feature, such as `rx-gro`.
    pub name: String,
    /// Whether it is enabled.
    pub active: bool,
    /// Whether it can be changed on this device.
    pub changeable: bool,
}

impl Ethtool {
    /// Reads all features of an interface.
    pub fn features(&self, name: &str) -> Result<Vec<Feature>> {
        let names = self.strings(name, StringSet::Features)?;
        let blocks = names.len().div_ceil(32);
        let mut data = bytes(&[ETHTOOL_GFEATURES, blocks as u32]);
        data.resize(8 + blocks * 16, 0);
        self.ioctl("ioctl(ETHTOOL_GFEATURES)", name, &mut data)?;
        let set =
            |bit: usize, field: usize| word(&data, 2 + bit / 32 * 4 + field) & 1 << (bit % 32) != 0;
        Ok(names
            .into_iter()
            .enumerate()
            .map(|(bit, name)| Feature {
                name,
                active: set(bit, ACTIVE),
                changeable: set(bit, AVAILABLE) && !set(bit, NEVER_CHANGED),
            })
            .filter(|feature| !feature.name.is_empty())
            .collect())
    }

    /// Whether every member of the feature or group that can be on is on.
    pub fn feature(&self, name: &str, feature: &str) -> Result<bool> {
        let features = self.features(name)?;
        let members: Vec<_> = features.iter().filter(|one| belongs(&one.name, feature)).collect();
        if members.is_empty() {
            return Err(unknown("ioctl(ETHTOOL_GFEATURES)", name, feature));
        }
        let mut relevant = members.iter().filter(|one| one.changeable).peekable();
        if relevant.peek().is_some() {
            return Ok(relevant.all(|one| one.active));
        }
        Ok(members.iter().any(|one| one.active))
    }

    /// Switches a feature, or all changeable members of a group: `gro`, `tx-checksum`,
    /// `rx-checksum`, `tso`, `gso`, `lro`.
    pub fn set_feature(&self, name: &str, feature: &str, on: bool) -> Result<()> {
        // Bits count the kernel's whole string set, so it is read again with its empty names.
        let names = self.strings(name, StringSet::Features)?;
        let features = self.features(name)?;
        let find = |bit_name: &str| features.iter().find(|one| one.name == bit_name);
        let mut known = false;
        let mut blocks = vec![[0u32; 2]; names.len().div_ceil(32)];
        for (bit, bit_name) in names.iter().enumerate() {
            if !belongs(bit_name, feature) {
                continue;
            }
            known = true;
            if find(bit_name).is_some_and(|one| one.changeable && one.active != on) {
                blocks[bit / 32][VALID] |= 1 << (bit % 32);
                blocks[bit / 32][REQUESTED] |= u32::from(on) << (bit % 32);
            }
        }
        if !known {
            return Err(unknown(SET, name, feature));
        }
        self.send_features(name, &blocks)?;
        if self.feature(name, feature)? == on {
            return Ok(());
        }
        let detail = format!("the device keeps feature {feature} as it is");
        Err(Error::new(SET, name, libc::EOPNOTSUPP).with_detail(detail))
    }

    fn send_features(&self, name: &str, blocks: &[[u32; 2]]) -> Result<()> {
        if blocks.iter().all(|block| block[VALID] == 0) {
            return Ok(());
        }
        let mut data = bytes(&[ETHTOOL_SFEATURES, blocks.len() as u32]);
        data.extend(blocks.iter().flat_map(|block| bytes(block)));
        self.ioctl(SET, name, &mut data)?;
        Ok(())
    }
}

/// Whether a kernel feature is what the caller means.
fn belongs(name: &str, wanted: &str) -> bool {
    match wanted {
        "gro" => name == "rx-gro",
        "lro" => name == "rx-lro",
        "gso" => name == "tx-generic-segmentation",
        "tso" => name.starts_with("tx-tcp") && name.ends_with("segmentation"),
        "tx-checksum" => name.starts_with("tx-checksum-"),
        "rx-checksum" => name == "rx-checksum",
        exact => !exact.is_empty() && name == exact,
    }
}

fn unknown(call: &'static str, name: &str, feature: &str) -> Error {
    let detail = format!("this kernel knows no feature called {feature}");
    Error::new(call, name, libc::EINVAL).with_detail(detail)
}

const SET: &str = "ioctl(ETHTOOL_SFEATURES)";
const ETHTOOL_GFEATURES: u32 = 0x3a;
const ETHTOOL_SFEATURES: u32 = 0x3b;

// Words of `struct ethtool_get_features_block`.
const AVAILABLE: usize = 0;
const ACTIVE: usize = 2;
const NEVER_CHANGED: usize = 3;

// Words of `struct ethtool_set_features_block`.
const VALID: usize = 0;
const REQUESTED: usize = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_hold_the_kernels_features() {
        let cases = [
            ("rx-gro", "gro", true),
            ("rx-gro-list", "gro", false),
            ("tx-checksum-ip-generic", "tx-checksum", true),
            ("tx-tcp6-segmentation", "tso", true),
            ("tx-tcp-mangleid-segmentation", "tso", true),
            ("tx-gre-segmentation", "tso", false),
            ("rx-gro-list", "rx-gro-list", true),
            ("", "", false),
        ];
        for (name, wanted, expected) in cases {
            assert_eq!(belongs(name, wanted), expected, "{name} in {wanted}");
        }
    }
}
