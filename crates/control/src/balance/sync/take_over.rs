//! What a balancer takes over before packets meet it: the state of the program that it replaces,
//! and that of a peer.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use functions::balancer::sync::wire::{Item, Message};
use functions::balancer::sync::{self, CellMemory, Flow, copies, merge, now_units};
use functions::balancer::{self, Config, Maps, Out};
use kernel::Map;
use spec::Spec;
use sys::poll::{self, Watch};
use sys::thread::monotonic_ns;

use super::super::{OwnMaps, Running};
use super::endpoint::Endpoint;
use super::memory::FlowMemory;
use super::options::SyncOptions;
use super::pull::Pull;
use super::store::{Known, Store, Tally};
use crate::error::Result;
use crate::record::Record;

/// The maps of the program that is replaced, if its flows have the hash of the new one.
pub fn prepare(old: &Running, config: &Config, spec: &mut Spec) -> Result<Option<OwnMaps>> {
    let record = Record::read(&old.generation)?.and_then(|record| record.balance);
    if record.is_none_or(|before| before.key != config.key) {
        return Ok(None);
    }
    let maps = old.maps()?;
    sync::needs(spec, &maps.named(), config)?;
    Ok(Some(maps))
}

/// Fills the maps of a program that does not run yet with the state of the one that it replaces,
/// and brings them to the configuration.
pub fn start(
    old: Option<&OwnMaps>,
    new: &Maps<'_, Map>,
    config: &Config,
    lost: &Out,
) -> Result<()> {
    if let Some(old) = old {
        sync::inherit(&old.named(), new)?;
        continue_flows(old.named().flows, new.flows)?;
    }
    balancer::take_out(config, new, lost.clone())?;
    Ok(())
}

/// Merges the flows of the program that is replaced; also those which it remembered after the
/// first time.
pub fn continue_flows(old: &Map, new: &Map) -> Result<()> {
    let (from, to) = (FlowMemory::new(old)?, FlowMemory::new(new)?);
    let now = now_units(monotonic_ns());
    for line in 0..from.lines() {
        for way in 0..WAYS {
            let Some(flow) = Flow::of(from.read(line, way), now) else { continue };
            for line in copies(line, from.lines(), to.lines()) {
                merge(&to, line, flow, now);
            }
        }
    }
    Ok(())
}

/// Requests history and flows of the first peer that answers, for at most this time, into maps
/// that packets do not meet yet. Returns whether all of it arrived.
pub fn from_peers(
    maps: &Maps<'_, Map>,
    config: &Config,
    options: &SyncOptions,
    wait: Duration,
) -> Result<bool> {
    let deadline = Instant::now() + wait;
    let memory = FlowMemory::new(maps.flows)?;
    let (mut known, mut tally) = (Known::default(), Tally::default());
    known.refresh(maps)?;
    let items = items(&known);
    let mut store =
        Store { maps, memory: &memory, known: &mut known, tally: &mut tally, adopts: Some(config) };
    // The process that synchronizes may have the port.
    let mut endpoint = Endpoint::open(options, SocketAddr::new(options.listen.ip(), 0))?;
    let (mut pull, mut hello_at): (Option<Pull>, _) = (None, Instant::now());
    loop {
        let now = Instant::now();
        while let Some(received) = endpoint.receive(memory.lines())? {
            let from = received.from;
            if received.joined && pull.is_none() {
                let number = endpoint.random()? as u32;
                pull = Some(Pull::new(from, number, items.clone()));
            }
            let Some(pull) = &mut pull else { continue };
            match &received.message {
                Message::Cells(one) if pull.admits(from, one.id) => store.flows(one, None)?,
                Message::History(one) if pull.admits(from, one.id) => store.history(one)?,
                Message::End(end) => pull.end(from, end, now),
                _ => {}
            }
        }
        if pull.as_ref().is_some_and(Pull::is_done) {
            return Ok(true);
        }
        if now >= deadline {
            return Ok(false);
        }
        if hello_at <= now {
            endpoint.hello(memory.lines());
            hello_at = now + HELLO;
        }
        if let Some((pull, message)) =
            pull.as_mut().and_then(|one| Some((one.from, one.request(now)?)))
        {
            endpoint.send(pull, &message);
        }
        let due = pull.as_ref().map_or(hello_at, |pull| pull.due().min(hello_at)).min(deadline);
        let timeout = due.saturating_duration_since(Instant::now());
        poll::wait(&mut [Watch::readable(endpoint.fd())], Some(timeout))?;
    }
}

/// History first: a flow is only looked for where a slot moved.
fn items(known: &Known) -> Vec<Item> {
    let history = known.tables.iter().map(|(service, tables)| Item::History {
        service: *service,
        slot: 0,
        digest: tables.digest(&known.live),
    });
    history.chain([Item::Cells { line: 0 }]).collect()
}

/// Time between two signs of life while no peer answered.
const HELLO: Duration = Duration::from_millis(100);
/// `BALANCER_WAYS`.
const WAYS: usize = 8;
