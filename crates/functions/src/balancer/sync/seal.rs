//! `Key`: authenticates datagrams.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Bytes of the tag at the end of a datagram: HMAC-SHA-256, of which half is sent (RFC 2104).
pub const TAG: usize = 16;
/// Bytes that a secret must have.
const SHORTEST: usize = 16;

/// The key of datagrams.
#[derive(Clone)]
pub struct Key(Hmac<Sha256>);

/// A secret is too short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the key has {0} bytes; at least {SHORTEST} are needed, such as from `openssl rand -hex 32`"
)]
pub struct WeakKey(usize);

impl Key {
    /// Derived from a secret, so that other uses of the secret have other keys. White space at
    /// the end of the secret does not count.
    ///
    /// # Errors
    /// It is too short.
    pub fn new(secret: &[u8]) -> Result<Self, WeakKey> {
        let secret = secret.trim_ascii_end();
        if secret.len() < SHORTEST {
            return Err(WeakKey(secret.len()));
        }
        let derived = hmac(secret).chain_update(b"xway balance sync 1").finalize().into_bytes();
        Ok(Self(hmac(&derived)))
    }

    pub(super) fn tag(&self, bytes: &[u8]) -> [u8; TAG] {
        let whole: [u8; 32] = self.0.clone().chain_update(bytes).finalize().into_bytes().into();
        std::array::from_fn(|i| whole[i])
    }

    /// In constant time.
    pub(super) fn is_tag(&self, bytes: &[u8], tag: &[u8]) -> bool {
        self.0.clone().chain_update(bytes).verify_truncated_left(tag).is_ok()
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

fn hmac(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC has keys of all lengths")
}
