//! Runs a program on the engine in the same way as live runs do: frames are recycled, with what was
//! last written into them and the changes of their receiver.

use spec::{Expect, Input, Map as _, Outcome, Verdict};
use vm::{Machine, Options, Worker, World};

use crate::Histogram;
use crate::histogram::BUCKETS;
use crate::program::abi::{self, control, state};
use crate::program::{Clock, Exit, Job, Made, compile};
use crate::template::Template;

/// A loaded program.
pub struct Engine {
    machine: Machine,
    worker: Worker,
    program: usize,
    /// The frame pool; its frames are used in turn.
    pool: Vec<Vec<u8>>,
    /// Length that a receiver gave each frame, until the program sets another one.
    left: Vec<Option<usize>>,
    runs: usize,
    control: [u64; control::LEN / 8],
}

/// One thread that sends all templates as fast as possible.
pub fn job(templates: &[Template]) -> Job<'_> {
    Job {
        templates,
        exit: Exit::Redirect(kernel::Ifindex(7)),
        thread: 0,
        threads: 1,
        seed: 1,
        group: 4,
        pace: None,
        rewrite: false,
        clock: Clock::Frame,
    }
}

impl Engine {
    pub fn new(job: &Job) -> Self {
        Self::of(compile(job).unwrap(), 1000)
    }

    /// Creates an engine whose clock advances by `step_ns` with each reading.
    pub fn of(made: Made, step_ns: u64) -> Self {
        let mut world = World::default();
        world.clock.step_ns = step_ns;
        let machine = Machine::load(&made.spec, &Options { world, ..Options::default() }).unwrap();
        for (name, elements) in &made.tables {
            let map = machine.map(name).unwrap();
            for (key, element) in (0u32..).zip(elements) {
                map.update(&key.to_ne_bytes(), element, Expect::Any).unwrap();
            }
        }
        let (worker, program) = (machine.worker(0), machine.program(abi::PROGRAM).unwrap());
        let pool = vec![made.frame; 3];
        let left = vec![None; pool.len()];
        let mut engine = Self { machine, worker, program, pool, left, runs: 0, control: [0; 4] };
        engine.set(control::GO, 1);
        engine.set(control::LIMIT, u64::MAX);
        engine
    }

    /// Writes a word of the control map.
    pub fn set(&mut self, offset: usize, value: u64) {
        self.control[offset / 8] = value;
        let bytes: Vec<u8> = self.control.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let map = self.machine.map(abi::CONTROL).unwrap();
        map.update(&[0; 4], &bytes, Expect::Any).unwrap();
    }

    /// Reads a word of the state.
    pub fn state(&self, offset: usize) -> u64 {
        let value = self.machine.map(abi::STATE).unwrap().lookup(&[0; 4]).unwrap().unwrap();
        u64::from_ne_bytes(value[offset..offset + 8].try_into().unwrap())
    }

    pub fn sent(&self) -> u64 {
        self.state(state::SENT)
    }

    pub fn late(&self) -> Histogram {
        let value = self.machine.map(abi::LATE).unwrap().lookup(&[0; 4]).unwrap().unwrap();
        assert_eq!(value.len(), BUCKETS * 8);
        let counts = value.as_chunks::<8>().0;
        Histogram::from_counts(counts.iter().map(|count| u64::from_ne_bytes(*count)))
    }

    /// The time of its clock, ns.
    pub fn now(&self) -> u64 {
        self.worker.now_ns()
    }

    pub fn set_now(&mut self, now_ns: u64) {
        self.worker.set_clock_ns(now_ns);
    }

    /// Runs the program on the next frame of the pool.
    pub fn run(&mut self) -> Outcome {
        let slot = self.runs % self.pool.len();
        self.runs += 1;
        let packet = self.pool[slot].clone();
        self.worker.put(&Input { packet, ..Input::default() }).unwrap();
        let verdict = Verdict::from_code(self.worker.execute(self.program).unwrap());
        let mut packet = self.worker.packet().into_owned();
        self.pool[slot][..packet.len()].copy_from_slice(&packet);
        // The kernel updates the length of a frame only if it differs from the run's input.
        if packet.len() != self.pool[slot].len() {
            self.left[slot] = None;
        } else if let Some(left) = self.left[slot] {
            packet.resize(left, 0xee);
        }
        let redirect_ifindex = self.worker.redirect_ifindex();
        Outcome { verdict, packet, metadata: vec![], redirect_ifindex }
    }

    /// Runs the program until a frame is sent, and returns the frame.
    pub fn send(&mut self) -> Vec<u8> {
        let outcome = self.run();
        assert_eq!(outcome.verdict, Verdict::Redirect);
        assert_eq!(outcome.redirect_ifindex, Some(7));
        outcome.packet
    }

    /// Overwrites the first bytes of every frame of the pool, and sets its length.
    pub fn spoil(&mut self, headers: usize, len: usize) {
        self.left.fill(Some(len));
        self.pool.iter_mut().for_each(|frame| {
            let headers = headers.min(frame.len());
            frame[..headers].fill(0xee);
        });
    }
}
