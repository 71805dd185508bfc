//! The commands of the campaign: the state before, the command, and the way back.
//!
//! Rule: one row a command. `{new}`, `{old}`, `{new-services}`, `{old-services}` and `{lab}` stand
//! for files of rules and of services and for the lab that the scene made; every row leads from a
//! state that its `setup` makes to one that `back` undoes.

/// A command and its surroundings.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    pub name: &'static str,
    /// From an interface without a program, or a machine without the lab, into the old state.
    pub setup: &'static [Words],
    /// The command that meets faults.
    pub command: Words,
    /// From the new state into the old one.
    pub back: &'static [Words],
    pub place: Place,
    /// The kernel has no atomic step for this change: until the next command repairs it, a kill may
    /// leave the interface without a program.
    pub has_gap: bool,
    /// The command needs packets to end: UDP to port 5000 arrives while it runs.
    pub has_traffic: bool,
    /// Points of one campaign, chosen by its seed: for a command that runs for many seconds.
    pub most_points: usize,
}

pub type Words = &'static [&'static str];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On a host with an interface that receives packets.
    Host,
    /// Where the campaign was started; the command makes hosts of its own.
    Home,
}

const fn on_host(
    name: &'static str,
    setup: &'static [Words],
    command: Words,
    back: &'static [Words],
) -> Scenario {
    Scenario {
        name,
        setup,
        command,
        back,
        place: Place::Host,
        has_gap: false,
        has_traffic: false,
        most_points: usize::MAX,
    }
}

const fn at_home(
    name: &'static str,
    setup: &'static [Words],
    command: Words,
    back: &'static [Words],
) -> Scenario {
    Scenario { place: Place::Home, ..on_host(name, setup, command, back) }
}

const DETACH: Words = &["detach", "eth0"];
const DROP: Words = &["drop", "eth0", "any udp 7"];
const LOAD: Words = &["filter", "load", "eth0", "{old}"];
const BALANCE: Words = &["balance", "load", "eth0", "{old-services}"];
const CHAIN_DROP: Words = &["drop", "eth0", "any udp 8"];
const CHAIN_ADD: Words = &["chain", "eth0", "add", "drop"];
const LAB_UP: Words = &["lab", "up", "two-hosts"];
/// What a command that changes nothing for good needs to be undone.
const NOTHING: &[Words] = &[];

pub const SCENARIOS: &[Scenario] = &[
    on_host("attach", NOTHING, &["attach", "eth0", "{object}"], &[DETACH]),
    on_host(
        "replace",
        &[DROP],
        &["attach", "eth0", "{object}", "--replace"],
        &[&["drop", "eth0", "any udp 7", "--replace"]],
    ),
    Scenario {
        has_gap: true,
        ..on_host(
            "mode",
            &[DROP],
            &["drop", "eth0", "any udp 7", "--mode", "generic", "--replace"],
            &[&["drop", "eth0", "any udp 7", "--replace"]],
        )
    },
    on_host("detach", &[DROP], DETACH, &[DROP]),
    on_host("drop", NOTHING, DROP, &[DETACH]),
    on_host(
        "drop-add",
        &[DROP],
        &["drop", "eth0", "--add", "any udp 8"],
        &[&["drop", "eth0", "--remove", "any udp 8"]],
    ),
    on_host(
        "drop-remove",
        &[&["drop", "eth0", "any udp 7", "any udp 8"]],
        &["drop", "eth0", "--remove", "any udp 8"],
        &[&["drop", "eth0", "--add", "any udp 8"]],
    ),
    on_host(
        "forward",
        NOTHING,
        &["forward", "eth0", "--nat", "10.0.0.2 udp 7 -> 10.0.0.1", "--nat-only"],
        &[DETACH],
    ),
    on_host("balance-load", NOTHING, BALANCE, &[DETACH]),
    on_host(
        "balance-change",
        &[BALANCE],
        &["balance", "load", "eth0", "{new-services}"],
        &[BALANCE],
    ),
    on_host(
        "chain-balance",
        &[LOAD],
        &["balance", "load", "eth0", "{new-services}"],
        &[&["chain", "eth0", "remove", "balance"]],
    ),
    on_host("filter-load", NOTHING, LOAD, &[&["filter", "unload", "eth0"]]),
    on_host("filter-reload", &[LOAD], &["filter", "load", "eth0", "{new}"], &[LOAD]),
    on_host(
        "filter-add",
        &[LOAD],
        &["filter", "add", "eth0", "drop udp dport 8", "--name", "eight"],
        &[&["filter", "remove", "eth0", "eight"]],
    ),
    on_host("chain-add", &[LOAD], CHAIN_DROP, &[&["chain", "eth0", "remove", "drop"]]),
    on_host(
        "chain-move",
        &[LOAD, CHAIN_DROP],
        &["chain", "eth0", "move", "filter", "--continue-on", "drop"],
        &[&["chain", "eth0", "move", "filter", "--continue-on", "pass"]],
    ),
    on_host(
        "chain-remove",
        &[LOAD, CHAIN_DROP],
        &["chain", "eth0", "remove", "drop"],
        &[CHAIN_DROP],
    ),
    on_host(
        "chain-filter",
        &[LOAD, CHAIN_ADD],
        &["filter", "add", "eth0", "drop udp dport 8", "--name", "eight"],
        &[&["filter", "remove", "eth0", "eight"]],
    ),
    on_host("filter-remove", &[LOAD], &["filter", "remove", "eth0", "seven"], &[LOAD]),
    on_host("filter-flush", &[LOAD], &["filter", "flush", "eth0"], &[LOAD]),
    on_host("filter-unload", &[LOAD], &["filter", "unload", "eth0"], &[LOAD]),
    on_host(
        "filter-ban",
        &[LOAD],
        &["filter", "ban", "eth0", "192.0.2.1"],
        &[&["filter", "unban", "eth0", "192.0.2.1"], LOAD],
    ),
    on_host(
        "filter-ban-again",
        &[LOAD, &["filter", "ban", "eth0", "192.0.2.9"]],
        &["filter", "ban", "eth0", "192.0.2.1"],
        &[&["filter", "unban", "eth0", "192.0.2.1"]],
    ),
    on_host(
        "filter-unban",
        &[LOAD, &["filter", "ban", "eth0", "192.0.2.1"]],
        &["filter", "unban", "eth0", "192.0.2.1"],
        &[&["filter", "ban", "eth0", "192.0.2.1"]],
    ),
    on_host("filter-try", &[LOAD], &["filter", "try", "eth0", "{new}", "--for", "60ms"], NOTHING),
    on_host("filter-detect", &[LOAD], &["filter", "detect", "eth0", "--for", "60ms"], NOTHING),
    on_host(
        "filter-detect-alone",
        NOTHING,
        &["filter", "detect", "eth0", "--for", "60ms"],
        NOTHING,
    ),
    Scenario {
        has_traffic: true,
        ..on_host(
            "filter-detect-auto",
            &[LOAD],
            &[
                "filter",
                "detect",
                "eth0",
                "--for",
                "300ms",
                "--above",
                "50pps",
                "--auto",
                "--hold",
                "1s",
                "--max-collateral",
                "100%",
            ],
            NOTHING,
        )
    },
    on_host("capture-alone", NOTHING, &["capture", "eth0", "--time", "60ms"], NOTHING),
    on_host(
        "capture-chain",
        &[LOAD, CHAIN_DROP],
        &["capture", "eth0", "--time", "60ms", "udp"],
        NOTHING,
    ),
    on_host(
        "gen",
        NOTHING,
        &["gen", "udp", "10.0.0.1:5000", "--dev", "eth0", "--rate", "1kpps", "--count", "20"],
        NOTHING,
    ),
    on_host("sink", NOTHING, &["sink", "eth0", "--time", "60ms"], NOTHING),
    on_host(
        "xsk-tx",
        NOTHING,
        &["xsk", "bench", "tx", "--dev", "eth0", "--rate", "1kpps", "--count", "20"],
        NOTHING,
    ),
    Scenario {
        has_traffic: true,
        ..on_host(
            "xsk-echo",
            NOTHING,
            &["xsk", "bench", "echo", "--dev", "eth0", "--steer", "any udp 5000", "--time", "60ms"],
            NOTHING,
        )
    },
    at_home("lab-up", NOTHING, LAB_UP, &[&["lab", "down", "{lab}"]]),
    at_home("lab-down", &[LAB_UP], &["lab", "down", "{lab}"], &[LAB_UP]),
    at_home("lab-run", NOTHING, &["lab", "run", "two-hosts", "a", "true"], NOTHING),
    Scenario {
        most_points: 300,
        ..at_home(
            "bench",
            NOTHING,
            &["bench", "run", "gen-watch", "--rounds", "5", "--seconds", "0.01", "--out", "{out}"],
            NOTHING,
        )
    },
];
