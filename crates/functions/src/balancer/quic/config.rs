//! Configurations and server ids as the user writes them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use packet::{ParseError, hex};
use serde::{Deserialize, Serialize};

use super::MOST_LENGTH;

/// How servers make ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuicConfig {
    /// Its number, 0 to 6: the three upper bits of ids.
    pub config: u8,
    /// Bytes of the server id.
    pub server_id_length: u8,
    /// Bytes of the nonce.
    pub nonce_length: u8,
    /// Without one, ids are not encrypted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Key>,
}

/// An AES key, as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Key(pub [u8; 16]);

/// What names a backend in ids, as hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ServerId(pub Vec<u8>);

/// The server ids of a backend: one, or a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "OneOrMore", into = "OneOrMore")]
pub struct ServerIds(pub Vec<ServerId>);

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(ServerId),
    More(Vec<ServerId>),
}

/// Why configurations and server ids are refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuicError {
    #[error("`quic` requires `protocol = \"udp\"`")]
    Protocol,
    #[error("QUIC configuration {0}: expected a number from 0 to 6")]
    Number(u8),
    #[error("QUIC configuration {0} is listed twice")]
    Twice(u8),
    #[error(
        "QUIC configuration {config}: {server_id} bytes of server id and {nonce} of nonce; \
         expected at least 1 and 4, together at most {MOST_LENGTH}"
    )]
    Lengths { config: u8, server_id: u8, nonce: u8 },
    #[error("backend {address} has no server id of {length} bytes for QUIC configuration {config}")]
    Missing { address: IpAddr, length: u8, config: u8 },
    #[error(
        "backend {address}: no QUIC configuration has server ids of {} bytes: {id}", id.0.len()
    )]
    Length { address: IpAddr, id: ServerId },
    #[error("backends {first} and {second} have the server id {id}")]
    Shared { first: IpAddr, second: IpAddr, id: ServerId },
}

impl QuicConfig {
    /// Bytes of server id and nonce.
    pub(super) fn length(&self) -> usize {
        usize::from(self.server_id_length) + usize::from(self.nonce_length)
    }

    fn check(&self) -> Result<(), QuicError> {
        if self.config > 6 {
            return Err(QuicError::Number(self.config));
        }
        let (config, server_id, nonce) = (self.config, self.server_id_length, self.nonce_length);
        if server_id < 1 || nonce < 4 || self.length() > MOST_LENGTH {
            return Err(QuicError::Lengths { config, server_id, nonce });
        }
        Ok(())
    }
}

/// Checks the configurations of a service, and the server ids of its backends.
///
/// # Errors
/// What contradicts itself.
pub fn check<'c>(
    configs: &[QuicConfig],
    backends: impl Iterator<Item = (IpAddr, &'c ServerIds)>,
) -> Result<(), QuicError> {
    let mut numbers = BTreeSet::new();
    for config in configs {
        config.check()?;
        if !numbers.insert(config.config) {
            return Err(QuicError::Twice(config.config));
        }
    }
    let mut owners: BTreeMap<&ServerId, IpAddr> = BTreeMap::new();
    for (address, ids) in backends {
        let has = |length: u8| ids.0.iter().any(|id| id.0.len() == usize::from(length));
        if let Some(config) = configs.iter().find(|config| !has(config.server_id_length)) {
            let (length, config) = (config.server_id_length, config.config);
            return Err(QuicError::Missing { address, length, config });
        }
        for id in &ids.0 {
            let is_used =
                configs.iter().any(|config| usize::from(config.server_id_length) == id.0.len());
            if !is_used {
                return Err(QuicError::Length { address, id: id.clone() });
            }
            if let Some(first) = owners.insert(id, address) {
                return Err(QuicError::Shared { first, second: address, id: id.clone() });
            }
        }
    }
    Ok(())
}

impl ServerIds {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<OneOrMore> for ServerIds {
    fn from(ids: OneOrMore) -> Self {
        match ids {
            OneOrMore::One(id) => Self(vec![id]),
            OneOrMore::More(ids) => Self(ids),
        }
    }
}

impl From<ServerIds> for OneOrMore {
    fn from(ids: ServerIds) -> Self {
        match <[ServerId; 1]>::try_from(ids.0) {
            Ok([id]) => Self::One(id),
            Err(ids) => Self::More(ids),
        }
    }
}

/// The key is not printed.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

impl FromStr for Key {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = || ParseError::new("key", "expected 32 hexadecimal digits");
        let bytes = bytes(text).ok_or_else(wrong)?;
        bytes.try_into().map(Self).map_err(|_| wrong())
    }
}

impl FromStr for ServerId {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let bytes = bytes(text).filter(|bytes| !bytes.is_empty());
        let wrong = || ParseError::new(text, "expected two hexadecimal digits for each byte");
        bytes.map(Self).ok_or_else(wrong)
    }
}

/// Bytes of hexadecimal digits.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let digit = |digit: &u8| char::from(*digit).to_digit(16);
    let pair = |pair: &[u8]| match pair {
        [high, low] => Some((digit(high)? << 4 | digit(low)?) as u8),
        _ => None,
    };
    text.as_bytes().chunks(2).map(pair).collect()
}

impl TryFrom<String> for Key {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        text.parse()
    }
}

impl From<Key> for String {
    fn from(key: Key) -> Self {
        hex(&key.0)
    }
}

impl TryFrom<String> for ServerId {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        text.parse()
    }
}

impl From<ServerId> for String {
    fn from(id: ServerId) -> Self {
        hex(&id.0)
    }
}

impl fmt::Display for ServerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&hex(&self.0))
    }
}
