//! What a hook sees beside registers: where addresses point, the packet, memory.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::sync::{Arc, Mutex};

use spec::{Function, Input, Program, ProgramKind, Spec};
use vm::{Hook, Machine, Options, Pointee, Step};

/// What is there before a call: r1 to r3 as places, the packet, two bytes at r2.
#[derive(Default)]
struct Seen(Vec<Before>);

type Before = ([Pointee; 3], Vec<u8>, Option<Vec<u8>>);

impl Hook for Seen {
    fn step(&mut self, step: &Step<'_>) {
        if step.program.source().insns[step.slot].is_call() {
            let places = [1, 2, 3].map(|register| step.pointee(step.registers[register]));
            let read = step.read(step.registers[2], 2);
            self.0.push((places, step.packet().to_vec(), read));
        }
    }
}

fn watch(text: &str, packet: &[u8]) -> Seen {
    let program = Program {
        name: "looks".to_owned(),
        kind: ProgramKind::XDP,
        autoload: true,
        functions: vec![Function::default()],
        insns: spec::asm::text::parse(text).unwrap(),
        ..Program::default()
    };
    let spec = Spec { name: "looks".to_owned(), programs: vec![program], ..Spec::default() };
    let machine = Machine::load(&spec, &Options::default()).unwrap();
    let mut worker = machine.worker(0);
    let seen = Arc::new(Mutex::new(Seen::default()));
    worker.set_hook(Some(Box::new(Arc::clone(&seen))));
    worker.run(0, &Input { packet: packet.to_vec(), ..Input::default() }).unwrap();
    drop(worker);
    Arc::into_inner(seen).unwrap().into_inner().unwrap()
}

#[test]
fn addresses_are_places() {
    let packet: Vec<u8> = (0..60).collect();
    let text = "
        r6 = r1
        r2 = *(u32 *)(r1 +0)
        r2 += 2
        r3 = r10
        r3 += -8
        call 5
        r1 = r6
        r2 = 4
        r3 = r6
        call 44
        r2 = *(u32 *)(r6 +0)
        r1 = 7
        r3 = r2
        call 5
        r0 = 2
        exit";
    let Seen(calls) = watch(text, &packet);
    let table = [
        ([
            Pointee::Context { offset: 0 },
            Pointee::Packet { offset: 2 },
            Pointee::Stack { frame: 0, offset: -8 },
        ]),
        ([Pointee::Context { offset: 0 }, Pointee::Number(4), Pointee::Context { offset: 0 }]),
        ([Pointee::Number(7), Pointee::Packet { offset: 0 }, Pointee::Packet { offset: 0 }]),
    ];
    assert_eq!(calls.iter().map(|call| call.0).collect::<Vec<_>>(), table);
    assert_eq!((&calls[0].1, calls[0].2.as_deref()), (&packet, Some(&packet[2..4])));
    assert_eq!(calls[1].2, None, "4 is no address");
    assert_eq!((&calls[2].1[..], calls[2].2.as_deref()), (&packet[4..], Some(&packet[4..6])));
}
