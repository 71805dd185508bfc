//! The fuzz targets: a function of bytes each, which panics when a promise is broken.
//!
//! `fuzz/` gives these functions to libFuzzer (nightly); the test `corpus` replays the committed
//! inputs in `fuzz/corpus/` with a stable compiler. Rule: the result of a target
//! depends only on its bytes, so that every finding can be replayed.

#![forbid(unsafe_code)]

mod assembly;
mod capture;
mod engine;
mod filter;
mod fixtures;
mod health;
mod log;
mod object;
mod report_file;
mod rules;
#[cfg(fuzzing)]
mod sockets;
mod stream;
mod sync;

/// One of the programs that the fuzzer runs.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Name of the program and of the folder of its corpus.
    pub name: &'static str,
    /// Runs the target on an input.
    pub run: fn(&[u8]),
}

/// All targets but `xsk_ring`, whose inputs the unit tests of `xsk` replay: what it plays against
/// exists only for tests and fuzzing.
pub const TARGETS: &[Target] = &[
    Target { name: "asm_text", run: assembly::text },
    Target { name: "balance_health", run: health::answer },
    Target { name: "balance_sync", run: sync::datagram },
    Target { name: "btf", run: object::btf },
    Target { name: "classic_bpf", run: filter::classic },
    Target { name: "filter_engine", run: filter::engine },
    Target { name: "filter_plan", run: filter::plan },
    Target { name: "filter_read", run: filter::read },
    Target { name: "fixtures", run: fixtures::header },
    Target { name: "flowspec", run: rules::flowspec },
    Target { name: "iptables", run: rules::iptables },
    Target { name: "nft_json", run: rules::nft_json },
    Target { name: "nft_text", run: rules::nft_text },
    Target { name: "pcap_read", run: capture::read },
    Target { name: "raw_json", run: report_file::raw_json },
    Target { name: "records", run: filter::records },
    Target { name: "replay", run: capture::replay },
    Target { name: "rules", run: rules::file },
    Target { name: "set_list", run: rules::set_list },
    Target { name: "spec_parse", run: object::parse },
    Target { name: "streams", run: stream::file },
    Target { name: "verifier_log", run: log::parse },
    Target { name: "vm_calls", run: engine::calls },
    Target { name: "vm_run", run: engine::run },
    Target { name: "vm_scenario", run: engine::scenario },
];

/// Runs one target on one input.
///
/// # Panics
/// The input breaks a promise, or there is no such target.
pub fn run(name: &str, bytes: &[u8]) {
    #[cfg(fuzzing)]
    if name == "xsk_ring" {
        return sockets::ring(bytes);
    }
    let target = TARGETS.iter().find(|target| target.name == name);
    (target.expect("a target of this name").run)(bytes);
}

/// The input as text; targets of text skip others.
fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}
