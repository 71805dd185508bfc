//! `xsk`: AF_XDP libraries side by side, and what Linux offers besides: AF_PACKET rings and UDP
//! sockets by the batch.
//!
//! Every implementation is a process that plays one role after the other (`xsk/peer.rs`); all are
//! measured in turn, in every round. Frames carry numbers of 64 bits: those that a peer sends are
//! counted where they arrive, those that it receives by the peer. `XSK_PEERS` names a folder with
//! peers that are built; without it they are built from `bench/peers/xsk`, which needs Debian's
//! libxdp-dev, clang-19 and m4 for the two that use libxdp. `XSK_ROLES=tx,rx` and
//! `XSK_ONLY=ours,libxdp` leave the others out; `XSK_BATCH=32` sets the batch size of all of them,
//! instead of 64.
//!
//! Roles `rx-lost`, `echo-lost` and `forward-lost` account for every frame: the generator floods
//! for a while and stops, the peer continues until no more frames arrive. Of all that the generator
//! counted as offered, `rx-lost/PEER` did not arrive, and for `rx-unnamed/PEER` there is no cause.
//! Where frames were lost for a known cause there is a row `rx-lost-NAME/PEER`: `link` (no room in
//! the peer's interface), `ring-full` (no room where the peer takes its frames from), `dropped`
//! (the kernel's other drops for its socket: no empty frame), `refused` (the peer had no free slot
//! to send it), `out` (lost after the peer). Role `rx-paced` is the same at 200,000 frames a
//! second: `rx-paced-missing/PEER` frames did not arrive, and it should be 0. That requires an idle
//! machine: a peer that spins instead of sleeping is made to wait for its processor in turn, and
//! rings of 2048 are full after 10 ms.
//!
//! What to know of veth. Where the receiver has a native program, it copies every packet that came
//! from a socket into a page of its own, whatever its source (`skb_pp_cow_data` in a profile), and
//! takes one packet a softirq: that, not the library, is most of what a transmitted packet costs.
//! What AF_PACKET spends on receiving is spent on the sender's processor, so its echo costs its own
//! processor little more than sending does; AF_XDP's lead is in sending alone.

mod build;
mod counter;
mod field;
mod outcome;
mod peer;
mod role;
mod steering;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use report::Bench;

use crate::harness::{Arm, Harness};
use crate::{Effort, Kind, Scenario, Testbed};
use field::Field;
use peer::{Peer, Steer};
use role::{Numbers, Role};

/// The scenario `xsk`.
pub const SCENARIO: Scenario = Scenario {
    name: "xsk",
    kind: Kind::Part,
    about: "AF_XDP sockets: ours and other libraries, by role",
    effort: Effort::USUAL,
    run,
};

fn run(harness: &mut Harness, _: &Testbed) -> Result<Bench> {
    let field = &Field::build()?;
    tell(&field.places());
    let batch = batch()?;
    let (peers, client) = (&peers(batch), client(batch));
    let client = client.as_ref();
    let books: &Books = &RefCell::default();
    let mut arms = Vec::new();
    let mut played = Vec::new();
    for role in Role::ALL.into_iter().filter(|role| is_wanted("XSK_ROLES", role.word())) {
        for peer in peers {
            let play = move |window| field.play(peer, role, client, window);
            if let Err(why) = play(TRIAL) {
                tell(&format!("{}/{} is left out: {why:#}", role.word(), peer.name));
                continue;
            }
            played.push((role, peer.name));
            let name = format!("{}/{}", role.row(), peer.name);
            arms.push(Arm::new(&name, role.unit(), move |window| {
                note(books, peer.name, &play(window)?)
            }));
        }
    }
    let mut bench = Bench::new("xsk");
    harness.interleave(&mut bench, &mut arms)?;
    drop(arms);
    add_others(&mut bench, books);
    add_ratios(&mut bench, &played);
    Ok(bench)
}

/// All implementations that are available.
fn peers(batch: u32) -> Vec<Peer> {
    let library = |name, feature| Made { name, found: build::rust(name, feature), extra: None };
    let made = [
        library(OURS, Some("ours")),
        Made { name: OURS_IN_MAP, found: build::rust(OURS, Some("ours")), extra: None },
        Made { name: "libxdp", found: build::libxdp(), extra: None },
        Made { name: LIBXDP_BUDGET, found: build::libxdp(), extra: Some("--budget") },
        library("xsk-rs", Some("xsk-rs")),
        library("xdpilone", Some("xdpilone")),
        library("xdp", Some("xdp")),
        library(AF_PACKET, None),
        library(MMSG, None),
    ];
    made.into_iter()
        .filter(|made| is_wanted("XSK_ONLY", made.name))
        .filter_map(|made| made.peer(batch))
        .collect()
}

/// Adds the ratios of round trips.
fn client(batch: u32) -> Option<Peer> {
    Made { name: AF_PACKET, found: build::rust(AF_PACKET, None), extra: None }.peer(batch)
}

/// A program, or why there is none.
struct Made {
    name: &'static str,
    found: build::Found,
    /// An argument before the role.
    extra: Option<&'static str>,
}

impl Made {
    fn peer(self, batch: u32) -> Option<Peer> {
        let name = self.name;
        let path: PathBuf = match self.found {
            Ok(path) => path,
            Err(why) => {
                tell(&format!("{name} is not here: {why:#}"));
                return None;
            }
        };
        let program = path.to_string_lossy().into_owned();
        let command = [Some(program), self.extra.map(String::from)].into_iter().flatten().collect();
        let is_of_stack = [AF_PACKET, MMSG].contains(&name);
        let steering = match name {
            OURS => Steer::Own,
            _ if is_of_stack => Steer::Stack,
            _ => Steer::Map,
        };
        Some(Peer { name, command, steering, batch })
    }
}

/// Rows beside the arms' own, with their unit and the rounds' values.
type Books = RefCell<BTreeMap<(usize, &'static str, &'static str), (&'static str, Vec<f64>)>>;

/// Stores the values of a run besides its first one.
fn note(books: &Books, peer: &'static str, numbers: &Numbers) -> Result<f64> {
    let (first, others) = numbers.0.split_first().context("a run without numbers")?;
    for (row, unit, value) in others {
        let place = other_rows().position(|known| known == *row).context("which row?")?;
        let mut books = books.borrow_mut();
        let (_, values) = books.entry((place, row, peer)).or_insert((unit, Vec::new()));
        values.push(*value);
    }
    Ok(first.2)
}

fn add_others(bench: &mut Bench, books: &Books) {
    for ((_, row, peer), (unit, values)) in books.borrow().iter() {
        // As the arms: the first round warms up.
        let values = values.get(1..).unwrap_or_default();
        if outcome::is_name(row) && values.iter().all(|value| *value == 0.0) {
            continue;
        }
        for value in values {
            bench.round(&format!("{row}/{peer}"), unit, *value);
        }
    }
}

/// Rows in the order in which they are shown.
fn other_rows() -> impl Iterator<Item = &'static str> {
    OTHER_ROWS.into_iter().chain(outcome::ALL.into_iter().flatten())
}

/// Ours over each other, but of losses: there are none to divide by when all is well.
fn add_ratios(bench: &mut Bench, played: &[(Role, &str)]) {
    let played = played.iter().filter(|(role, _)| !role.is_counted_out());
    let own: Vec<Role> =
        played.clone().filter(|(_, name)| *name == OURS).map(|(role, _)| *role).collect();
    for (role, name) in played.filter(|(role, name)| *name != OURS && own.contains(role)) {
        let rows: &[&str] = match role {
            Role::Rtt => &["rtt-p50", "rtt-p99"],
            role => &[role.row()],
        };
        for row in rows {
            bench.ratio(&format!("{row}/{OURS}"), &format!("{row}/{name}"));
        }
    }
}

/// Whether an environment variable selects it: it is unset, or contains this name.
fn is_wanted(variable: &str, name: &str) -> bool {
    std::env::var(variable).map_or(true, |only| only.split(',').any(|word| word == name))
}

/// Frames at a time, the same for all.
fn batch() -> Result<u32> {
    let Some(text) = std::env::var_os("XSK_BATCH") else { return Ok(BATCH) };
    let number = text.to_str().and_then(|text| text.parse().ok());
    let number = number.filter(|number| (1..=BATCH_MOST).contains(number));
    number.with_context(|| format!("XSK_BATCH={}: from 1 to {BATCH_MOST}", text.display()))
}

fn tell(line: &str) {
    // A courtesy: a closed stderr must not spoil the measurement.
    let _ = writeln!(std::io::stderr(), "{line}");
}

const OURS: &str = "ours";
/// Ours with the program that the other libraries have.
const OURS_IN_MAP: &str = "ours-in-map";
const LIBXDP_BUDGET: &str = "libxdp-budget";
const AF_PACKET: &str = "af-packet";
/// Name of the peer that uses `sendmmsg` and `recvmmsg`.
pub const MMSG: &str = "mmsg";
const BATCH: u32 = 64;
/// Number of frames in each peer's memory.
const BATCH_MOST: u32 = 1024;
/// Whether it works at all.
const TRIAL: Duration = Duration::from_millis(50);
const OTHER_ROWS: [&str; 13] = [
    "rtt-p99",
    "tx-user-ns",
    "rx-user-ns",
    "echo-user-ns",
    "forward-user-ns",
    "tx-system-ns",
    "rx-system-ns",
    "echo-system-ns",
    "forward-system-ns",
    "tx-missing",
    "rx-missing",
    "echo-missing",
    "forward-missing",
];
