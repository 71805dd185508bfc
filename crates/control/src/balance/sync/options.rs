//! `SyncOptions`: with whom a balancer synchronizes.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use functions::balancer::Sync;
use functions::balancer::sync::Key;
use sys::net::Netlink;

use crate::error::{FunctionError, Result};

/// Addresses and key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncOptions {
    pub listen: SocketAddr,
    /// Without the own one.
    pub peers: Vec<SocketAddr>,
    pub key_file: PathBuf,
}

impl SyncOptions {
    /// As a file of services states it.
    ///
    /// # Errors
    /// It does not state the own address, and none of its addresses is this host's.
    pub fn of(sync: &Sync) -> Result<Self> {
        let own = match sync.listen {
            Some(own) => own,
            None => own(&sync.peers)?,
        };
        let peers = sync.peers.iter().copied().filter(|peer| *peer != own).collect();
        Ok(Self { listen: own, peers, key_file: sync.key_file.clone() })
    }

    pub(super) fn key(&self) -> Result<Key> {
        read_key(&self.key_file)
    }
}

fn own(peers: &[SocketAddr]) -> Result<SocketAddr> {
    let addresses = Netlink::open()?.addresses()?;
    let is_own = |peer: &&SocketAddr| addresses.iter().any(|one| one.ip == peer.ip());
    let own = peers.iter().find(is_own).copied();
    own.ok_or_else(|| FunctionError::NoSyncAddress.into())
}

fn read_key(path: &Path) -> Result<Key> {
    let malformed =
        |reason: String| FunctionError::BalanceFile { path: path.display().to_string(), reason };
    let secret = std::fs::read(path).map_err(|error| malformed(error.to_string()))?;
    Ok(Key::new(&secret).map_err(|error| malformed(error.to_string()))?)
}
