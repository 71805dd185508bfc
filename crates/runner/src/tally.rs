//! Counts the outcomes of all packets.

use std::collections::BTreeMap;

use spec::Verdict;
use vm::{Port, Run, World};

use crate::input::Played;
use crate::results::{Counted, FirstFault, Tallied};

#[derive(Debug, Default)]
pub struct Tally {
    packets: u64,
    verdicts: BTreeMap<Verdict, Counted>,
    ports: BTreeMap<Port, u64>,
    losses: BTreeMap<&'static str, u64>,
    faults: u64,
    first_fault: Option<FirstFault>,
}

impl Tally {
    pub fn count(&mut self, packet: &Played, run: &Run) {
        self.packets += 1;
        let counted = self.verdicts.entry(run.verdict).or_default();
        counted.packets += 1;
        counted.bytes += packet.input.packet.len() as u64;
        for output in &run.outputs {
            *self.ports.entry(output.port).or_default() += 1;
        }
        for loss in &run.losses {
            *self.losses.entry(loss.reason.name()).or_default() += 1;
        }
        let behind = run.losses.iter().find_map(|loss| loss.fault.as_ref());
        if let Some(fault) = run.fault.as_ref().or(behind) {
            self.faults += 1;
            self.first_fault.get_or_insert_with(|| FirstFault {
                packet: packet.number,
                message: fault.to_string(),
            });
        }
    }

    /// With the names that the world has for interfaces.
    pub fn finish(self, world: &World) -> Tallied {
        let name = |ifindex: u32| {
            world.interface(ifindex).map(|interface| format!(" ({})", interface.name))
        };
        let mut redirects = BTreeMap::new();
        let mut passed = 0;
        for (port, packets) in &self.ports {
            let label = match *port {
                Port::Stack { .. } => {
                    passed += packets;
                    continue;
                }
                Port::Device { ifindex } => {
                    format!("dev:{ifindex}{}", name(ifindex).unwrap_or_default())
                }
                Port::Cpu { cpu } => format!("cpu:{cpu}"),
                Port::Xsk { map: _, key } => format!("xsk:{key}"),
            };
            *redirects.entry(label).or_insert(0) += packets;
        }
        let verdicts = Verdict::ALL.map(|verdict| {
            (verdict.name(), self.verdicts.get(&verdict).copied().unwrap_or_default())
        });
        Tallied {
            packets: self.packets,
            verdicts: verdicts.into_iter().collect(),
            redirects,
            stack: passed,
            drops: self.losses,
            faults: self.faults,
            first_fault: self.first_fault,
        }
    }
}
