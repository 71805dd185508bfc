//! Programs that the verifier refuses: the line that decides, its source, the remedy.

use kernel::{Error, LoadOptions, Object, VerifierLog};
use xway_tests::clang;

/// Body of the program; part of the decisive line, of the source line, of the hint.
struct Case {
    name: &'static str,
    body: &'static str,
    decisive: &'static str,
    source: &'static str,
    hint: &'static str,
}

#[rustfmt::skip]
const CASES: &[Case] = &[
    Case {
        name: "bounds",
        body: "char *p = (char *)(long)ctx->data; return p[13];",
        decisive: "invalid access to packet", source: "p[13]", hint: "data_end",
    },
    Case {
        name: "null",
        body: "int key = 0; int *v = lookup(&values, &key); return *v;",
        decisive: "map_value_or_null", source: "*v", hint: "NULL",
    },
    Case {
        name: "value",
        body: "int key = 0; int *v = lookup(&values, &key); return v ? v[9] : 0;",
        decisive: "invalid access to map value", source: "v[9]", hint: "bound",
    },
    Case {
        name: "helper",
        body: "return unknown_helper();",
        decisive: "func", source: "unknown_helper", hint: "doctor",
    },
    Case {
        name: "stack",
        body: "volatile char big[400]; for (int i = 0; i < 400; i++) big[i] = i; \
               return deep(big[9]);",
        decisive: "combined stack size", source: "", hint: "512",
    },
    Case {
        name: "endless",
        body: "volatile int i = 0; while (i < 10) { asm volatile(\"\"); } return 0;",
        decisive: "infinite loop detected at insn", source: "while (i < 10)", hint: "bound",
    },
    Case {
        name: "long",
        body: "unsigned i = 1; asm volatile(\"1: %0 += 1; if %0 != 0 goto 1b\" : \"+r\"(i)); \
               return i;",
        decisive: "too large. Processed 1000001 insn", source: "asm volatile", hint: "million",
    },
    Case {
        name: "number",
        body: "long x = ctx->ingress_ifindex; return *(int *)x;",
        decisive: "R1 invalid mem access 'scalar'", source: "*(int *)x", hint: "pointer",
    },
    Case {
        name: "sleep",
        body: "return (long)bpf_arena_alloc_pages(0, 0, 1, 1, 0);",
        decisive: "sleepable", source: "bpf_arena_alloc_pages(0", hint: "SEC(\"syscall\")",
    },
];

const BEFORE: &str = r#"
struct { int (*type)[1]; int *key; int *value; int (*max_entries)[1]; } values SEC(".maps");
static void *(*lookup)(void *, const void *) = (void *)1;
static int (*unknown_helper)(void) = (void *)9999;
extern void *bpf_arena_alloc_pages(void *, void *, int, int, unsigned long) __ksym __weak;
static __attribute__((noinline)) int deep(int x) {
    volatile char big[400];
    for (int i = 0; i < 400; i++) big[i] = x;
    return big[x & 255];
}
"#;

/// The error of a program with this body.
fn load(name: &str, body: &str, options: &LoadOptions) -> Error {
    let program = format!("{BEFORE} SEC(\"xdp\") int refused(struct xdp_md *ctx) {{\n{body}\n}}");
    Object::load(&clang::read(name, &program), options).unwrap_err()
}

/// The verifier's log for a program with this body.
fn refused(name: &str, body: &str) -> VerifierLog {
    match load(name, body, &LoadOptions::default()) {
        Error::Verifier { log, program, .. } => {
            assert_eq!(program, "refused");
            *log
        }
        other => panic!("{name}: {other}"),
    }
}

/// What the verifier refuses after it followed the paths has no log then.
#[test]
fn a_tentative_load_does_not_explain_refusals() {
    let options = LoadOptions { tentative: true, ..LoadOptions::default() };
    let refused = |name: &str| {
        let case = CASES.iter().find(|case| case.name == name).unwrap();
        load(name, case.body, &options)
    };
    for (name, errno) in [("long", 7), ("bounds", 13)] {
        let error = refused(name);
        assert!(error.is_by_verifier() && error.errno() == Some(errno), "{error}");
        assert!(!matches!(error, Error::Verifier { .. }), "{error}");
    }
    assert!(matches!(refused("long"), Error::TooComplex { .. }));
}

#[test]
fn refusals_name_the_line_and_the_remedy() {
    for Case { name, body, decisive, source, hint } in CASES {
        let log = refused(name, body);
        let shown = log.to_string();
        let evidence = format!("{name}: {shown}\n{}", log.text.get(..2000).unwrap_or(&log.text));
        assert!(log.decisive.contains(decisive), "{evidence}");
        assert!(log.hint().unwrap_or_default().contains(hint), "{evidence}");
        if source.is_empty() {
            continue;
        }
        let found = log.source.as_ref().unwrap();
        assert!(found.text.contains(source), "{evidence}");
        assert!(found.file.ends_with(".c") && found.line > 5, "{evidence}");
        assert!(shown.contains(&format!("{}:{}: ", found.file, found.line)), "{evidence}");
        assert!(log.slot.is_some() && shown.contains("  at instruction "), "{evidence}");
        // Of a long log the kernel keeps the end, which may be without source lines.
        let kept = log.text.contains(&found.text);
        assert_eq!(log.annotated().contains(&found.text), kept, "{evidence}");
    }
}
