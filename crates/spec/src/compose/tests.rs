//! What composition writes, what it moves, and what it refuses.

use super::*;
use crate::asm::Reg::*;
use crate::asm::{Assembler, Atomic, Cond, Helper, Object, Size, Width};
use crate::btf::{Btf, Kind};
use crate::disasm::{self, Listing, SpecNames};
use crate::insn::{CALL, Insn, PSEUDO_CALL};
use crate::model::{Initial, KconfigVar, MapDef, MapKind};

fn hash(name: &str) -> MapDef {
    MapDef {
        name: name.to_owned(),
        kind: MapKind::HASH,
        key_size: 4,
        value_size: 8,
        max_entries: 16,
        ..MapDef::default()
    }
}

/// An object with everything that refers by number: map, kfunc, local call, callback.
fn object(name: &str, program: &str, kind: ProgramKind) -> Spec {
    written(name, program, kind, |_| ())
}

/// A program that ends with a tail call, from which main must return.
fn tail_calling(name: &str, program: &str) -> Spec {
    written(name, program, ProgramKind::XDP, |a| {
        a.call(Helper::TAIL_CALL);
    })
}

fn written(
    name: &str,
    program: &str,
    kind: ProgramKind,
    also: impl FnOnce(&mut Assembler),
) -> Spec {
    let mut object = Object::new(name, "GPL");
    object.map(hash("flows"));
    let mut a = Assembler::new(program, kind);
    let [local, callback] = [a.label(), a.label()];
    a.note(format!("{program} begins")).mov(R6, R1).store32(R10.at(-4), 0);
    a.lookup("flows", R10.at(-4)).mov(R1, R6).call_kfunc("bpf_xdp_metadata_rx_hash");
    a.note("the loop").load_function(R2, callback).call(Helper::LOOP);
    also(a.call_local(local));
    a.verdict(Verdict::Pass);
    a.function(local, "local").load_map(R1, "flows").mov(R0, 0).exit();
    a.function(callback, "callback").mov(R0, 1).exit();
    object.program(a);
    object.finish().unwrap()
}

pub(super) fn simple(name: &str, program: &str) -> Spec {
    let mut object = Object::new(name, "GPL");
    let mut a = Assembler::new(program, ProgramKind::XDP);
    a.verdict(Verdict::Pass);
    object.program(a);
    object.finish().unwrap()
}

pub(super) fn listing(spec: &Spec, program: &str) -> String {
    let program = spec.program(program).unwrap();
    let names = SpecNames { spec, program };
    Listing::new(program, &names).source(spec.btf.as_ref()).labels(true).to_string()
}

fn source(spec: &Spec, program: &Program, slot: usize) -> Option<String> {
    let text = program.line_at(slot)?.text;
    spec.btf.as_ref()?.string(text).map(str::to_owned)
}

/// Every instruction of `part` reads the same, with names and source, `start` slots further on.
fn assert_moved(part: (&Spec, &str), whole: (&Spec, &str), start: usize) {
    let read = |spec: &Spec, program: &str, slot: usize| {
        let program = spec.program(program).unwrap();
        let names = SpecNames { spec, program };
        let function = program.function_at(slot).unwrap();
        let text = disasm::insn(&program.insns, slot, &names);
        (text, function.name.clone(), slot - function.slot, source(spec, program, slot))
    };
    for slot in disasm::slots(&part.0.program(part.1).unwrap().insns) {
        assert_eq!(read(part.0, part.1, slot), read(whole.0, whole.1, slot + start), "slot {slot}");
    }
}

/// The kernel takes function types and lines for each function or not at all.
pub(super) fn assert_complete(spec: &Spec, program: &str) {
    let program = spec.program(program).unwrap();
    let btf = spec.btf.as_ref().unwrap();
    assert_eq!(Btf::parse(btf.raw()).as_ref(), Ok(btf));
    for function in &program.functions {
        let ty = btf.ty(function.type_id).unwrap();
        assert_eq!((ty.kind(), ty.name()), (Kind::Func, &*function.name));
        assert_eq!(btf.ty(ty.target()).unwrap().kind(), Kind::FuncProto);
        assert!(program.lines.iter().any(|line| line.slot == function.slot), "{}", function.name);
    }
    assert!(program.functions.is_sorted_by(|a, b| a.slot < b.slot));
    assert!(program.lines.is_sorted_by(|a, b| a.slot < b.slot));
    assert!(program.fixups.is_sorted_by(|a, b| a.slot < b.slot));
    assert!(program.lines.iter().all(|line| btf.string(line.text).is_some()));
}

#[test]
fn main_measures_runs_and_counts() {
    let spec = counted(&simple("one", "pass"), "pass").unwrap();
    let wanted = "\
xway_main:
; context and counters for pass @ xway_main:1
   0: (bf) r6 = r1
   1: (62) *(u32 *)(r10 -4) = 0
   2: (bf) r2 = r10
   3: (07) r2 += -4
   4: (18) r1 = map[xway_verdicts]
   6: (85) call bpf_map_lookup_elem#1
   7: (55) if r0 != 0x0 goto L1
   8: (b4) w0 = 0
   9: (95) exit
L1:
  10: (7b) *(u64 *)(r10 -8) = r0
  11: (bf) r1 = r6
; length of the packet for pass @ xway_main:2
  12: (61) r3 = *(u32 *)(r1 +0)
  13: (61) r2 = *(u32 *)(r1 +4)
  14: (1f) r2 -= r3
  15: (79) r3 = *(u64 *)(r10 -8)
  16: (7b) *(u64 *)(r3 +16) = r2
; pass @ one:1
  17: (b4) w0 = 2
  18: (05) goto L2
L2:
; count the verdict of pass @ xway_main:3
  19: (79) r1 = *(u64 *)(r10 -8)
  20: (bc) w2 = w0
  21: (a6) if w2 < 0x5 goto L3
  22: (b4) w2 = 5
L3:
  23: (79) r3 = *(u64 *)(r1 +16)
  24: (67) r2 <<= 4
  25: (0f) r1 += r2
  26: (79) r2 = *(u64 *)(r1 +40)
  27: (07) r2 += 1
  28: (7b) *(u64 *)(r1 +40) = r2
  29: (79) r2 = *(u64 *)(r1 +48)
  30: (0f) r2 += r3
  31: (7b) *(u64 *)(r1 +48) = r2
  32: (95) exit
";
    assert_eq!(listing(&spec, "pass"), wanted);
    let map = spec.map(VERDICTS_MAP).unwrap();
    let shape = (map.kind, map.key_size, map.value_size, map.max_entries);
    assert_eq!(shape, (MapKind::PERCPU_ARRAY, 4, 152, 1));
    let btf = spec.btf.as_ref().unwrap();
    assert_eq!([map.key_type, map.value_type].map(|id| btf.size_of(id)), [Some(4), Some(152)]);
    assert_complete(&spec, "pass");
}

#[test]
fn an_inlined_program_keeps_its_references_and_lowers_its_stack() {
    let spec = counted(&object("flows", "track", ProgramKind::XDP), "track").unwrap();
    let program = spec.program("track").unwrap();
    let names: Vec<_> = program.functions.iter().map(|function| &*function.name).collect();
    assert_eq!(names, ["xway_main", "local", "callback"]);
    let text = listing(&spec, "track");
    let body: Vec<_> = text.lines().skip_while(|line| !line.contains("track begins")).collect();
    let wanted = [
        "; track begins @ flows:1",
        "  17: (bf) r6 = r1",
        "  18: (62) *(u32 *)(r10 -12) = 0",
        "  19: (bf) r2 = r10",
        "  20: (07) r2 += -12",
        "  21: (18) r1 = map[flows]",
        "  23: (85) call bpf_map_lookup_elem#1",
        "  24: (bf) r1 = r6",
        "  25: (85) call bpf_xdp_metadata_rx_hash#0",
        "; the loop @ flows:2",
        "  26: (18) r2 = subprog[callback]",
        "  28: (85) call bpf_loop#181",
        "  29: (85) call pc+16#local",
        "  30: (b4) w0 = 2",
        "  31: (05) goto L2",
        "L2:",
    ];
    assert_eq!(body[..wanted.len()], wanted);
    let original = object("flows", "track", ProgramKind::XDP);
    let behind = original.programs[0].functions[1].slot;
    let moved = program.functions[1].slot;
    assert_eq!(original.programs[0].insns[behind..], program.insns[moved..]);
    assert_complete(&spec, "track");
}

#[test]
fn a_called_program_moves_unchanged() {
    let original = tail_calling("flows", "track");
    let spec = counted(&original, "track").unwrap();
    let program = spec.program("track").unwrap();
    let names: Vec<_> = program.functions.iter().map(|function| &*function.name).collect();
    assert_eq!(names, ["xway_main", "track", "local", "callback"]);
    assert!(listing(&spec, "track").contains("call pc+14#track"));
    assert_moved((&original, "track"), (&spec, "track"), program.functions[1].slot);
    assert_complete(&spec, "track");
}

#[test]
fn main_has_the_type_of_the_program_which_becomes_static() {
    let original = tail_calling("one", "jump");
    let before = original.programs[0].functions[0].type_id;
    let spec = counted(&original, "jump").unwrap();
    let btf = spec.btf.as_ref().unwrap();
    let functions = &spec.programs[0].functions;
    let [main, entry] = [0, 1].map(|number: usize| btf.ty(functions[number].type_id).unwrap());
    assert_eq!((main.linkage(), entry.linkage()), (1, 0));
    assert_eq!([main, entry].map(|ty| ty.target()), [btf.ty(before).unwrap().target(); 2]);
    assert_eq!(btf.ty(before).unwrap().linkage(), 1, "others may call the old one");
}

/// Whether main takes a program in whose entry begins so.
fn inlined(write: impl Fn(&mut Assembler) -> &mut Assembler) -> bool {
    let mut object = Object::new("o", "GPL");
    let mut a = Assembler::new("p", ProgramKind::XDP);
    write(&mut a);
    a.verdict(Verdict::Pass);
    object.program(a);
    let spec = counted(&object.finish().unwrap(), "p").unwrap();
    spec.programs[0].functions.len() == 1
}

#[test]
fn only_what_can_be_followed_is_inlined() {
    assert!(inlined(|a| a.store64(R10.at(-8), R1).load64(R2, R10.at(-8)).raw(ACQUIRE)));
    assert!(inlined(|a| a.mov(R2, R10).add(R2, -8).mov(R3, R2).add(R3, 4).sub(R2, R3)));
    assert!(inlined(|a| a.load_imm64(R2, 0x95).load_imm64(R3, u64::MAX)));

    assert!(!inlined(|a| a.call(Helper::TAIL_CALL)), "it returns from main");
    assert!(!inlined(|a| a.mov(R2, R10).mov(R3, R2)), "an address without its offset");
    assert!(!inlined(|a| a.mov(R2, R10).add(R3, -8)), "another register's offset");
    assert!(!inlined(|a| a.mov(R2, R10).add32(R2, -8)), "a cut address");
    assert!(!inlined(|a| a.sub(R1, R10)), "arithmetic with the frame pointer");
    assert!(!inlined(|a| a.store64(R10.at(-8), R10)), "the frame pointer stored");
    assert!(!inlined(|a| a.store64(R10.at(i16::MIN), 0)), "no room below");
    let jumped_into = inlined(|a| {
        let label = a.label();
        a.jump_if(R1, Cond::Eq, 0, label).mov(R2, R10).bind(label).add(R2, -8)
    });
    assert!(!jumped_into, "the offset is also added to something else");
    let recursive = Insn::new(CALL, 0, PSEUDO_CALL, 0, -1);
    assert!(!inlined(|a| a.raw(recursive)), "a call needs a function");
    assert!(!inlined(|a| (0..33_000).fold(a, |a, _| a.mov(R0, 0))), "jumps span 16 bits");
}

/// `r1 = load_acquire((u64 *)(r10 -8))`
const ACQUIRE: Insn = Insn::new(0xdb, 1, 10, -8, 0x100);

#[test]
fn every_form_of_stack_access_is_lowered() {
    let mut object = Object::new("o", "GPL");
    let mut a = Assembler::new("p", ProgramKind::XDP);
    a.store64(R10.at(-8), R1).store8(R10.at(-16), 7).load64(R2, R10.at(-8)).raw(ACQUIRE);
    a.store_release(Size::Double, R10.at(-8), R2);
    a.atomic(Atomic::Add, Width::W64, R10.at(-8), R2).mov(R3, R10).add(R3, -512);
    a.store64(R3.at(0), R2).verdict(Verdict::Pass);
    object.program(a);
    let spec = counted(&object.finish().unwrap(), "p").unwrap();
    let text = listing(&spec, "p");
    let body = text.lines().filter_map(|line| line.split_once(": (")).map(|(_, code)| &code[4..]);
    let body: Vec<_> = body.skip(16).take(9).collect();
    let wanted = [
        "*(u64 *)(r10 -16) = r1",
        "*(u8 *)(r10 -24) = 7",
        "r2 = *(u64 *)(r10 -16)",
        "r1 = load_acquire((u64 *)(r10 -16))",
        "store_release((u64 *)(r10 -16), r2)",
        "lock *(u64 *)(r10 -16) += r2",
        "r3 = r10",
        "r3 += -520",
        "*(u64 *)(r3 +0) = r2",
    ];
    assert_eq!(body, wanted);
}

#[test]
fn fragments_are_measured_by_the_helper() {
    let spec = counted(&object("frags", "track", ProgramKind::XDP_FRAGS), "track").unwrap();
    let text = listing(&spec, "track");
    let measured = text.lines().skip_while(|line| !line.starts_with("; length of the packet"));
    let measured: Vec<_> = measured.skip(1).take(6).collect();
    assert_eq!(
        measured,
        [
            "  12: (bf) r6 = r1",
            "  13: (85) call bpf_xdp_get_buff_len#188",
            "  14: (bf) r1 = r6",
            "  15: (bf) r2 = r0",
            "  16: (79) r3 = *(u64 *)(r10 -8)",
            "  17: (7b) *(u64 *)(r3 +16) = r2",
        ]
    );
    assert!(text.contains("*(u32 *)(r10 -12) = 0"), "below main's 8 bytes");
    assert_eq!(spec.programs[0].kind, ProgramKind::XDP_FRAGS);
}

#[test]
fn a_chain_of_two_objects_keeps_both_whole() {
    let mut first = tail_calling("one.o", "track");
    first.programs[0].kind = ProgramKind::XDP_FRAGS;
    let second = tail_calling("two.o", "track");
    let go_on = [Verdict::Pass, Verdict::Tx].into_iter().collect();
    let links = [&first, &second].map(|spec| Link { spec, program: "track", go_on });
    let spec = chain(&links).unwrap();

    let names: Vec<_> = spec.maps.iter().map(|map| (&*map.name, map.max_entries)).collect();
    assert_eq!(names, [("flows", 16), ("flows.2", 16), (VERDICTS_MAP, 1)]);
    let programs: Vec<_> = spec.programs.iter().map(|p| (&*p.name, p.autoload)).collect();
    assert_eq!(programs, [("track", true), ("track.2", false)]);
    let program = &spec.programs[0];
    assert_eq!(program.kind, ProgramKind::XDP, "the second cannot take fragments");

    let starts: Vec<_> = program.functions.iter().filter(|f| f.name == "track").collect();
    assert_moved((&first, "track"), (&spec, "track"), starts[0].slot);
    let second_start = starts[1].slot;
    let map =
        program.fixups.iter().filter(|fixup| fixup.slot > second_start).find_map(|fixup| {
            if let Target::Map { map } = fixup.target { Some(map) } else { None }
        });
    assert_eq!(map, Some(1));
    assert_eq!(source(&spec, program, second_start).as_deref(), Some("track begins"));
    assert_complete(&spec, "track");
}

#[test]
fn a_chain_goes_on_after_the_named_verdicts_only() {
    let specs = ["a", "b"].map(|name| simple(name, name));
    let heads = |go_on: VerdictSet| {
        let links =
            [0, 1].map(|at: usize| Link { spec: &specs[at], program: &specs[at].name, go_on });
        let text = listing(&chain(&links).unwrap(), "a");
        let lines = text.lines().map(|line| line.split(": ").last().unwrap_or(line).to_owned());
        // From the first verdict counted to the second program.
        let counted = lines.skip_while(|line| !line.contains("count the verdict of a"));
        counted.skip(1).take_while(|line| !line.contains("for b")).collect::<Vec<_>>()
    };
    let ends = |heads: &[String], wanted: &[&str]| {
        assert_eq!(heads[heads.len() - wanted.len()..], *wanted, "{heads:#?}");
    };
    let two = heads([Verdict::Tx, Verdict::Pass].into_iter().collect());
    ends(&two, &["(16) if w0 == 0x2 goto L4", "(16) if w0 == 0x3 goto L4", "(95) exit", "L4:"]);
    let all = heads(Verdict::ALL.into_iter().collect());
    ends(&all, &["(b6) if w0 <= 0x4 goto L4", "(95) exit", "L4:"]);
    // The counter of a single verdict is at a constant place: 40 + 2 * 16. Others are counted after
    // the last program.
    let one = heads(VerdictSet::default());
    assert_eq!(one[1], "(56) if w0 != 0x2 goto L6");
    assert!(one.iter().any(|line| line == "(7b) *(u64 *)(r1 +72) = r2"), "{one:#?}");
    ends(&one, &["(05) goto L3", "L3:"]);
}

#[test]
fn timed_programs_are_uncounted_or_counted() {
    let spec = simple("one", "a");
    let links = [Link { spec: &spec, program: "a", go_on: VerdictSet::default() }; 2];
    let text = |counts| {
        let of_link = [0, 1].map(|slot| LinkCounter { slot, counts }).to_vec();
        let counters = Counters { of_link, slots: 2, timed: true };
        listing(&compose(&links, &counters, Form::Inline, None).unwrap().spec, "a")
    };
    for (counts, lengths) in [(true, 1), (false, 0)] {
        let text = text(counts);
        assert_eq!(text.matches("bpf_ktime_get_ns").count(), 2 + 2, "{text}");
        assert_eq!(text.matches("length of the packet").count(), lengths, "{text}");
        // The first program's sum of times, after 40 bytes of the head and 96 of its counters.
        assert!(text.contains("*(u64 *)(r7 +136) = r2"), "{text}");
    }
}

#[test]
fn the_length_is_measured_again_only_after_programs_that_can_change_it() {
    let second = simple("two", "b");
    let go_on = VerdictSet::default();
    let measured = |first: &Spec| {
        let links = [(first, "a"), (&second, "b")];
        let links = links.map(|(spec, program)| Link { spec, program, go_on });
        listing(&chain(&links).unwrap(), "a").contains("; length of the packet for b")
    };
    assert!(!measured(&simple("one", "a")));
    for helper in [Helper::XDP_ADJUST_HEAD, Helper::XDP_ADJUST_TAIL, Helper::TAIL_CALL] {
        let mut first = Object::new("one", "GPL");
        let mut a = Assembler::new("a", ProgramKind::XDP);
        a.call(helper).verdict(Verdict::Pass);
        first.program(a);
        assert!(measured(&first.finish().unwrap()), "{helper:?}");
    }
    assert!(measured(&object("one", "a", ProgramKind::XDP)), "a kfunc");
}

#[test]
fn programs_of_one_object_share_its_maps_and_types() {
    let mut spec = object("both.o", "first", ProgramKind::XDP);
    let mut second = spec.programs[0].clone();
    second.name = "second".to_owned();
    spec.programs.push(second);
    let links = ["first", "second"].map(|program| Link { spec: &spec, program, go_on: default() });
    let composed = chain(&links).unwrap();
    let maps: Vec<_> = composed.maps.iter().map(|map| &*map.name).collect();
    assert_eq!(maps, ["flows", VERDICTS_MAP]);
    let autoload: Vec<_> = composed.programs.iter().map(|p| (&*p.name, p.autoload)).collect();
    assert_eq!(autoload, [("first", true), ("second", false)]);
}

pub(super) fn default() -> VerdictSet {
    VerdictSet::default()
}

#[test]
fn initial_values_follow_their_maps_and_programs() {
    let [first, mut second] = ["a", "b"].map(|name| object(name, name, ProgramKind::XDP));
    let outer = MapDef {
        initial: vec![Initial::Map { index: 3, map: 0 }, Initial::Program { index: 4, program: 0 }],
        ..hash("outer")
    };
    second.maps.push(outer);
    let links = [(&first, "a"), (&second, "b")];
    let links = links.map(|(spec, program)| Link { spec, program, go_on: default() });
    let composed = chain(&links).unwrap();
    let initial = &composed.map("outer").unwrap().initial;
    let moved = [Initial::Map { index: 3, map: 1 }, Initial::Program { index: 4, program: 1 }];
    assert_eq!(initial[..], moved);
}

#[test]
fn maps_pinned_by_one_name_are_one_map() {
    let pinned = |entries| {
        let mut spec = object("pinned", "p", ProgramKind::XDP);
        spec.maps[0].pin_by_name = true;
        spec.maps[0].max_entries = entries;
        spec
    };
    let join = |first: &Spec, second: &Spec| {
        chain(&[first, second].map(|spec| Link { spec, program: "p", go_on: default() }))
    };
    let shared = join(&pinned(16), &pinned(16)).unwrap();
    assert_eq!(shared.maps.len(), 2);
    let clash = join(&pinned(16), &pinned(32)).unwrap_err();
    assert_eq!(clash, Error::PinnedDiffer { map: "flows".to_owned() });
}

#[test]
fn without_types_there_are_none_and_beside_typed_code_they_are_made_up() {
    let mut bare = object("bare", "bare", ProgramKind::XDP);
    bare.btf = None;
    for function in &mut bare.programs[0].functions {
        function.type_id = 0;
    }
    bare.programs[0].lines.clear();

    let alone = counted(&bare, "bare").unwrap();
    let program = &alone.programs[0];
    assert!(alone.btf.is_none() && program.lines.is_empty());
    assert!(program.functions.iter().all(|function| function.type_id == 0));

    let typed = simple("typed", "typed");
    for links in [[(&bare, "bare"), (&typed, "typed")], [(&typed, "typed"), (&bare, "bare")]] {
        let first = links[0].1;
        let links = links.map(|(spec, program)| Link { spec, program, go_on: default() });
        assert_complete(&chain(&links).unwrap(), first);
    }
}

type Change = fn(&mut Spec);

#[test]
fn refusals_say_what_is_wrong() {
    let good = simple("good.o", "good");
    let changed = |change: Change| {
        let mut spec = simple("bad.o", "bad");
        change(&mut spec);
        spec
    };
    let table: [(&str, Change); 8] = [
        ("is of type 3; only XDP", |spec| spec.programs[0].kind = ProgramKind::TC),
        ("has no instructions", |spec| spec.programs[0].insns.clear()),
        ("is composed already", |spec| *spec = counted(spec, "bad").unwrap()),
        ("differ in attach type", |spec| spec.programs[0].kind = ProgramKind::XDP_CPUMAP),
        ("differ in attach type", |spec| spec.programs[0].kind.flags = 1 << 6),
        ("licenses \"GPL\" and \"Proprietary\"", |spec| spec.license = "Proprietary".to_owned()),
        ("bad.o has no program \"bad\"; it has: worse", |spec| {
            spec.programs[0].name = "worse".to_owned();
        }),
        ("both read kernel configuration", |spec| spec.kconfig = vec![kconfig()]),
    ];
    for (text, change) in table {
        let bad = changed(change);
        let mut first = good.clone();
        first.kconfig = vec![kconfig()];
        let links = [(&first, "good"), (&bad, "bad")];
        let links = links.map(|(spec, program)| Link { spec, program, go_on: default() });
        let error = chain(&links).unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
    assert_eq!(chain(&[]).unwrap_err(), Error::Empty);
    let link = Link { spec: &good, program: "good", go_on: default() };
    let error = chain(&[link; MAX_LINKS + 1]).unwrap_err();
    assert_eq!(error, Error::TooMany { count: 65, limit: 64 });
    let end = Link { go_on: VerdictSet::EMPTY, ..link };
    let error = chain(&[link, end, link]).unwrap_err();
    assert_eq!(error, Error::Final { program: "good".to_owned() });
    assert!(chain(&[link, end]).is_ok(), "the last one's set says nothing");
    assert!(chain(&[link; MAX_LINKS]).is_ok());
}

fn kconfig() -> KconfigVar {
    let name = "CONFIG_HZ".to_owned();
    KconfigVar { name, offset: 0, size: 4, type_id: 0, weak: false }
}

#[test]
fn two_free_licenses_make_a_free_one() {
    let mut second = simple("b", "b");
    second.license = "Dual MIT/GPL".to_owned();
    let first = simple("a", "a");
    let links = [(&first, "a"), (&second, "b")];
    let links = links.map(|(spec, program)| Link { spec, program, go_on: default() });
    assert_eq!(chain(&links).unwrap().license, "GPL");
}

#[test]
fn a_program_with_statistics_counts_itself() {
    let with_map = |name| {
        let mut spec = object("o", "p", ProgramKind::XDP);
        spec.maps[0].name = String::from(name);
        counts_itself(&spec, "p")
    };
    assert!(with_map(OWN_STATS_MAP));
    assert!(!with_map("flows"));
    let mut unused = simple("o", "p");
    unused.maps.push(hash(OWN_STATS_MAP));
    assert!(!counts_itself(&unused, "p"), "the map is another program's");
    assert!(!counts_itself(&unused, "no such program"));
}

#[test]
fn a_single_program_without_a_counter_keeps_its_lines() {
    let spec = object("one", "one", ProgramKind::XDP);
    let link = Link { spec: &spec, program: "one", go_on: default() };
    let of_link = vec![LinkCounter { slot: 0, counts: false }];
    let counters = Counters { of_link, slots: 1, timed: false };
    let composed = compose(&[link], &counters, Form::Inline, None).unwrap();
    let program = composed.spec.program("one").unwrap();
    let slots: Vec<_> = program.lines.iter().map(|line| line.slot).collect();
    assert!(slots.is_sorted_by(|a, b| a < b), "{slots:?}");
    assert!(composed.spec.map(VERDICTS_MAP).is_none());
    assert_eq!(composed.maps, [[("flows".to_owned(), "flows".to_owned())]]);
}

/// A value of a map of two slots, of which each word is its number.
fn numbered() -> Vec<u8> {
    (0..value_size(2) as u64 / 8).flat_map(u64::to_ne_bytes).collect()
}

#[test]
fn slots_are_added_up_over_processors() {
    let value = numbered();
    assert_eq!(slots(value.len()), Some(2));
    let totals = SlotTotals::read([&*value; 2], 1).unwrap();
    // The head has 5 words, and the first slot 14.
    assert_eq!((totals.counts[0], totals.counts[5]), ([38, 40], [58, 60]));
    assert_eq!((totals.ns, totals.samples), (62, 64));
    assert_eq!(SlotTotals::from_words(&totals.words()), totals);
    assert_eq!(totals.since(&totals), SlotTotals::default());
    assert_eq!(totals.since(&SlotTotals::from_words(&[8])).counts[0], [30, 40]);
    // Clock 3 and samples 4, of which the first is not timed.
    assert_eq!(SlotTotals::clock_ns([&*value; 2]), Some(1.0));
}

#[test]
fn a_value_of_another_layout_is_not_read() {
    let other: &[u8] = &[0; 16];
    assert_eq!((SlotTotals::read([other], 0), SlotTotals::clock_ns([other])), (None, None));
    assert_eq!(SlotTotals::read([&*numbered()], 2), None, "no such slot");
    let unused = vec![0; value_size(2)];
    assert_eq!(SlotTotals::read([&*unused], 1), Some(SlotTotals::default()));
    assert_eq!(SlotTotals::clock_ns([&*unused]), None);
}
