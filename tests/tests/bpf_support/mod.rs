//! What the conformance tests of the BPF programs share: packets of any shape, and a program that
//! says verdict, reason and packet.
#![allow(dead_code, reason = "each test file uses some of it")]
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

pub mod model;
pub mod packet;
pub mod router;

use functions::stats::{self, Stats};
use kernel::{KernelRuntime, LoadOptions};
use spec::{Input, Runtime, Spec, Verdict};

/// A loaded program whose counters tell why it decided.
pub struct Judge {
    runtime: KernelRuntime,
    program: &'static str,
    labels: Vec<String>,
    seen: Stats,
}

/// What one packet came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    pub verdict: Verdict,
    pub reason: String,
    pub packet: Vec<u8>,
}

impl Judge {
    pub fn load(spec: &Spec, program: &'static str) -> Self {
        Self::with(spec, program, LoadOptions::default())
    }

    /// A program that is not loaded by itself.
    pub fn load_only(spec: &Spec, program: &'static str) -> Self {
        let programs = Some(vec![program.to_owned()]);
        Self::with(spec, program, LoadOptions { programs, ..LoadOptions::default() })
    }

    fn with(spec: &Spec, program: &'static str, options: LoadOptions) -> Self {
        let mut runtime = KernelRuntime::new(options);
        runtime.load(spec).unwrap_or_else(|error| panic!("{error}"));
        let labels = stats::labels(spec.btf.as_ref().unwrap()).unwrap();
        Self { runtime, program, labels, seen: Stats::default() }
    }

    pub fn map(&self, name: &str) -> &kernel::Map {
        self.runtime.map(name).unwrap()
    }

    pub fn program(&self) -> &kernel::Program {
        self.runtime.object().unwrap().program(self.program).unwrap()
    }

    /// Runs the packet and finds the one counter that it moved.
    pub fn judge(&mut self, packet: &[u8], ingress_ifindex: u32) -> Judgement {
        let input = Input { packet: packet.to_vec(), ingress_ifindex, ..Input::default() };
        let outcome = self.runtime.run(self.program, &input).unwrap();
        let now = Stats::read(self.map(stats::MAP), &self.labels).unwrap();
        let moved = now.since(&self.seen);
        self.seen = now;
        let [row] = &moved.rows[..] else { panic!("not one counter moved: {moved:?}") };
        assert_eq!((row.count.packets, row.count.bytes), (1, packet.len() as u64));
        assert_eq!(row.verdict, outcome.verdict, "counted and returned");
        Judgement { verdict: outcome.verdict, reason: row.reason.clone(), packet: outcome.packet }
    }
}

/// Pseudo-random numbers from a fixed seed (xorshift64).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}
