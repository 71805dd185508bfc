//! The filter on the engine, with a clock that tests set.

use std::sync::Arc;

use filter::compile::actions::{CompiledActions, Sizes};
use filter::runtime::limits;
use filter::{Action, PROGRAM, abi, maps};
use spec::{Input, Map, Verdict};
use vm::world::Clock;
use vm::{Machine, Options, Worker, World};

use super::act::filter;

/// Seed of the hashes of limits.
pub const SEED: u64 = 0x5eed_0007;

/// The engine with a clock of its own.
#[derive(Debug)]
pub struct Engine {
    machine: Machine,
    worker: Worker,
    program: usize,
}

impl Engine {
    pub fn new(actions: &[Action]) -> (Self, CompiledActions) {
        let (spec, acts) = filter(actions, Sizes::default());
        // Time advances only when tests set it: a nanosecond is the minimum.
        let clock = Clock { step_ns: 1, ..Clock::default() };
        let world = World { clock, ..World::default() };
        let machine = Machine::load(&spec, &Options { world, ..Options::default() }).unwrap();
        let maps = machine.maps();
        let map =
            |name: &str| Ok(&**maps.iter().find(|map| map.attributes().name == name).unwrap());
        acts.fill(map).unwrap();
        if !acts.limits().is_empty() {
            let maps = limits::Maps::find(map).unwrap();
            acts.limits().fill_seeded(&maps, abi::Seed::from_number(SEED)).unwrap();
        }
        let (worker, program) = (machine.worker(0), machine.program(PROGRAM).unwrap());
        (Self { machine, worker, program }, acts)
    }

    pub fn run(&mut self, packet: &[u8], now_ns: u64) -> Verdict {
        self.worker.set_clock_ns(now_ns);
        self.worker.put(&Input { packet: packet.to_vec(), ..Input::default() }).unwrap();
        Verdict::from_code(self.worker.execute(self.program).unwrap())
    }

    pub fn now_ns(&self) -> u64 {
        self.worker.now_ns()
    }

    pub fn map(&self, name: &str) -> Arc<vm::Map> {
        self.machine.map(name).unwrap()
    }

    pub fn line(&self, number: u32) -> Vec<u64> {
        let map = self.machine.map(maps::LINES).unwrap();
        let bytes = map.lookup(&number.to_le_bytes()).unwrap().unwrap();
        bytes.as_chunks::<8>().0.iter().map(|bucket| u64::from_le_bytes(*bucket)).collect()
    }
}
