//! What is seen while a scenario is measured.

use std::time::Duration;

use bench::{Plan, Told};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::course::{Course, rough};
use crate::view::live::Drawing;

const SECOND: Duration = Duration::from_secs(1);

fn course(arms: &[&str]) -> Course {
    Course::new("drop", Plan { arms, rounds: 5, window: SECOND / 2 })
}

/// One turn.
fn turn(course: &mut Course, arm: &str, round: usize, value: f64) {
    course.turns(arm, round);
    course.value(Told { arm, round, rounds: 5, value, unit: "pps" }, SECOND);
}

fn seen(course: &Course, (width, height): (u16, u16)) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| course.draw(frame)).unwrap();
    let cells = terminal.backend().buffer().content();
    let row = |cells: &[ratatui::buffer::Cell]| {
        let text: String = cells.iter().map(ratatui::buffer::Cell::symbol).collect();
        text.trim_end().to_owned()
    };
    cells.chunks(usize::from(width)).map(row).collect()
}

#[test]
fn bars_are_of_running_medians() {
    let mut course = course(&["tc", "native", "offload"]);
    for (round, value) in [(0, 9e6), (1, 2e6), (2, 4e6), (3, 3e6)] {
        turn(&mut course, "native", round, value);
    }
    turn(&mut course, "tc", 0, 1.5e6);
    course.turns("offload", 3);
    course.leaves("offload", "no such hardware", SECOND);
    course.turns("native", 4);
    let (half, whole) = ("█".repeat(15), "█".repeat(30));
    let want = [
        "drop  round 4 of 5, about 7 seconds left; now native",
        &format!("  tc        1.50 Mpps {half}"),
        &format!("> native    3.00 Mpps {whole}"),
        "  offload    not here",
        "offload is left out: no such hardware",
        "Ctrl-C ends after this turn and keeps what was measu",
    ];
    assert_eq!(seen(&course, (52, course.height())), want);
}

#[test]
fn a_small_terminal_shows_the_arms_around_the_current_one() {
    let names: Vec<String> = (0..40).map(|number| format!("arm-{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut course = course(&names);
    for (now, first) in [("arm-0", "arm-0"), ("arm-20", "arm-18"), ("arm-39", "arm-36")] {
        course.turns(now, 1);
        let seen = seen(&course, (60, 7));
        assert!(seen[1].contains(first), "{seen:#?}");
        assert!(seen.iter().any(|line| line.starts_with(&format!("> {now}"))), "{seen:#?}");
    }
    for size in [(1, 1), (8, 2), (3, 40)] {
        seen(&course, size);
    }
}

#[test]
fn the_time_left_follows_what_turns_took() {
    let mut course = course(&["quick", "slow"]);
    assert_eq!(course.line(), "drop: about 7 seconds: 2 arms x 6 rounds");
    turn(&mut course, "quick", 0, 1.0);
    assert_eq!(course.left(), 11 * SECOND, "the other is as long, as far as one knows");
    course.turns("slow", 0);
    course.value(Told { arm: "slow", round: 0, rounds: 5, value: 7.0, unit: "ns" }, 3 * SECOND);
    assert_eq!(course.line(), "slow, warm-up: 7 ns");
    assert_eq!(course.left(), 20 * SECOND);
    course.turns("quick", 1);
    course.misses("quick", "it was late", SECOND);
    assert_eq!(course.line(), "quick, round 1 of 5: nothing: it was late");
    assert_eq!(course.left(), 19 * SECOND, "the round is over all the same");
    course.turns("slow", 1);
    course.leaves("slow", "it broke", SECOND);
    assert_eq!(course.left(), 4 * SECOND);
}

#[test]
fn times_are_rough() {
    let table = [(0, "1 second"), (2, "2 seconds"), (99, "99 seconds"), (170, "3 minutes")];
    for (seconds, want) in table {
        assert_eq!(rough(Duration::from_secs(seconds)), want);
    }
}
