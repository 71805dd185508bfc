//! Small programs as people write them: what they return, and where they go wrong.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

fn run(text: &str, memory: &mut [u8]) -> Result<u64, vm::Error> {
    let insns = spec::asm::text::parse(text).unwrap();
    vm::run_raw(&insns, memory)
}

#[test]
fn programs_return_r0() {
    let table = [
        ("r0 = 7\nexit", 7),
        ("r1 = -1\nr0 = r1\nr0 >>= 1\nexit", i64::MAX as u64),
        ("r0 = 0\nr1 = 10\nl:\nr0 += r1\nr1 -= 1\nif r1 != 0 goto l\nexit", 55),
        ("r0 = 8\nr1 = 0\nr0 /= r1\nexit", 0),
        ("r0 = 8\nr1 = 0\nr0 %= r1\nexit", 8),
        (
            "*(u64 *)(r10 -8) = 5\nr1 = 3\nlock *(u64 *)(r10 -8) += r1\nr0 = *(u64 *)(r10 -8)\n\
             exit",
            8,
        ),
    ];
    for (text, expected) in table {
        assert_eq!(run(text, &mut []).unwrap(), expected, "{text}");
    }
}

#[test]
fn functions_have_stacks_of_their_own() {
    let text = "
        r6 = 1
        *(u64 *)(r10 -8) = 40
        r1 = r10
        r1 += -8
        call f
        r0 += r6
        exit
    f:
        *(u64 *)(r10 -8) = 1
        r6 = *(u64 *)(r10 -8)
        r0 = *(u64 *)(r1 +0)
        r0 += r6
        exit";
    assert_eq!(run(text, &mut []).unwrap(), 42);
}

#[test]
fn faults_say_what_and_where() {
    let table = [
        ("r1 = 0\nr0 = *(u8 *)(r1 +4)\nexit", "null pointer"),
        ("r0 = *(u8 *)(r10 +0)\nexit", "not inside"),
        ("r0 = *(u8 *)(r5 +0)\nexit", "never set"),
        ("call f\nexit\nf:\ncall f\nexit", "call depth"),
    ];
    for (text, expected) in table {
        let error = run(text, &mut []).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}
