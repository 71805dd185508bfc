//! `SyncStatus`: what the process that synchronizes a balancer reports, kept beside its program.
//!
//! Rule: it is only shown. Nothing continues from it.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};
use spec::Map as _;
use sys::thread::monotonic_ns;

use super::super::running;
use super::declared;
use crate::Control;
use crate::balance::Running;
use crate::error::Result;
use crate::map_names::SYNC;
use crate::state::Generation;
use crate::target::Target;
use crate::text_map::create_text_map;

/// What is known of the synchronization of a balancer.
#[derive(Clone, Debug, Serialize)]
pub struct SyncStatus {
    /// Whether a process synchronizes it: one reported in the last 3 seconds.
    pub running: bool,
    /// Seconds since the last report; null before the first one.
    pub age_s: Option<f64>,
    /// The last report; null before the first one.
    pub report: Option<SyncReport>,
}

/// The synchronization of a balancer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SyncReport {
    /// Own address and UDP port.
    pub listen: SocketAddr,
    /// The other balancers.
    pub peers: Vec<PeerReport>,
    /// Flows that were sent because they changed, for each peer.
    pub sent: u64,
    /// Flows that arrived, by what they changed.
    pub flows: BTreeMap<String, u64>,
    /// Flows whose backend is unknown here, or down.
    pub unknown: u64,
    /// Flows of a balancer whose `flows` is smaller than a 64th.
    pub lines: u64,
    /// Slots in which remembered flows are looked for because a peer has another backend.
    pub watched: u64,
    /// Datagrams that were refused, by reason.
    pub refused: BTreeMap<String, u64>,
}

/// Another balancer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PeerReport {
    /// Its address and UDP port.
    pub address: SocketAddr,
    /// Whether its process is known and has been heard in the last 3 seconds.
    pub up: bool,
    /// Whether its flows were all received since its process or this one began.
    pub in_step: bool,
    /// Seconds since it was last heard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heard: Option<f64>,
    /// Datagrams that were sent to it.
    pub sent: u64,
    /// Datagrams that arrived and were fresh.
    pub received: u64,
    /// Datagrams of it that did not arrive.
    pub lost: u64,
}

/// A report, as it is kept.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    /// When it was written, in nanoseconds of the monotonic clock.
    at_ns: u64,
    report: SyncReport,
}

impl SyncStatus {
    /// What is known where the file names peers, or a process synchronized.
    ///
    /// # Errors
    /// The record cannot be read.
    pub(crate) fn of(running: &Running) -> Result<Option<Self>> {
        let kept = read(&running.generation)?;
        if kept.is_none() && declared(running)?.is_none() {
            return Ok(None);
        }
        let age = |kept: &Kept| monotonic_ns().saturating_sub(kept.at_ns) as f64 / 1e9;
        let age_s = kept.as_ref().map(age);
        let running = age_s.is_some_and(|age| age < SILENCE_S);
        Ok(Some(Self { running, age_s, report: kept.map(|kept| kept.report) }))
    }
}

/// Keeps a report beside the program of an interface, while no other process changes that.
///
/// # Errors
/// No balancer runs there, or the map cannot be replaced.
pub fn keep(control: &Control, interface: &str, report: SyncReport) -> Result<()> {
    let target = Target::open(control, interface)?;
    let running = running(&target)?;
    let kept = Kept { at_ns: monotonic_ns(), report };
    // The line break keeps the map from being empty, which the kernel refuses.
    let text = serde_json::to_string(&kept).unwrap_or_default() + "\n";
    running.generation.replace_map(SYNC, &create_text_map(SYNC, &text)?)
}

fn read(generation: &Generation) -> Result<Option<Kept>> {
    let Some(map) = generation.map_if_kept(SYNC)? else { return Ok(None) };
    let bytes = map.lookup(&[0; 4])?.unwrap_or_default();
    Ok(serde_json::from_slice(&bytes).ok())
}

/// Reports are written each second.
const SILENCE_S: f64 = 3.0;
