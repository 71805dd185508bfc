//! Random valid programs on kernel and engine: the same verdicts, bytes, metadata and maps.
//!
//! The seed is fixed and the cases are counted, so each run is the same; more of them run with
//! `cargo run --release -p xway-tests --bin differential -- --programs N --seed S`.

use std::collections::BTreeSet;

use spec::asm::Helper;
use xway_tests::differential::{Arms, Case, Report};

/// About a minute on two slow processors.
const CASES: u64 = 1000;
const SEED: u64 = 1_000_000;

/// Helpers that must be among what was compared, or the generator has lost one.
const HELPERS: &[Helper] = &[
    Helper::MAP_LOOKUP_ELEM,
    Helper::MAP_UPDATE_ELEM,
    Helper::MAP_DELETE_ELEM,
    Helper::MAP_LOOKUP_PERCPU_ELEM,
    Helper::MAP_PUSH_ELEM,
    Helper::MAP_POP_ELEM,
    Helper::MAP_PEEK_ELEM,
    Helper::FOR_EACH_MAP_ELEM,
    Helper::LOOP,
    Helper::TAIL_CALL,
    Helper::REDIRECT,
    Helper::REDIRECT_MAP,
    Helper::CSUM_DIFF,
    Helper::XDP_ADJUST_HEAD,
    Helper::XDP_ADJUST_META,
    Helper::XDP_ADJUST_TAIL,
    Helper::XDP_GET_BUFF_LEN,
    Helper::XDP_LOAD_BYTES,
    Helper::XDP_STORE_BYTES,
    Helper::STRTOL,
    Helper::STRTOUL,
    Helper::STRNCMP,
    Helper::SNPRINTF,
    Helper::GET_SMP_PROCESSOR_ID,
    Helper::PROBE_READ_KERNEL,
    Helper::RINGBUF_OUTPUT,
    Helper::RINGBUF_RESERVE,
    Helper::RINGBUF_SUBMIT,
    Helper::RINGBUF_DISCARD,
    Helper::RINGBUF_QUERY,
    Helper::DYNPTR_FROM_MEM,
    Helper::DYNPTR_READ,
    Helper::DYNPTR_WRITE,
    Helper::DYNPTR_DATA,
];

#[test]
fn both_arms_agree_on_random_programs() {
    let report = sys::thread::in_private_network(|| {
        let arms = Arms::here();
        let mut report = Report::default();
        (0..CASES).for_each(|case| report.add(&arms, SEED + case));
        report
    })
    .unwrap();
    println!(
        "{} programs, {:.1} % accepted\n{}",
        report.programs,
        report.acceptance(),
        report.tally
    );
    for finding in &report.findings {
        println!("seed {}: {}\n{}\n", finding.seed, finding.difference, finding.text);
    }
    assert!(report.findings.is_empty(), "{} cases differ, see above", report.findings.len());
    assert!(report.acceptance() > 90.0, "too many programs that the kernel refuses");
    let seen: BTreeSet<&str> = report.tally.helpers.keys().copied().collect();
    let missing: Vec<_> = HELPERS.iter().filter(|h| !seen.contains(h.name().unwrap())).collect();
    assert!(missing.is_empty(), "never called: {missing:?}");
}

#[test]
fn a_seed_gives_the_same_case_each_time() {
    for seed in 0..20 {
        let [first, second] = [Case::random(seed), Case::random(seed)];
        assert_eq!(first.spec, second.spec, "seed {seed}");
        assert_eq!(first.packets, second.packets, "seed {seed}");
    }
}
