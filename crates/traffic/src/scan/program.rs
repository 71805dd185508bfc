//! The program that makes probes: prepares it for a plan, and reads how far it is.
//!
//! Rule: maps are accessed through the trait `Map`, so any runtime can execute the program.

use spec::{Expect, Map, Spec};

use super::abi;
use super::cookie::BEGUN;
use super::{Cookies, Order, Plan, Probe, Space};
use crate::error::Result;

/// The compiled program.
pub static OBJECT: &[u8] = include_bytes!("../../../../bpf/prebuilt/scan.o");
/// Name of the program in the object.
pub const PROGRAM: &str = "xway_scan";
/// Name of the global variable with the number of the thread.
pub const THREAD: &str = "scan_thread";

/// The program of one thread. Probes are sent on the interface with this index; without one, they
/// are passed on.
///
/// # Errors
/// The object is not that of this build.
pub fn prepare(plan: &Plan, probe: &Probe, cookies: &Cookies, thread: Thread) -> Result<Spec> {
    let mut spec = Spec::parse("scan", OBJECT)?;
    spec.set_global("scan_order", &order(plan.order()).to_bytes())?;
    spec.set_global("scan_space", &space(plan).to_bytes())?;
    spec.set_global("scan_layout", &probe.layout().to_bytes())?;
    spec.set_global(BEGUN, &cookies.begun())?;
    spec.set_global(THREAD, &thread.number.to_le_bytes())?;
    spec.set_global("scan_ifindex", &thread.ifindex.to_le_bytes())?;
    let space = plan.space();
    let lens = [(BLOCKS, space.blocks().len()), (PARTS, space.parts().len())];
    for (name, len) in lens.into_iter().chain([(PORTS, plan.ports().len())]) {
        if let Some(map) = spec.maps.iter_mut().find(|map| map.name == name) {
            map.max_entries = len as u32;
        }
    }
    Ok(spec)
}

/// Which thread runs a program, and where its probes leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Thread {
    /// From 0 on.
    pub number: u32,
    /// 0 passes probes on.
    pub ifindex: u32,
}

/// Writes the targets of a plan, and the shares of a number of threads, into the program's maps.
///
/// # Errors
/// A map cannot be written.
pub fn fill<'a, M: Map + 'a, E>(
    plan: &Plan,
    threads: u32,
    mut map: impl FnMut(&str) -> Result<&'a M, E>,
) -> Result<(), E>
where
    E: From<M::Error>,
{
    let space = plan.space();
    write(map(BLOCKS)?, space.blocks().iter().map(|block| abi::Block::from(*block).to_bytes()))?;
    write(map(PARTS)?, space.parts().iter().map(|block| block.to_le_bytes()))?;
    write(map(PORTS)?, plan.ports().iter().map(|port| port.to_le_bytes()))?;
    write(map(THREADS)?, (0..threads).map(|number| share(plan, number, threads).to_bytes()))?;
    Ok(())
}

fn write<M: Map, V: AsRef<[u8]>>(map: &M, values: impl Iterator<Item = V>) -> Result<(), M::Error> {
    for (index, value) in values.enumerate() {
        map.update(&(index as u32).to_le_bytes(), value.as_ref(), Expect::Any)?;
    }
    Ok(())
}

/// The indexes of one thread: threads take turns.
fn share(plan: &Plan, number: u32, threads: u32) -> abi::Thread {
    let (first, stride) = plan.indexes();
    let (number, threads) = (u128::from(number), u128::from(threads));
    let count = (plan.len() + threads - 1 - number) / threads;
    let word = |number: u128| u64::try_from(number).unwrap_or(u64::MAX);
    abi::Thread {
        first: word(first + number * stride),
        stride: word(stride * threads),
        count: word(count),
        made: 0,
    }
}

fn order(order: &Order) -> abi::Order {
    let [left_bits, right_bits] = order.halves();
    abi::Order { keys: order.keys(), last: words(order.last()), left_bits, right_bits }
}

fn space(plan: &Plan) -> abi::Space {
    let space: &Space = plan.space();
    abi::Space {
        blocks: space.blocks().len() as u32,
        parts: space.parts().len() as u32,
        part_bits: space.part_bits(),
        ports: plan.ports().len() as u32,
    }
}

impl From<super::Block> for abi::Block {
    fn from(block: super::Block) -> Self {
        let super::Block { rank, first, hosts, shift } = block;
        Self { rank: words(rank), first: words(first), hosts, shift, ..Self::default() }
    }
}

/// A number of 128 bits, the lower word first.
fn words(number: u128) -> [u64; 2] {
    [number as u64, (number >> 64) as u64]
}

const BLOCKS: &str = "scan_blocks";
const PARTS: &str = "scan_parts";
const PORTS: &str = "scan_ports";
const THREADS: &str = "scan_threads";

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use spec::{Input, Verdict};
    use vm::{Machine, Options};

    use super::super::fixture::{PROTOCOLS, frame};
    use super::super::{Key, Reach, Shard, Targets};
    use super::*;

    fn plan(texts: &[&str], holes: &[&str], ports: &[u16], shard: &str) -> Plan {
        let mut targets = Targets::default();
        texts.iter().for_each(|text| targets.add(text).unwrap());
        holes.iter().for_each(|text| targets.exclude(text).unwrap());
        targets.set_reach(Reach::Public);
        if texts.iter().any(|text| text.starts_with("10.")) {
            targets.set_reach(Reach::Private);
        }
        let space = targets.build().unwrap();
        Plan::new(space, ports.to_vec(), Key::from_seed(9), 0, shard.parse().unwrap()).unwrap()
    }

    /// Runs the program of a thread, and returns its frames until it drops one.
    fn run(
        plan: &Plan,
        probe: &Probe,
        cookies: &Cookies,
        thread: u32,
        threads: u32,
    ) -> Vec<Vec<u8>> {
        let thread = Thread { number: thread, ifindex: 0 };
        let spec = prepare(plan, probe, cookies, thread).unwrap();
        let machine = Machine::load(&spec, &Options::default()).unwrap();
        let maps = machine.maps();
        fill(plan, threads, |name| {
            let found = maps.iter().find(|map| map.attributes().name == name);
            Ok::<_, vm::MapError>(&**found.unwrap())
        })
        .unwrap();
        let program = machine.program(PROGRAM).unwrap();
        let mut worker = machine.worker(0);
        let mut frames = Vec::new();
        while frames.len() < MOST {
            worker.put(&Input { packet: probe.bytes().to_vec(), ..Input::default() }).unwrap();
            match Verdict::from_code(worker.execute(program).unwrap()) {
                Verdict::Pass => frames.push(worker.packet().into_owned()),
                Verdict::Drop => break,
                verdict => panic!("{verdict:?}"),
            }
        }
        frames
    }

    const MOST: usize = 600;

    #[test]
    fn the_program_makes_the_probes_of_the_model() {
        for (texts, holes, ports, shard) in [
            (&["10.0.0.0/28"][..], &[][..], &[80, 443, 22][..], "1/1"),
            (&["10.0.0.0/8"], &["10.1.0.0/16", "10.2.3.4", "10.255.0.0-10.255.0.9"], &[], "2/7"),
            (&["10.0.0.0/8 subnets /20 hosts 0.0.0.7-0.0.0.9"], &[], &[1, 2], "1/1"),
            (&["2600::/12"], &["2600:1::/32"], &[53], "1/1"),
            (&["2000::/3 subnets /60 hosts ::1-::a"], &["2600::/16", "2601::5"], &[], "3/3"),
            (&["2601:7::/64", "2602::1-2602::9"], &[], &[7, 8, 9], "1/1"),
        ] {
            let plan = plan(texts, holes, ports, shard);
            let is_ipv6 = plan.target(0).is_ipv6();
            for protocol in PROTOCOLS {
                let probe = Probe::new(frame(protocol, is_ipv6), 40_000..=40_999).unwrap();
                let cookies = Cookies::new(Key::from_seed(9), probe.source());
                for thread in 0..2 {
                    let frames = run(&plan, &probe, &cookies, thread, 2);
                    let own = plan.len().div_ceil(2).min(MOST as u128) as usize;
                    assert_eq!(frames.len(), own, "{texts:?}");
                    for (made, frame) in frames.iter().enumerate() {
                        let target: SocketAddr = plan.target((2 * made as u32 + thread).into());
                        assert!(*frame == probe.render(&cookies, target), "{target} of {texts:?}");
                    }
                }
            }
        }
    }

    /// Checksums of zero, which UDP has as all ones.
    #[test]
    fn all_checksums_are_met() {
        let plan = plan(&["10.0.0.0/12"], &[], &[53], "1/1");
        let probe = Probe::new(frame(PROTOCOLS[1].clone(), false), 1..=65_535).unwrap();
        let cookies = Cookies::new(Key::from_seed(1), probe.source());
        let check = |index: u128| {
            let frame = probe.render(&cookies, plan.target(index));
            u16::from_be_bytes([frame[14 + 20 + 6], frame[14 + 20 + 7]])
        };
        let index = (0..plan.len()).find(|index| check(*index) == 0xffff).unwrap();
        // The thread that has only this index.
        let shard = Shard::new(index as u64 + 1, plan.len() as u64).unwrap();
        let alone = Plan::new(plan.space().clone(), vec![53], Key::from_seed(9), 0, shard).unwrap();
        let frames = run(&alone, &probe, &cookies, 0, 1);
        assert_eq!(frames, [probe.render(&cookies, plan.target(index))]);
    }

    #[test]
    fn threads_share_all_probes() {
        let plan = plan(&["10.0.0.0/24"], &[], &[], "2/3");
        for threads in [1, 2, 5, 64, 100] {
            let counts: u64 = (0..threads).map(|number| share(&plan, number, threads).count).sum();
            assert_eq!(u128::from(counts), plan.len(), "{threads} threads");
        }
    }
}
