//! What is seen while a scenario is measured.

use std::time::Duration;

use bench::{Measurement, Plan};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::state::{ScenarioState, rough};
use crate::view::live::Drawing;

const SECOND: Duration = Duration::from_secs(1);

fn state(arms: &[&str]) -> ScenarioState {
    ScenarioState::new("drop", Plan { arms, rounds: 5, window: SECOND / 2 })
}

/// One turn.
fn turn(state: &mut ScenarioState, arm: &str, round: usize, value: f64) {
    state.turns(arm, round);
    state.value(Measurement { arm, round, rounds: 5, value, unit: "pps" }, SECOND);
}

fn seen(state: &ScenarioState, (width, height): (u16, u16)) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| state.draw(frame)).unwrap();
    let cells = terminal.backend().buffer().content();
    let row = |cells: &[ratatui::buffer::Cell]| {
        let text: String = cells.iter().map(ratatui::buffer::Cell::symbol).collect();
        text.trim_end().to_owned()
    };
    cells.chunks(usize::from(width)).map(row).collect()
}

#[test]
fn bars_are_of_running_medians() {
    let mut state = state(&["tc", "native", "offload"]);
    for (round, value) in [(0, 9e6), (1, 2e6), (2, 4e6), (3, 3e6)] {
        turn(&mut state, "native", round, value);
    }
    turn(&mut state, "tc", 0, 1.5e6);
    state.turns("offload", 3);
    state.excluded("offload", "no such hardware", SECOND);
    state.turns("native", 4);
    let (half, whole) = ("█".repeat(15), "█".repeat(30));
    let want = [
        "drop  round 4 of 5, about 7 seconds left; now native",
        &format!("  tc        1.50 Mpps {half}"),
        &format!("> native    3.00 Mpps {whole}"),
        "  offload    excluded",
        "offload is excluded: no such hardware",
        "Ctrl-C ends after this turn and keeps what was measu",
    ];
    assert_eq!(seen(&state, (52, state.height())), want);
}

#[test]
fn a_small_terminal_shows_the_arms_around_the_current_one() {
    let names: Vec<String> = (0..40).map(|number| format!("arm-{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut state = state(&names);
    for (now, first) in [("arm-0", "arm-0"), ("arm-20", "arm-18"), ("arm-39", "arm-36")] {
        state.turns(now, 1);
        let seen = seen(&state, (60, 7));
        assert!(seen[1].contains(first), "{seen:#?}");
        assert!(seen.iter().any(|line| line.starts_with(&format!("> {now}"))), "{seen:#?}");
    }
    for size in [(1, 1), (8, 2), (3, 40)] {
        seen(&state, size);
    }
}

#[test]
fn the_time_left_follows_what_turns_took() {
    let mut state = state(&["quick", "slow"]);
    assert_eq!(state.line(), "drop: about 7 seconds: 2 arms x 6 rounds");
    turn(&mut state, "quick", 0, 1.0);
    assert_eq!(state.left(), 11 * SECOND, "the other is as long, as far as one knows");
    state.turns("slow", 0);
    state.value(
        Measurement { arm: "slow", round: 0, rounds: 5, value: 7.0, unit: "ns" },
        3 * SECOND,
    );
    assert_eq!(state.line(), "slow, warm-up: 7 ns");
    assert_eq!(state.left(), 20 * SECOND);
    state.turns("quick", 1);
    state.missed("quick", "it was late", SECOND);
    assert_eq!(state.line(), "quick, round 1 of 5: no value: it was late");
    assert_eq!(state.left(), 19 * SECOND, "the round is over all the same");
    state.turns("slow", 1);
    state.excluded("slow", "it broke", SECOND);
    assert_eq!(state.left(), 4 * SECOND);
}

#[test]
fn times_are_rough() {
    let table = [(0, "1 second"), (2, "2 seconds"), (99, "99 seconds"), (170, "3 minutes")];
    for (seconds, want) in table {
        assert_eq!(rough(Duration::from_secs(seconds)), want);
    }
}
