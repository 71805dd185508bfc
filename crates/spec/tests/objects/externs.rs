//! What the running system supplies.

use spec::insn::{PSEUDO_BTF_ID, PSEUDO_KFUNC_CALL, PSEUDO_MAP_VALUE};
use spec::{Program, Spec, Target};

use crate::object;

#[test]
fn kernel_configuration_is_a_map() {
    let spec = object("externs.o");
    let vars: Vec<_> = spec
        .kconfig
        .iter()
        .map(|var| (var.name.as_str(), var.offset, var.size, var.weak))
        .collect();
    assert_eq!(
        vars,
        [
            ("CONFIG_BPF_SYSCALL", 0, 4, true),
            ("LINUX_KERNEL_VERSION", 4, 4, false),
            ("CONFIG_XWAY_NOT_THERE", 8, 1, true),
            ("CONFIG_DEFAULT_HOSTNAME", 9, 16, true),
        ]
    );
    let map = spec.map(".kconfig").unwrap();
    assert_eq!((map.value_size, map.frozen), (25, true));
    assert_eq!(map.contents, Some(vec![0; 25]));
    let number = spec.map_index(".kconfig").unwrap();
    let program = spec.program("ask").unwrap();
    for var in &spec.kconfig {
        let target = Target::MapValue { map: number, offset: var.offset };
        let slot = slot_of(program, &target);
        assert_eq!(program.insns[slot].src, PSEUDO_MAP_VALUE);
        assert_eq!(program.insns[slot + 1].imm.cast_unsigned(), var.offset);
    }
}

#[test]
fn kernel_symbols_are_named() {
    let spec = object("externs.o");
    let ask = spec.program("ask").unwrap();
    let typeless = Target::Ksym { name: "xway_not_there".into(), type_id: 0, weak: true };
    assert_eq!(ask.insns[slot_of(ask, &typeless)].src, 0);
    let type_id = named(&spec, "nr_cpu_ids");
    let typed = Target::Ksym { name: "nr_cpu_ids".into(), type_id, weak: true };
    assert_eq!(ask.insns[slot_of(ask, &typed)].src, PSEUDO_BTF_ID);

    let call = spec.program("call").unwrap();
    let name = "bpf_cast_to_kern_ctx";
    let kfunc = Target::Kfunc { name: name.into(), type_id: named(&spec, name), weak: false };
    let insn = call.insns[slot_of(call, &kfunc)];
    assert_eq!((insn.src, insn.imm, insn.off), (PSEUDO_KFUNC_CALL, 0, 0));
    let name = "xway_no_such_function";
    let type_id = named(&spec, name);
    slot_of(call, &Target::Kfunc { name: name.into(), type_id, weak: true });
    slot_of(call, &Target::KfuncAddress { name: name.into(), type_id, weak: true });
}

#[test]
fn an_undeclared_symbol_is_an_error() {
    let bytes = crate::without_types("externs.o");
    let error = Spec::parse("externs.o", &bytes).unwrap_err().to_string();
    assert!(error.starts_with("externs.o: section `xdp`, symbol `"), "{error}");
    assert!(error.contains("declare it `__ksym`"), "{error}");
}

fn slot_of(program: &Program, target: &Target) -> usize {
    let fixup = program.fixups.iter().find(|fixup| fixup.target == *target);
    fixup.unwrap_or_else(|| panic!("no {target:?} in {:#?}", program.fixups)).slot
}

fn named(spec: &Spec, name: &str) -> u32 {
    let btf = spec.btf.as_ref().unwrap();
    btf.find_all(name).next().unwrap().id()
}
