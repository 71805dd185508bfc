//! Live views in a pseudoterminal: `filter top` and `status --watch`, their keys, narrow terminals,
//! and what remains in the terminal afterwards.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use xway_tests::filter::load;
use xway_tests::stage::Stage;
use xway_tests::terminal::Terminal;

const RIGHT: &str = "\x1b[C";
const ESCAPE: &str = "\x1b";

fn view(stage: &Stage, words: &[&str], size: (u16, u16)) -> Terminal {
    Terminal::start(stage.xway.command_in(&stage.net.b, words), size)
}

/// A filter with three rules, of which the second matched packets.
fn stage() -> Stage {
    let stage = Stage::new();
    load(&stage, &["drop udp dport 9", "count udp dport 7", "drop tcp dport 25"]);
    stage.send(&stage.flow(7).udp(b"x").unwrap(), 5);
    stage
}

fn position(text: &str, what: &str) -> usize {
    text.find(what).unwrap_or_else(|| panic!("no `{what}` in\n{text}"))
}

#[test]
fn rules_are_sorted_filtered_and_left() {
    let stage = stage();
    let mut top = view(&stage, &["filter", "top", "eth0"], (24, 80));
    // The last line is drawn last.
    let is_whole = |text: &str| text.contains("tcp dport 25") && text.contains("q quit");
    let text = top.wait_for("rules", is_whole);
    assert!(text.contains("eth0, native, 3 rules"), "{text}");
    assert!(
        position(&text, "udp dport 7") < position(&text, "udp dport 9"),
        "busiest first: {text}"
    );
    // By number, the highest first.
    top.press(RIGHT);
    let is_first = |text: &str| text.find("tcp dport 25") < text.find("udp dport 7");
    top.wait_for("sorted by number", |text| text.contains("#▼") && is_first(text));
    top.press("/dport 9\r");
    let is_filtered = |text: &str| !text.contains("dport 25") && text.contains("filter `dport 9`");
    let text = top.wait_for("filtered", is_filtered);
    assert!(text.contains("udp dport 9"), "{text}");
    top.press("\t");
    top.wait_for("reasons", |text| text.contains("reason") && !text.contains("udp dport 9"));
    top.press("?");
    top.wait_for("help", |text| text.contains("reverse the order"));
    assert!(top.is_taken_over());
    top.press(ESCAPE);
    top.wait_for("help is closed", |text| !text.contains("reverse the order"));
    top.press("q");
    assert!(top.wait().success());
    top.wait_for("the screen from before", |text| !text.contains("eth0"));
    assert!(!top.is_taken_over());
}

#[test]
fn narrow_terminals_show_names_and_rates() {
    let stage = stage();
    let top = view(&stage, &["filter", "top", "eth0"], (12, 40));
    let text = top.wait_for("rules", |text| text.contains("(defaul") && text.contains("q quit"));
    assert!(text.contains("rate") && text.contains("pps"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 40), "{text}");
}

#[test]
fn programs_show_the_time_of_their_runs() {
    let stage = stage();
    let words = ["status", "--watch", "--run-time", "--interval", "200ms"];
    let mut status = view(&stage, &words, (24, 100));
    let text =
        status.wait_for("interfaces", |text| text.contains("eth0") && text.contains("q quit"));
    assert!(text.contains("2 interfaces") && text.contains("1 programs"), "{text}");
    status.press("\t\t");
    status.wait_for("programs", |text| text.contains("time/run"));
    let is_measured = |text: &str| {
        stage.send(&stage.flow(7).udp(b"x").unwrap(), 20);
        text.lines().any(|line| line.contains("xway filter") && line.contains(" ns"))
    };
    status.wait_for("time of runs", is_measured);
    status.press("\x03");
    assert!(status.wait().success());
}

/// A view that is ended by a signal leaves the terminal as it was.
#[test]
fn signals_restore_the_terminal() {
    let stage = stage();
    let mut status = view(&stage, &["status", "-w"], (24, 80));
    status.wait_for("interfaces", |text| text.contains("eth0"));
    assert!(status.is_taken_over());
    kill(Pid::from_raw(status.id().cast_signed()), Signal::SIGTERM).unwrap();
    assert!(status.wait().success());
    status.wait_for("the screen from before", |text| !text.contains("eth0"));
    assert!(!status.is_taken_over());
}
