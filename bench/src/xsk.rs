//! `xsk`: AF_XDP libraries side by side, and what Linux offers besides: AF_PACKET rings and UDP
//! sockets by the batch.
//!
//! Every implementation is a process that plays one role after the other (`xsk/peer.rs`); all are
//! measured in turn, in every round. Frames carry numbers of 64 bits: those that a peer sends are
//! counted where they arrive, those that it receives by itself. `XSK_PEERS` names a folder with
//! peers that are built; without it they are built from `bench/peers/xsk`, which wants Debian's
//! libxdp-dev, clang-19 and m4 for the two that stand on libxdp. `XSK_ROLES=tx,rx` and
//! `XSK_ONLY=ours,libxdp` leave the others out.
//!
//! What to know of veth. Where the receiver has a native program, it copies every packet that came
//! from a socket into a page of its own, whoever sent it (`skb_pp_cow_data` in a profile), and
//! takes one packet a softirq: that, not the library, is most of what a transmitted packet costs.
//! What AF_PACKET spends on receiving is spent on the sender's processor, so its echo costs its own
//! processor little more than sending does; AF_XDP's lead is in sending alone.

mod build;
mod counter;
mod field;
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

use crate::Entry;
use crate::harness::{Arm, Harness};
use field::Field;
use peer::{Peer, Steer};
use role::{Numbers, Role};

pub const ENTRY: Entry =
    Entry { name: "xsk", about: "AF_XDP sockets: ours and other libraries, by role", run };

fn run(harness: &mut Harness) -> Result<Bench> {
    let field = &Field::build()?;
    tell(&field.places());
    let (peers, client) = (&peers(), client());
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
            arms.push(Arm::new(&name, unit(role), move |window| {
                note(books, peer.name, &play(window)?)
            }));
        }
    }
    let mut bench = Bench::new("xsk");
    harness.interleave(&mut bench, &mut arms)?;
    drop(arms);
    add_others(&mut bench, &books.borrow());
    add_ratios(&mut bench, &played);
    Ok(bench)
}

/// All that is measured and can be had.
fn peers() -> Vec<Peer> {
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
        .filter_map(Made::peer)
        .collect()
}

/// Asks for round trips.
fn client() -> Option<Peer> {
    Made { name: AF_PACKET, found: build::rust(AF_PACKET, None), extra: None }.peer()
}

/// A program, or why there is none.
struct Made {
    name: &'static str,
    found: build::Found,
    /// A word in front of the role.
    extra: Option<&'static str>,
}

impl Made {
    fn peer(self) -> Option<Peer> {
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
        Some(Peer { name, command, steering, batch: BATCH })
    }
}

/// Rows beside the arms' own, with the rounds' values.
type Books = RefCell<BTreeMap<(usize, &'static str, &'static str), Vec<f64>>>;

/// Keeps what a run told besides its first number.
fn note(books: &Books, peer: &'static str, numbers: &Numbers) -> Result<f64> {
    let (first, others) = numbers.0.split_first().context("a run without numbers")?;
    for (row, _, value) in others {
        let place = OTHER_ROWS.iter().position(|(known, _)| known == row).context("which row?")?;
        books.borrow_mut().entry((place, row, peer)).or_default().push(*value);
    }
    Ok(first.2)
}

fn add_others(bench: &mut Bench, books: &BTreeMap<(usize, &str, &str), Vec<f64>>) {
    for ((place, row, peer), values) in books {
        // As the arms: the first round warms up.
        for value in values.iter().skip(1) {
            bench.round(&format!("{row}/{peer}"), OTHER_ROWS[*place].1, *value);
        }
    }
}

/// Ours over each other.
fn add_ratios(bench: &mut Bench, played: &[(Role, &str)]) {
    let own: Vec<Role> =
        played.iter().filter(|(_, name)| *name == OURS).map(|(role, _)| *role).collect();
    for (role, name) in played.iter().filter(|(role, name)| *name != OURS && own.contains(role)) {
        let rows: &[&str] = match role {
            Role::Rtt => &["rtt-p50", "rtt-p99"],
            role => &[role.row()],
        };
        for row in rows {
            bench.ratio(&format!("{row}/{OURS}"), &format!("{row}/{name}"));
        }
    }
}

/// Whether an environment variable leaves it in: there is none, or it names this one.
fn is_wanted(variable: &str, name: &str) -> bool {
    std::env::var(variable).map_or(true, |only| only.split(',').any(|word| word == name))
}

fn unit(role: Role) -> &'static str {
    if role == Role::Rtt { "ns" } else { "pps" }
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
pub const MMSG: &str = "mmsg";
/// Frames at a time, the same for all.
const BATCH: u32 = 64;
/// Whether it works at all.
const TRIAL: Duration = Duration::from_millis(50);
const OTHER_ROWS: [(&str, &str); 13] = [
    ("rtt-p99", "ns"),
    ("tx-user-ns", "ns"),
    ("rx-user-ns", "ns"),
    ("echo-user-ns", "ns"),
    ("forward-user-ns", "ns"),
    ("tx-system-ns", "ns"),
    ("rx-system-ns", "ns"),
    ("echo-system-ns", "ns"),
    ("forward-system-ns", "ns"),
    ("tx-missing", "%"),
    ("rx-missing", "%"),
    ("echo-missing", "%"),
    ("forward-missing", "%"),
];
