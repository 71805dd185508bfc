//! One case: an object and the packets that it gets, all from one seed.

use std::collections::BTreeSet;

use spec::asm::Object;
use spec::{Input, ProgramKind, Spec};

use super::maps::Maps;
use super::packets;
use super::rng::Rng;
use super::touch::Touch;
use super::writer::Writer;

/// What both arms run: packets one after the other through the first program.
#[derive(Clone, Debug)]
pub struct Case {
    pub seed: u64,
    pub spec: Spec,
    pub packets: Vec<Input>,
    /// What user space does after each packet.
    pub touches: Vec<Touch>,
    /// Seeds of the actions that the programs consist of.
    pub actions: Vec<u64>,
}

impl Case {
    /// The case of a seed.
    pub fn random(seed: u64) -> Self {
        Self::without(seed, &BTreeSet::new())
    }

    /// The case of a seed without some of its actions.
    pub fn without(seed: u64, skipped: &BTreeSet<u64>) -> Self {
        let cpus = sys::cpu::possible().unwrap();
        let mut rng = Rng::new(seed);
        let programs = 1 + rng.below(6).saturating_sub(3);
        let maps = Maps::random(&mut rng, programs);
        let kind = rng.pick(&[ProgramKind::XDP, ProgramKind::XDP, ProgramKind::XDP_FRAGS]);
        let frags = kind == ProgramKind::XDP_FRAGS;
        let packets = (0..PACKETS).map(|_| packets::random(&mut rng, frags)).collect();
        let touches = {
            let all = 0..rng.below(5);
            all.filter_map(|_| Touch::random(&mut rng, &maps.defs, cpus)).collect()
        };
        let mut object = Object::new(format!("case{seed}"), "GPL");
        let mut actions = Vec::new();
        for number in 0..programs {
            let name = format!("p{number}");
            let (program, written) = Writer::program(rng.word(), &maps, skipped, (&name, kind));
            object.program(program);
            actions.extend(written);
        }
        maps.defs.into_iter().for_each(|map| {
            object.map(map);
        });
        let spec = object.finish().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        Self { seed, spec, packets, touches, actions }
    }

    /// The program that the packets go through.
    pub fn entry(&self) -> &str {
        &self.spec.programs[0].name
    }
}

const PACKETS: usize = 6;
