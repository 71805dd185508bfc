//! Verdicts acted on: frames that leave a real switch against those that the engine puts out.
//!
//! Each case is one program on `port-a` of the switch, with what its maps hold. Host `a` sends;
//! what arrives at each host, and at the switch's own stack, must equal the engine's outputs, byte
//! for byte.

mod support;

use spec::Verdict;
use spec::asm::{Assembler, Helper, Reg::*};
use support::programs::{BROADCAST, EXCLUDE, cut, label, overwrite, through};
use support::{Case, agree, agree_for_jumbo, case};
use vm::Reason;

const ALL: &[(&str, u32, &str, Option<&str>)] =
    &[("ports", 1, "port-a", None), ("ports", 2, "port-b", None), ("ports", 4, "port-c", None)];
const PROGRAMS: &[(&str, u32, &str, Option<&str>)] = &[
    ("ports", 1, "port-a", Some("stamp")),
    ("ports", 2, "port-b", Some("reshape")),
    ("ports", 4, "port-c", Some("stamp")),
];
const HASHED: &[(&str, u32, &str, Option<&str>)] = &[
    ("hash", 1000, "port-a", None),
    ("hash", 7, "port-b", Some("denies")),
    ("hash", 0xffff_ffff, "port-c", Some("stamp")),
];

fn plain_cases() -> Vec<Case> {
    let lost = |name, act: Box<dyn Fn(&mut Assembler)>, loss| Case {
        act,
        loss: Some(loss),
        ..case(name, |_| ())
    };
    let returns = |code: i32| -> Box<dyn Fn(&mut Assembler)> {
        Box::new(move |a| {
            a.mov32(R0, code).exit();
        })
    };
    vec![
        case("pass", |a| {
            a.verdict(Verdict::Pass);
        }),
        case("tx", |a| {
            a.verdict(Verdict::Tx);
        }),
        lost("drop", returns(1), Reason::Dropped),
        lost("aborted", returns(0), Reason::Aborted),
        lost("no verdict at all", returns(99), Reason::BadVerdict),
        lost("redirect without a target", returns(4), Reason::NoTarget),
        lost(
            "redirect to no interface",
            Box::new(|a| {
                a.mov(R1, 9999).mov(R2, 0).call(Helper::REDIRECT).exit();
            }),
            Reason::NoInterface,
        ),
        lost(
            "redirect with a flag",
            Box::new(|a| {
                a.mov(R1, 1).mov(R2, 1).call(Helper::REDIRECT).exit();
            }),
            Reason::Aborted,
        ),
    ]
}

fn devmap_cases() -> Vec<Case> {
    let on =
        |name, key, flags, entries| Case { entries, ..case(name, through("ports", key, flags)) };
    let lost = |name, key, flags, entries, loss| Case {
        loss: Some(loss),
        ..on(name, key, flags, entries)
    };
    vec![
        on("devmap", 2, 0, ALL),
        on("devmap with a verdict for nothing", 4, 2, ALL),
        on("absent: pass", 3, 2, ALL),
        on("absent: tx", 7, 3, ALL),
        lost("absent: drop", 5, 1, ALL, Reason::Dropped),
        lost("absent: aborted", 5, 0, ALL, Reason::Aborted),
        lost("a flag that is none", 2, 32, ALL, Reason::Aborted),
        on("to the own interface", 1, 0, ALL),
        on("egress program", 4, 0, PROGRAMS),
        on("egress program that reshapes", 2, 0, PROGRAMS),
        on("broadcast", 0, BROADCAST, ALL),
        on("broadcast but for the ingress", 0, BROADCAST | EXCLUDE, ALL),
        on("broadcast with programs", 0, BROADCAST, PROGRAMS),
        on("broadcast but for the ingress, with programs", 0, BROADCAST | EXCLUDE, PROGRAMS),
        lost("broadcast to nobody", 0, BROADCAST, &[], Reason::NobodyThere),
        lost(
            "broadcast only to the ingress, which is excluded",
            0,
            BROADCAST | EXCLUDE,
            &[("ports", 1, "port-a", None)],
            Reason::NobodyThere,
        ),
        lost("denied", 0, 0, &[("ports", 0, "port-b", Some("denies"))], Reason::EgressDropped),
        lost("aborted", 0, 0, &[("ports", 0, "port-b", Some("aborts"))], Reason::EgressAborted),
        lost(
            "sent back",
            0,
            0,
            &[("ports", 0, "port-b", Some("sends_back"))],
            Reason::EgressBadVerdict,
        ),
        lost(
            "nonsense",
            0,
            0,
            &[("ports", 0, "port-b", Some("nonsense"))],
            Reason::EgressBadVerdict,
        ),
    ]
}

fn more_devmap_cases() -> Vec<Case> {
    let on = |name, entries| Case { entries, ..case(name, through("ports", 4, 0)) };
    vec![
        Case { entries: HASHED, ..case("hash", through("hash", -1, 0)) },
        Case { entries: HASHED, ..case("hash, absent", through("hash", 8, 2)) },
        Case {
            entries: HASHED,
            loss: Some(Reason::EgressDropped),
            ..case("hash, broadcast", through("hash", 0, BROADCAST))
        },
        Case {
            entries: &[("ports", 2, "port-b", Some("labelled"))],
            ..case("metadata reaches the egress program", |a| {
                label(a);
                through("ports", 2, 0)(a);
            })
        },
        Case {
            changes: Some(["link set port-c mtu 200", "link set port-c mtu 1500"]),
            loss: Some(Reason::TooLong),
            ..on("longer than the MTU", ALL)
        },
        // 300 bytes are 282 after the header, if that has a VLAN tag.
        Case {
            changes: Some(["link set port-c mtu 282", "link set port-c mtu 1500"]),
            ..on("just as long", ALL)
        },
        Case {
            changes: Some(["link set port-c mtu 281", "link set port-c mtu 1500"]),
            loss: Some(Reason::TooLong),
            ..on("a byte longer", ALL)
        },
        Case {
            changes: Some(["link set port-c mtu 200", "link set port-c mtu 1500"]),
            entries: ALL,
            ..case("broadcast, longer than one MTU", through("ports", 0, BROADCAST))
        },
        Case {
            changes: Some(["link set port-c down", "link set port-c up"]),
            loss: Some(Reason::InterfaceDown),
            ..on("down", ALL)
        },
    ]
}

fn cpumap_cases() -> Vec<Case> {
    let on = |name, entries| Case { entries, ..case(name, through("cpus", 1, 0)) };
    let lost = |name, entries, loss| Case { loss: Some(loss), ..on(name, entries) };
    vec![
        on("cpu", &[("cpus", 1, "1", None)]),
        on("cpu with a program", &[("cpus", 1, "1", Some("cpu_stamp"))]),
        on(
            "cpu, then a devmap with a program",
            &[("cpus", 1, "1", Some("cpu_onward")), ("ports", 2, "port-b", Some("stamp"))],
        ),
        on(
            "cpu, then a broadcast",
            &[
                ("cpus", 1, "1", Some("cpu_all")),
                ("ports", 1, "port-a", None),
                ("ports", 2, "port-b", Some("stamp")),
                ("ports", 4, "port-c", None),
            ],
        ),
        lost("cpu, denied", &[("cpus", 1, "1", Some("cpu_denies"))], Reason::CpuDropped),
        lost("cpu, aborted", &[("cpus", 1, "1", Some("cpu_aborts"))], Reason::CpuAborted),
        lost("cpu, sent back", &[("cpus", 1, "1", Some("cpu_sends_back"))], Reason::CpuBadVerdict),
        lost("cpu, nonsense", &[("cpus", 1, "1", Some("cpu_nonsense"))], Reason::CpuBadVerdict),
        lost("cpu, then nowhere", &[("cpus", 1, "1", Some("cpu_lost"))], Reason::CpuAborted),
        Case {
            entries: &[("cpus", 1, "1", Some("cpu_labelled"))],
            ..case("metadata reaches the other processor", |a| {
                label(a);
                through("cpus", 1, 0)(a);
            })
        },
    ]
}

/// Frames of several buffers: how a driver cuts them is its own affair, the bytes are not.
fn jumbo_cases() -> Vec<Case> {
    let to_c = through("ports", 4, 0);
    let on = |name, entries| Case { entries, ..case(name, through("ports", 4, 0)) };
    vec![
        case("tx", |a| {
            a.verdict(Verdict::Tx);
        }),
        on("devmap", ALL),
        on("egress program", PROGRAMS),
        on("egress program that reshapes", &[("ports", 4, "port-b", Some("reshape"))]),
        Case {
            entries: &[("cpus", 1, "1", Some("cpu_stamp"))],
            ..case("cpu", through("cpus", 1, 0))
        },
        Case {
            entries: PROGRAMS,
            ..case("written far behind, cut in the middle", move |a| {
                overwrite(a, 50);
                overwrite(a, 4090);
                overwrite(a, 8000);
                cut(a, 700);
                to_c(a);
            })
        },
        Case {
            changes: Some(["link set port-c mtu 5000", "link set port-c mtu 9000"]),
            loss: Some(Reason::TooLong),
            ..on("longer than the MTU", ALL)
        },
    ]
}

#[test]
fn jumbo_frames() {
    agree_for_jumbo(jumbo_cases());
}

#[test]
fn verdicts() {
    agree(plain_cases());
}

#[test]
fn devmaps() {
    agree(devmap_cases());
    agree(more_devmap_cases());
}

#[test]
fn cpumaps() {
    agree(cpumap_cases());
}
