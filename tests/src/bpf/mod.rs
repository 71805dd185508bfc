//! What the conformance tests of the BPF programs share: packets of any shape, and a program that
//! returns verdict, reason and packet.

pub mod backend;
pub mod balancer;
pub mod model;
pub mod packet;
pub mod router;

use functions::stats::{self, Stats};
use kernel::{KernelRuntime, LoadOptions};
use spec::{Input, Runtime, Spec, Verdict};
use vm::{Options, VmRuntime};

/// What the cases run on. A story is written once, `fn story<R: Arm>()`, and `stories!` makes it a
/// test of each arm; those of `engine` need no root.
pub trait Arm: Runtime + Sized {
    /// `only`: the one program to load; else those that are loaded by default.
    fn start(only: Option<&str>) -> Self;
}

impl Arm for KernelRuntime {
    fn start(only: Option<&str>) -> Self {
        let programs = only.map(|program| vec![program.to_owned()]);
        Self::new(LoadOptions { programs, ..LoadOptions::default() })
    }
}

impl Arm for VmRuntime {
    fn start(only: Option<&str>) -> Self {
        let programs = only.map(|program| vec![program.to_owned()]);
        Self::new(Options { programs, ..Options::default() })
    }
}

/// Each story as a test on the kernel, and as one on the engine.
#[macro_export]
macro_rules! stories {
    ($($story:ident)*) => {
        mod kernel_arm {
            $(#[test] fn $story() { super::$story::<kernel::KernelRuntime>(); })*
        }
        mod engine {
            $(#[test] fn $story() { super::$story::<vm::VmRuntime>(); })*
        }
    };
}

/// A loaded program whose counters show why it decided.
#[derive(Debug)]
pub struct Judge<R = KernelRuntime> {
    runtime: R,
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
    pub fn program(&self) -> &kernel::Program {
        self.runtime.object().unwrap().program(self.program).unwrap()
    }
}

impl<R: Arm> Judge<R> {
    pub fn load(spec: &Spec, program: &'static str) -> Self {
        Self::on(R::start(None), spec, program)
    }

    /// A program that is not loaded by default.
    pub fn load_only(spec: &Spec, program: &'static str) -> Self {
        Self::on(R::start(Some(program)), spec, program)
    }

    pub fn on(mut runtime: R, spec: &Spec, program: &'static str) -> Self {
        runtime.load(spec).unwrap_or_else(|error| panic!("{error}"));
        let labels = stats::labels(spec.btf.as_ref().unwrap()).unwrap();
        Self { runtime, program, labels, seen: Stats::default() }
    }

    pub fn map(&self, name: &str) -> &R::Map {
        self.runtime.map(name).unwrap()
    }

    /// Number of packets of a reason, of all that the program met.
    pub fn count(&self, reason: &str) -> u64 {
        let now = Stats::read(self.map(stats::MAP), &self.labels).unwrap();
        let of = now.rows.iter().filter(|row| row.reason == reason);
        of.map(|row| row.count.packets).sum()
    }

    /// Runs the packet and finds the one counter that it moved.
    pub fn judge(&mut self, packet: &[u8], ingress_ifindex: u32) -> Judgement {
        self.judge_input(&Input { packet: packet.to_vec(), ingress_ifindex, ..Input::default() })
    }

    /// Runs a packet that has metadata, and finds the one counter that it moved.
    pub fn judge_input(&mut self, input: &Input) -> Judgement {
        let packet = &input.packet;
        let outcome = self.runtime.run(self.program, input).unwrap();
        let now = Stats::read(self.map(stats::MAP), &self.labels).unwrap();
        let moved = now.since(&self.seen);
        self.seen = now;
        let [row] = &moved.rows[..] else { panic!("not one counter moved: {moved:?}") };
        assert_eq!((row.count.packets, row.count.bytes), (1, packet.len() as u64));
        assert_eq!(row.verdict, outcome.verdict, "counted and returned");
        Judgement { verdict: outcome.verdict, reason: row.reason.clone(), packet: outcome.packet }
    }
}
