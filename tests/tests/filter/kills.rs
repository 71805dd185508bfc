//! Writers that are killed at any moment, each kind of them: a filter decides by the rules of
//! before or of after, what counts is kept whole, and the next writer leaves one generation.

use std::time::Instant;

use xway_tests::filter::{counted, file, load, rules, show};
use xway_tests::stage::Stage;

/// Moments between the start of a command and its end.
const STEPS: u32 = 8;

/// Frames to port 7, which the active rules drop by the rule `seven`.
struct Seven {
    sent: u64,
}

impl Seven {
    /// One more is dropped and counted.
    #[track_caller]
    fn is_dropped(&mut self, stage: &Stage, when: &str) {
        stage.send(&stage.flow(7).udp(b"x").unwrap(), 1);
        self.sent += 1;
        let shown = counted(stage, self.sent);
        let seven = rules(&shown).into_iter().find(|(name, _)| name == "seven");
        assert_eq!(seven, Some(("seven".to_owned(), self.sent)), "{when}: {shown:#}");
    }
}

/// `change` is killed at each moment, and `back` undoes it: the rule `seven` outlives both.
fn kill_changes(change: &[&str], back: &[&str]) {
    let stage = Stage::new();
    let new = file(&stage, "new.toml", "rules = ['seven: drop udp dport 7', 'all: count']");
    let words = |words: &[&str]| -> Vec<String> {
        let place = |word: &&str| if *word == "FILE" { new.clone() } else { (*word).to_owned() };
        std::iter::once("filter".to_owned()).chain(words.iter().map(place)).collect()
    };
    let run = |of: &[&str]| {
        let owned = words(of);
        stage.run(&owned.iter().map(String::as_str).collect::<Vec<_>>())
    };
    load(&stage, &["seven: drop udp dport 7", "other: drop tcp"]);
    let mut seven = Seven { sent: 0 };
    seven.is_dropped(&stage, "before");
    let start = Instant::now();
    run(change).ended(0);
    let step = start.elapsed() / STEPS;
    run(back);
    let mut killed = 0;
    for round in 0..STEPS {
        let owned = words(change);
        let given: Vec<_> = owned.iter().map(String::as_str).collect();
        killed += u32::from(stage.kill_after(&given, step * round));
        let when = format!("{change:?}, killed in step {round}");
        seven.is_dropped(&stage, &when);
        // The next command that writes leaves one generation, and the counts persist.
        stage.run(&["detach", "lo"]).ended(1);
        assert_eq!(stage.kept(), 1, "{when}: {:?}", stage.pins());
        seven.is_dropped(&stage, &when);
        run(back);
    }
    assert!(killed > 0, "{change:?}: none of {STEPS} was killed");
}

#[test]
fn adding_a_rule() {
    kill_changes(
        &["add", "eth0", "drop udp dport 8", "--name", "eight"],
        &["remove", "eth0", "eight"],
    );
}

#[test]
fn removing_a_rule() {
    kill_changes(&["remove", "eth0", "other"], &["add", "eth0", "drop tcp", "--name", "other"]);
}

/// The first ban makes a new program.
#[test]
fn banning() {
    kill_changes(&["ban", "eth0", "192.0.2.1"], &["unban", "eth0", "192.0.2.1"]);
}

#[test]
fn trying() {
    kill_changes(&["try", "eth0", "FILE", "--for", "300ms"], &["bans", "eth0"]);
}

/// Everything is taken away, or nothing; half of it is finished by the next.
fn kill_ends(end: &str) {
    let stage = Stage::new();
    load(&stage, &["seven: drop udp dport 7"]);
    let words = ["filter", end, "eth0"];
    let start = Instant::now();
    stage.run(&words).ended(0);
    let step = start.elapsed() / STEPS;
    for round in 0..STEPS {
        load(&stage, &["seven: drop udp dport 7"]);
        stage.kill_after(&words, step * round);
        let is_attached = !stage.attached().is_empty();
        stage.run(&["detach", "lo"]).ended(1);
        let is_kept = stage.kept() == 1;
        assert_eq!(is_kept, is_attached, "{end} {round}: {:?}", stage.pins());
        if is_kept {
            let left = rules(&show(&stage)).len();
            assert!(left == 1 || end == "flush" && left == 0, "{end} {round}: {left}");
        } else {
            assert!(
                end == "unload" && stage.pins().is_empty(),
                "{end} {round}: {:?}",
                stage.pins()
            );
        }
    }
}

#[test]
fn flushing() {
    kill_ends("flush");
}

#[test]
fn unloading() {
    kill_ends("unload");
}
