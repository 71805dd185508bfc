//! What splicing writes, what it removes, and what it refuses.

use super::*;
use crate::asm::Reg::*;
use crate::asm::{Assembler, Cond, Helper, Object};
use crate::btf::Btf;
use crate::disasm::{Listing, SpecNames};
use crate::model::{MapDef, MapKind};

/// A program that keeps R6 and R8 over the call of `answer`, and has `effect` and `other` too.
fn host(calls: usize) -> Spec {
    let mut object = Object::new("host", "GPL");
    object.map(MapDef {
        name: "data".to_owned(),
        kind: MapKind::ARRAY,
        key_size: 4,
        value_size: 64,
        max_entries: 1,
        ..MapDef::default()
    });
    let mut a = Assembler::new("main", ProgramKind::XDP);
    let [answer, effect, other, end] = [a.label(), a.label(), a.label(), a.label()];
    a.note("begins").mov(R6, R1).mov(R8, 7).mov(R7, 1);
    a.store64(R10.at(-16), 0).jump_if(R7, Cond::Eq, 3, end);
    for _ in 0..calls {
        a.mov(R1, R10).add(R1, -16).call_local(answer);
    }
    a.note("goes on").add(R0, R8).load32(R1, R6.at(0)).bind(end).mov(R0, 0).exit();
    a.function(answer, "answer").call_local(effect).call_local(other).exit();
    a.function(effect, "effect").mov(R0, 1).exit();
    a.function(other, "other").mov(R0, 2).exit();
    object.program(a);
    object.finish().unwrap()
}

fn code(write: impl FnOnce(&mut Assembler)) -> Assembler {
    let mut a = Assembler::new("code", ProgramKind::XDP);
    write(&mut a);
    a
}

fn listing(spec: &Spec) -> String {
    let program = spec.program("main").unwrap();
    let names = SpecNames { spec, program };
    Listing::new(program, &names).source(spec.btf.as_ref()).labels(true).to_string()
}

fn functions(spec: &Spec) -> Vec<&str> {
    spec.program("main").unwrap().functions.iter().map(|function| &*function.name).collect()
}

fn assert_complete(spec: &Spec) {
    let program = spec.program("main").unwrap();
    let btf = spec.btf.as_ref().unwrap();
    assert_eq!(Btf::parse(btf.raw()).as_ref(), Ok(btf));
    for function in &program.functions {
        assert_eq!(btf.ty(function.type_id).unwrap().name(), function.name);
        assert!(program.lines.iter().any(|line| line.slot == function.slot));
    }
    let slots: Vec<usize> = program.lines.iter().map(|line| line.slot).collect();
    assert!(slots.windows(2).all(|pair| pair[0] < pair[1]), "{slots:?}");
}

#[test]
fn code_takes_the_place_of_the_call() {
    let code = code(|a| {
        let no = a.label();
        a.note("rule 1").mov(R6, R1).mov(R7, 5).store64(R10.at(-8), R7);
        a.load32(R0, R6.at(0)).jump_if(R0, Cond::Ne, 9, no).exit();
        a.bind(no).note("effect").mov(R1, R6).load_map_value(R3, "data", 8);
        a.call_function("effect").exit();
    });
    let spliced = splice(&host(1), "main", "answer", code).unwrap();
    assert_complete(&spliced);
    assert_eq!(functions(&spliced), ["main", "effect"]);
    // R7 is written again before it is read, R8 is not touched by the code.
    let wanted = "\
main:
; begins @ host:1
   0: (bf) r6 = r1
   1: (b7) r8 = 7
   2: (b7) r7 = 1
   3: (7a) *(u64 *)(r10 -16) = 0
   4: (15) if r7 == 0x3 goto L3
   5: (bf) r1 = r10
   6: (07) r1 += -16
; rule 1 @ generated:1
   7: (7b) *(u64 *)(r10 -24) = r6
   8: (bf) r6 = r1
   9: (b7) r7 = 5
  10: (7b) *(u64 *)(r10 -32) = r7
  11: (61) r0 = *(u32 *)(r6 +0)
  12: (55) if r0 != 0x9 goto L1
  13: (05) goto L2
L1:
; effect @ generated:2
  14: (bf) r1 = r6
  15: (18) r3 = map[data][0]+8
  17: (85) call pc+5#effect
L2:
  18: (79) r6 = *(u64 *)(r10 -24)
; goes on @ host:2
  19: (0f) r0 += r8
  20: (61) r1 = *(u32 *)(r6 +0)
L3:
  21: (b7) r0 = 0
  22: (95) exit
effect:
; effect @ host:4
  23: (b7) r0 = 1
  24: (95) exit
";
    assert_eq!(listing(&spliced), wanted);
}

#[test]
fn what_is_called_twice_stays_a_function() {
    let code = |text: &str| code(|a| _ = a.note(text).mov(R0, 3).exit());
    let spliced = splice(&host(2), "main", "answer", code("new")).unwrap();
    assert_complete(&spliced);
    assert_eq!(functions(&spliced), ["main", "answer"]);
    let text = listing(&spliced);
    let body = text.split_once("\nanswer:\n").unwrap().1;
    assert_eq!(body, "; new @ generated:1\n  15: (b7) r0 = 3\n  16: (95) exit\n");
    // The type is that of the function which is replaced.
    let [old, new] = [&host(2), &spliced].map(|spec| {
        let program = spec.program("main").unwrap();
        program.functions.iter().find(|function| function.name == "answer").unwrap().type_id
    });
    assert_eq!(old, new);
}

#[test]
fn long_or_deep_code_stays_a_function() {
    let long = code(|a| {
        for _ in 0..33_000 {
            a.mov(R0, 1);
        }
        a.exit();
    });
    assert_eq!(functions(&splice(&host(1), "main", "answer", long).unwrap()), ["main", "answer"]);
    let deep = code(|a| _ = a.store64(R10.at(-504), 0).mov(R0, 0).exit());
    assert_eq!(functions(&splice(&host(1), "main", "answer", deep).unwrap()), ["main", "answer"]);
    let tail = code(|a| _ = a.mov(R0, 0).call(Helper::TAIL_CALL).exit());
    assert_eq!(functions(&splice(&host(1), "main", "answer", tail).unwrap()), ["main", "answer"]);
}

#[test]
fn a_function_of_the_program_takes_the_place_of_its_call() {
    let spec = inline(&host(1), "main", "answer").unwrap();
    assert_complete(&spec);
    assert_eq!(functions(&spec), ["main", "effect", "other"]);
    let text = listing(&spec);
    assert!(text.contains("r1 += -16\n; answer @ host:3\n   7: (85) call pc"), "{text}");
    // A function that is called twice, or verified separately, is unchanged.
    assert_eq!(inline(&host(2), "main", "answer").unwrap(), host(2));
    let global = globalize(&host(1), "main", "answer", "answer").unwrap();
    assert_ne!(global, host(1));
    assert_eq!(inline(&global, "main", "answer").unwrap(), global);
    assert!(inline(&host(1), "main", "question").is_err());
}

#[test]
fn functions_of_the_code_come_along() {
    let with_function = |effect: bool| {
        code(|a| {
            let own = a.label();
            a.mov(R6, R1).call_local(own).exit();
            a.function(own, "own").mov(R1, R6);
            if effect {
                a.call_function("other");
            }
            a.note("own answer").exit();
        })
    };
    for calls in [1, 2] {
        let spliced = splice(&host(calls), "main", "answer", with_function(true)).unwrap();
        assert_complete(&spliced);
        let wanted: &[&str] = if calls == 1 {
            &["main", "other", "own"]
        } else {
            &["main", "answer", "other", "own"]
        };
        assert_eq!(functions(&spliced), wanted);
        let listing = listing(&spliced);
        assert!(listing.contains("#own\n") && listing.contains("#other\n"), "{listing}");
        assert!(listing.contains("own answer @ generated:1"), "{listing}");
    }
    let spliced = splice(&host(1), "main", "answer", with_function(false)).unwrap();
    assert_eq!(functions(&spliced), ["main", "own"]);
}

#[test]
fn refusals_say_what_is_wrong() {
    let nothing = || code(|a| _ = a.mov(R0, 0).exit());
    let refusal = |program, function, code| {
        splice(&host(1), program, function, code).unwrap_err().to_string()
    };
    assert_eq!(refusal("maim", "answer", nothing()), "host has no program \"maim\"; it has: main");
    let known = "it has: answer, effect, other";
    assert_eq!(
        refusal("main", "question", nothing()),
        format!("program \"main\" has no function \"question\" to call or to replace; {known}")
    );
    let calls = code(|a| _ = a.call_function("nobody").exit());
    assert!(refusal("main", "answer", calls).contains("no function \"nobody\""));
    let map = code(|a| _ = a.load_map(R1, "nothing").exit());
    assert!(refusal("main", "answer", map).contains("map \"nothing\", which is not declared"));
    let alone = code(|a| _ = a.call_function("effect").exit()).finish().unwrap_err();
    assert_eq!(
        alone.to_string(),
        "program \"code\": slot 0 calls function \"effect\", which is not there"
    );
}
