//! Loading objects that clang made: what the kernel supplies is filled in, what it refuses is
//! explained.

use kernel::{Attach, Binding, Error, LoadOptions, Mode, Object, Replace, TestRun, attach};
use spec::asm::{Assembler, Reg};
use spec::btf::{Btf, Kind};
use spec::{Expect, Input, Map as _, ProgramKind, Spec, Verdict};
use xway_tests::clang;
use xway_tests::program::{self, frame, load, wait_for};

fn run(object: &Object, program: &str) -> u32 {
    let input = Input { packet: frame(), ..Default::default() };
    let run = TestRun { input, ..Default::default() };
    object.program(program).unwrap().run(&run).unwrap().code
}

#[test]
fn globals_subprograms_and_sections() {
    let spec = clang::read(
        "globals",
        r#"
        const volatile int verdict = 1;
        int runs = 40;
        int more;
        static __attribute__((noinline)) int next(int by) { runs += by; more++; return runs; }
        __attribute__((noinline)) int global(int by) { return next(by); }
        SEC("xdp") int one(struct xdp_md *ctx) { return global(2) == 42 ? verdict : 0; }
        SEC("xdp.frags") int two(struct xdp_md *ctx) { return 2; }
        SEC("?xdp") int asked(struct xdp_md *ctx) { return 3; }
        "#,
    );
    let object = load(&spec);
    assert_eq!(object.warnings(), [""; 0]);
    assert_eq!(run(&object, "one"), Verdict::Drop as u32);
    assert_eq!(run(&object, "two"), Verdict::Pass as u32);
    let data = object.map(".data").unwrap();
    assert_eq!(data.lookup(&[0; 4]).unwrap().unwrap(), 42i32.to_ne_bytes());
    assert_eq!(object.map(".bss").unwrap().lookup(&[0; 4]).unwrap().unwrap(), [1, 0, 0, 0]);
    assert!(object.map(".rodata").unwrap().update(&[0; 4], &[0; 4], Expect::Any).is_err());
    match object.program("asked").unwrap_err() {
        Error::UnknownProgram { known, .. } => assert_eq!(known, ["one", "two"]),
        other => panic!("{other}"),
    }

    let chosen = LoadOptions { programs: Some(vec!["asked".to_owned()]), ..Default::default() };
    let object = Object::load(&spec, &chosen).unwrap();
    assert_eq!((object.programs().len(), run(&object, "asked")), (1, 3));
    let wrong = LoadOptions { programs: Some(vec!["nope".to_owned()]), ..Default::default() };
    let error = Object::load(&spec, &wrong).unwrap_err();
    assert!(error.to_string().contains("it has one, two, asked"), "{error}");
}

#[test]
fn the_kernels_configuration_is_filled_in() {
    let spec = clang::read(
        "kconfig",
        r#"
        extern int LINUX_KERNEL_VERSION __kconfig;
        extern _Bool CONFIG_BPF_SYSCALL __kconfig;
        extern char CONFIG_BPF_JIT __kconfig __weak;
        extern int CONFIG_SURELY_NOT_THERE __kconfig __weak;
        int version, syscall, jit, absent = 7;
        SEC("xdp") int look(struct xdp_md *ctx) {
            version = LINUX_KERNEL_VERSION >> 16;
            syscall = CONFIG_BPF_SYSCALL;
            jit = CONFIG_BPF_JIT;
            absent = CONFIG_SURELY_NOT_THERE;
            return XDP_PASS;
        }
        "#,
    );
    let object = load(&spec);
    assert_eq!(run(&object, "look"), 2);
    let release = sys::proc::kernel_release().unwrap();
    let major: u32 = release.split('.').next().unwrap().parse().unwrap();
    let read = |name: &str| global(&spec, &object, name);
    assert_eq!(read("version"), major);
    assert_eq!(read("syscall"), 1, "this kernel has bpf(2), or the test would not run");
    assert!([u32::from(b'y'), u32::from(b'n'), 0].contains(&read("jit")));
    assert_eq!(read("absent"), 0);

    let strict = clang::read(
        "strict",
        r#"
        extern int CONFIG_SURELY_NOT_THERE __kconfig;
        SEC("xdp") int look(struct xdp_md *ctx) { return CONFIG_SURELY_NOT_THERE; }
        "#,
    );
    let error = Object::load(&strict, &LoadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("CONFIG_SURELY_NOT_THERE"), "{error}");
}

/// A four-byte global variable of a loaded object.
fn global(spec: &Spec, object: &Object, name: &str) -> u32 {
    let btf = spec.btf.as_ref().unwrap();
    for section in [".data", ".bss"] {
        let Some(vars) = btf.datasec(section) else { continue };
        if let Some((_, place)) = vars.iter().find(|(ty, _)| ty.name() == name) {
            let value = object.map(section).unwrap().lookup(&[0; 4]).unwrap().unwrap();
            let at = place.offset as usize;
            return u32::from_ne_bytes(value[at..at + 4].try_into().unwrap());
        }
    }
    panic!("no global {name}");
}

#[test]
fn kernel_symbols_and_functions_are_found() {
    let spec = clang::read(
        "symbols",
        r#"
        extern const void _stext __ksym;
        extern const void surely_no_symbol __ksym __weak;
        extern void *bpf_cast_to_kern_ctx(void *obj) __ksym __weak;
        extern int bpf_surely_no_function(void) __ksym __weak;
        unsigned long address;
        SEC("xdp") int look(struct xdp_md *ctx) {
            address = (unsigned long)&_stext;
            if (&surely_no_symbol) return XDP_ABORTED;
            if (bpf_surely_no_function) return bpf_surely_no_function();
            return bpf_cast_to_kern_ctx && bpf_cast_to_kern_ctx(ctx) ? XDP_TX : XDP_DROP;
        }
        "#,
    );
    let object = load(&spec);
    let kernel = Btf::parse(&sys::proc::kernel_btf().unwrap()).unwrap();
    let known = kernel.find(Kind::Func, "bpf_cast_to_kern_ctx").is_some();
    assert_eq!(run(&object, "look"), if known { 3 } else { 1 });
    let address = object.map(".bss").unwrap().lookup(&[0; 4]).unwrap().unwrap();
    let address = u64::from_ne_bytes(address.try_into().unwrap());
    let symbols = sys::proc::kallsyms().unwrap();
    assert!(symbols.lines().any(|line| line == format!("{address:016x} T _stext")));

    for (source, name) in [
        ("extern const void no_such_symbol __ksym;", "no_such_symbol"),
        ("extern int no_such_symbol(void) __ksym;", "no_such_symbol"),
    ] {
        let call = if source.contains("(void)") {
            "no_such_symbol()"
        } else {
            "(int)(long)&no_such_symbol"
        };
        let program =
            format!(r#"{source} SEC("xdp") int look(struct xdp_md *c) {{ return {call}; }}"#);
        let error = Object::load(&clang::read("missing", &program), &LoadOptions::default());
        let error = error.unwrap_err();
        assert!(
            matches!(&error, Error::Unresolved { name: found, .. } if found == name),
            "{error}"
        );
    }
}

#[test]
fn field_offsets_are_those_of_the_running_kernel() {
    let spec = clang::read(
        "fields",
        r#"
        #pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
        struct net_device { int ifindex; unsigned int no_such_field; };
        struct no_such_struct { int x; };
        #pragma clang attribute pop
        int offset, exists, absent, size;
        SEC("xdp") int look(struct xdp_md *ctx) {
            struct net_device *dev = 0;
            offset = __builtin_preserve_field_info(dev->ifindex, 0);
            exists = __builtin_preserve_field_info(dev->ifindex, 2);
            absent = __builtin_preserve_field_info(dev->no_such_field, 2);
            size = __builtin_preserve_type_info(*(struct no_such_struct *)0, 1);
            return XDP_PASS;
        }
        "#,
    );
    let object = load(&spec);
    assert_eq!(run(&object, "look"), 2);
    let kernel = Btf::parse(&sys::proc::kernel_btf().unwrap()).unwrap();
    let device = kernel.ty(kernel.find(Kind::Struct, "net_device").unwrap()).unwrap();
    let field = device.members().find(|member| member.name == "ifindex").unwrap();
    let read = |name: &str| global(&spec, &object, name);
    assert_eq!(read("offset"), field.bit_offset / 8);
    assert_eq!((read("exists"), read("absent"), read("size")), (1, 0, 0));

    let empty = LoadOptions { target: Some(Btf::default()), ..Default::default() };
    let object = Object::load(&spec, &empty);
    assert!(object.is_err(), "the offset of a field that the target does not have");
}

#[test]
fn objects_without_types_load_too() {
    let spec = clang::read_bare(
        "old",
        r#"
        struct bpf_map_def { unsigned int type, key_size, value_size, max_entries, map_flags; };
        struct bpf_map_def SEC("maps") counts = { 2, 4, 8, 1, 0 };
        static void *(*lookup)(void *, const void *) = (void *)1;
        SEC("xdp_old_name") int count(struct xdp_md *ctx) {
            int key = 0;
            long *value = lookup(&counts, &key);
            if (value) *value += 1;
            return XDP_DROP;
        }
        "#,
    );
    assert!(spec.btf.is_none());
    let object = load(&spec);
    assert_eq!(run(&object, "count"), 1);
    let counts = object.map("counts").unwrap().lookup(&[0; 4]).unwrap().unwrap();
    assert_eq!(counts, 1u64.to_ne_bytes());
}

#[test]
fn a_section_without_a_meaning_needs_a_type() {
    let spec = clang::read("odd", r#"SEC("my_section") int odd(struct xdp_md *c) { return 2; }"#);
    let error = Object::load(&spec, &LoadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("--type"), "{error}");
    let options = LoadOptions { kind: Some(ProgramKind::XDP), ..Default::default() };
    assert_eq!(run(&Object::load(&spec, &options).unwrap(), "odd"), 2);
}

#[test]
fn programs_for_one_device_may_ask_it_and_go_nowhere_else() {
    let net = lab::TwoHosts::build(&lab::LinkOptions::default()).unwrap();
    let spec = clang::read(
        "bound",
        r#"
        extern int bpf_xdp_metadata_rx_hash(const struct xdp_md *ctx, __u32 *hash,
                                            int *type) __ksym;
        int called;
        SEC("xdp") int ask(struct xdp_md *ctx) {
            __u32 hash; int type;
            bpf_xdp_metadata_rx_hash(ctx, &hash, &type);
            called = 1;
            return XDP_PASS;
        }
        "#,
    );
    let unbound = Object::load(&spec, &LoadOptions::default()).unwrap_err();
    assert!(unbound.to_string().contains("metadata kfuncs require device-bound"), "{unbound}");

    let ifindex = net.a.ifindex("eth0").unwrap();
    let bound = LoadOptions { binding: Binding::Device(ifindex), ..Default::default() };
    let object = net.a.run(|| Object::load(&spec, &bound)).unwrap().unwrap();
    let program = object.program("ask").unwrap();
    let put = |host: &lab::Host| {
        let ifindex = host.ifindex("eth0").unwrap();
        let mode = Mode::Native;
        host.run(|| attach(&Attach { ifindex, program, mode, replace: Replace::No })).unwrap()
    };
    let error = put(&net.b).unwrap_err();
    assert!(error.to_string().to_lowercase().contains("device"), "{error}");
    let _link = put(&net.a).unwrap();
    let socket = net.b.run(|| std::net::UdpSocket::bind("0.0.0.0:0")).unwrap().unwrap();
    socket.send_to(b"x", (net.a.ipv4("eth0").unwrap(), 9)).unwrap();
    wait_for("a packet", || global(&spec, &object, "called") == 1);
}

/// The kernel takes no bound program into a program array. A bound program may call others; earlier
/// kernels refuse that as well.
#[test]
fn no_tail_call_reaches_a_bound_program() {
    let net = lab::TwoHosts::build(&lab::LinkOptions::default()).unwrap();
    let binding = Binding::Device(net.a.ifindex("eth0").unwrap());
    let calling = || {
        let mut object = spec::asm::Object::new("calls", "GPL");
        object.map(spec::MapDef {
            name: "array".into(),
            kind: spec::MapKind::PROG_ARRAY,
            key_size: 4,
            value_size: 4,
            max_entries: 1,
            ..Default::default()
        });
        let mut code = Assembler::new("calls", ProgramKind::XDP);
        code.load_map(Reg::R2, "array").mov(Reg::R3, 0).call(spec::asm::Helper::TAIL_CALL);
        code.verdict(Verdict::Pass);
        object.program(code);
        object.finish().unwrap()
    };
    let mut object = spec::asm::Object::new("called", "GPL");
    let mut code = Assembler::new("called", ProgramKind::XDP);
    code.verdict(Verdict::Drop);
    object.program(code);
    let called = object.finish().unwrap();
    let load = |spec: &Spec, binding| {
        let options = LoadOptions { binding, ..Default::default() };
        net.a.run(|| Object::load(spec, &options)).unwrap()
    };
    let caller = load(&calling(), Binding::Any).unwrap();
    let array = caller.map("array").unwrap();
    for (binding, refused) in [(Binding::Any, false), (binding, true)] {
        let callee = load(&called, binding).unwrap();
        let put = array.put_program(0, callee.program("called").unwrap());
        assert_eq!(put.as_ref().err().and_then(kernel::Error::errno), refused.then_some(22));
    }
    match load(&calling(), binding) {
        Ok(caller) => {
            let callee = load(&called, Binding::Any).unwrap();
            let array = caller.map("array").unwrap();
            array.put_program(0, callee.program("called").unwrap()).unwrap();
            let callee = load(&called, binding).unwrap();
            let error = array.put_program(0, callee.program("called").unwrap()).unwrap_err();
            assert_eq!(error.errno(), Some(22), "{error}");
        }
        Err(error) => assert_eq!(error.errno(), Some(22), "{error}"),
    }
}

#[test]
fn loaded_code_is_shown_with_its_lines() {
    let spec = clang::read(
        "dump",
        r#"
        static __attribute__((noinline)) int half(unsigned int x) { return x / 2; }
        SEC("xdp") int whole(struct xdp_md *ctx) {
            return half(ctx->ingress_ifindex) + 1;
        }
        "#,
    );
    let object = load(&spec);
    let dump = object.program("whole").unwrap().dump().unwrap();
    let names: Vec<_> = dump.functions.iter().map(|function| &*function.name).collect();
    assert_eq!(names, ["whole", "half"]);
    assert!(!dump.translated.is_empty());
    assert!(dump.lines.iter().any(|line| line.source.text.contains("return x / 2")));
    let lens: usize = dump.functions.iter().map(|function| function.machine_len).sum();
    assert_eq!(lens, dump.machine.len(), "the functions make up the machine code");
    let places: Vec<_> = dump.lines.iter().filter_map(|line| line.machine_at).collect();
    assert!(places.is_sorted(), "lines follow each other in the machine code");
    assert!(dump.machine.is_empty() || !places.is_empty());
}

#[test]
fn without_rights_the_missing_one_is_named() {
    use std::os::unix::process::CommandExt;
    const CHILD: &str = "XWAY_TEST_WITHOUT_RIGHTS";
    let spec =
        program::object(vec![program::seen()], vec![program::constant("pass", Verdict::Pass)]);
    if std::env::var_os(CHILD).is_some() {
        print!("{}", Object::load(&spec, &LoadOptions::default()).unwrap_err());
        return;
    }
    // Where user 65534 can surely run it.
    let copy = std::env::temp_dir().join(format!("xway-test-rights-{}", std::process::id()));
    std::fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
    let output = std::process::Command::new(&copy)
        .args(["--exact", "load::without_rights_the_missing_one_is_named", "--nocapture"])
        .env(CHILD, "1")
        .uid(65_534)
        .output();
    std::fs::remove_file(&copy).unwrap();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    assert!(text.contains("Operation not permitted (EPERM)"), "{text}");
    assert!(text.contains("this process lacks CAP_NET_ADMIN, CAP_PERFMON, CAP_BPF"), "{text}");
}

#[test]
fn parameters_without_names_keep_types_and_lines() {
    let spec = clang::read(
        "unnamed",
        r#"
        volatile unsigned int number = 5;
        static __attribute__((noinline)) int half(unsigned int x) { return x / 2; }
        __weak int global(int, long) { return half(number); }
        SEC("xdp") int whole(struct xdp_md *) { return global(1, 2); }
        "#,
    );
    let object = load(&spec);
    assert_eq!(object.warnings(), [""; 0]);
    assert_eq!(run(&object, "whole"), 2);
    let dump = object.program("whole").unwrap().dump().unwrap();
    let names: Vec<_> = dump.functions.iter().map(|function| &*function.name).collect();
    assert_eq!(names, ["whole", "global", "half"]);
}

#[test]
fn functions_have_no_types_where_the_kernel_refuses_those() {
    let mut spec = clang::read(
        "unrepaired",
        r#"SEC("xdp") int pass(struct xdp_md *ctx) { return XDP_PASS; }"#,
    );
    let btf = spec.btf.take().unwrap();
    let proto = btf.types().find(|ty| ty.kind() == Kind::FuncProto).unwrap();
    // A function that returns a function: no kernel takes it, and nothing repairs it.
    let func = btf.types().find(|ty| ty.kind() == Kind::Func).unwrap().id();
    let kind = (Kind::FuncProto as u32) << 24 | proto.vlen() as u32;
    let record = [0, kind, proto.target()].map(u32::to_le_bytes).concat();
    let at = btf.raw().windows(record.len()).position(|window| window == record).unwrap();
    let mut raw = btf.raw().to_vec();
    raw[at + 8..at + 12].copy_from_slice(&func.to_le_bytes());
    spec.btf = Some(Btf::parse(&raw).unwrap());
    let object = load(&spec);
    assert_eq!(run(&object, "pass"), 2);
    let dump = object.program("pass").unwrap().dump().unwrap();
    assert!(dump.lines.iter().any(|line| line.source.text.contains("return XDP_PASS")));
}

#[test]
fn a_field_that_the_kernel_lacks_is_named() {
    let spec = clang::read(
        "lacking",
        r#"
        #pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
        struct net_device { unsigned int no_such_field; };
        #pragma clang attribute pop
        SEC("xdp") int look(struct xdp_md *ctx) {
            return __builtin_preserve_field_info(((struct net_device *)0)->no_such_field, 0);
        }
        "#,
    );
    let error = Object::load(&spec, &LoadOptions::default()).unwrap_err();
    let Error::Verifier { log, .. } = &error else { panic!("{error}") };
    assert!(log.decisive.contains("no_such_field"), "{log}");
    assert!(!error.to_string().contains("helper"), "{error}");
}

/// Linux remembers where a program is in memory that is bound to a device, and does not follow it
/// when the verifier makes it longer than its pages. Where the kernel fails, this test ends with an
/// oops, and with the lock of all network configuration held.
#[test]
fn a_device_is_removed_while_a_program_is_bound_to_it_that_the_verifier_enlarges() {
    let net = lab::TwoHosts::build(&lab::LinkOptions::default()).unwrap();
    let ifindex = net.a.ifindex("eth0").unwrap();
    let bound = LoadOptions { binding: Binding::Device(ifindex), ..Default::default() };
    let mut programs = Vec::new();
    for length in [500, 506, 5000] {
        // Each load of the context becomes two instructions.
        let mut code = Assembler::new("grows", ProgramKind::XDP);
        for _ in 0..length {
            code.load32(Reg::R0, Reg::R1.at(QUEUE_INDEX));
        }
        code.verdict(Verdict::Pass);
        let mut object = spec::asm::Object::new("grows", "GPL");
        object.program(code);
        let spec = object.finish().unwrap();
        let object = net.a.run(|| Object::load(&spec, &bound)).unwrap().unwrap();
        let translated = object.program("grows").unwrap().info().unwrap().xlated_len as usize / 8;
        assert!(translated > length + length / 2, "{length} became {translated}");
        programs.push(object);
    }
    drop(net);
    // The lock is free.
    drop(lab::TwoHosts::build(&lab::LinkOptions::default()).unwrap());
}

/// Offset in `struct xdp_md`.
const QUEUE_INDEX: i16 = 16;
