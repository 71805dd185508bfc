//! Failures: each is reported in one clear line, and no change is left incomplete.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use kernel::Mode;
use lab::{Capture, LinkOptions, until};
use serde_json::json;
use sys::net::XdpExpect;
use xway_tests::clang::{compile, compile_for};
use xway_tests::faults::{self, Options};
use xway_tests::program::foreign;
use xway_tests::stage::{PATIENCE, Stage, counts};
use xway_tests::xway::{Answer, prebuilt};

const PASS: &str = r#"SEC("xdp") int passes(struct xdp_md *ctx) { return XDP_PASS; }"#;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn an_unknown_interface() {
    let stage = Stage::new();
    for words in [
        &["attach", "eth7", "drop"][..],
        &["detach", "eth7"],
        &["drop", "eth7", "any udp 7"],
        &["forward", "eth0", "eth7"],
    ] {
        let text = stage.run(words).error();
        assert!(text.contains("no interface `eth7` here; there are lo, eth0"), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
    assert!(stage.attached().is_empty() && stage.pins().is_empty());
}

#[test]
fn an_interface_that_is_down() {
    let stage = Stage::new();
    let ifindex = stage.net.b.ifindex("eth0").unwrap();
    let mut netlink = stage.net.b.netlink().unwrap();
    netlink.set_up(ifindex, false).unwrap();
    let said = stage.run(&["drop", "eth0", "any udp 7"]);
    assert!(said.stderr.contains("`ip link set eth0 up`"), "{}", said.stderr);
    said.ended(0);
    assert_eq!(stage.status()["up"], false);
    netlink.set_up(ifindex, true).unwrap();
    until("the carrier", PATIENCE, || Ok(netlink.link_by_index(ifindex)?.running.then_some(())))
        .unwrap();
    let frame = stage.flow(7).udp(b"x").unwrap();
    stage.send(&frame, 3);
    assert_eq!(stage.counted(3), counts(&[("drop", 3, 3 * frame.len() as u64)]));
}

#[test]
fn files_that_are_no_objects() {
    let stage = Stage::new();
    let folder = stage.xway.state();
    let whole = std::fs::read(prebuilt("drop.o")).unwrap();
    let write = |name: &str, bytes: &[u8]| -> PathBuf {
        let path = folder.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let table = [
        (write("empty.o", b""), "not an ELF file"),
        (write("words.o", b"int main() { return 0; }"), "not an ELF file"),
        (write("head.o", &whole[..40]), "truncated"),
        (write("half.o", &whole[..whole.len() / 2]), "truncated"),
        (compile_for("bpfeb", folder, "big", PASS), "big-endian"),
        ("/proc/self/exe".into(), "not for BPF"),
        (folder.join("none.o"), "cannot read"),
        (folder.to_owned(), "cannot read"),
    ];
    for (path, part) in table {
        let text = stage.run(&["attach", "eth0", text(&path)]).error();
        assert!(text.contains(part), "{}: {text}", path.display());
        assert_eq!(text.lines().count(), 1, "{text}");
    }
    assert!(stage.attached().is_empty() && stage.pins().is_empty());
}

#[test]
fn a_refusal_by_the_verifier() {
    let stage = Stage::new();
    let source = r#"
SEC("xdp") int careless(struct xdp_md *ctx)
{
	unsigned char *data = (void *)(long)ctx->data;

	return data[13] == 8 ? XDP_DROP : XDP_PASS;
}
"#;
    let object = compile(stage.xway.state(), "careless", source);
    let error = stage.run(&["attach", "eth0", text(&object)]).error();
    for part in ["`careless`", "invalid access to packet", "careless.c:11", "data[13]", "data_end"]
    {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert!(error.lines().count() < 10, "not the whole log: {error}");
    assert!(stage.attached().is_empty() && stage.pins().is_empty());

    stage.run(&["drop", "eth0", "any udp 7"]).ended(0);
    let before = (stage.attached(), stage.pins());
    stage.run(&["attach", "eth0", text(&object), "--replace"]).error();
    assert_eq!((stage.attached(), stage.pins()), before, "the old program runs on");
}

#[test]
fn a_full_map() {
    let stage = Stage::new();
    let source = r#"
struct {
	int (*type)[BPF_MAP_TYPE_HASH];
	int (*max_entries)[2];
	__u32 *key;
	__u32 *value;
} few SEC(".maps");

static void *(*lookup)(void *, const void *) = (void *)BPF_FUNC_map_lookup_elem;

SEC("xdp") int passes(struct xdp_md *ctx)
{
	__u32 key = ctx->ingress_ifindex;

	return lookup(&few, &key) ? XDP_DROP : XDP_PASS;
}
"#;
    let object = compile(stage.xway.state(), "few", source);
    stage.run(&["attach", "eth0", text(&object)]).ended(0);
    let pin = stage.pins().into_iter().find(|pin| pin.ends_with("maps/few")).unwrap();
    let pin = stage.xway.state().join("bpf").join(pin);
    let update = |key: &str| stage.run(&["map", "update", text(&pin), key, "1"]);
    update("1").ended(0);
    update("2").ended(0);
    let error = update("3").error();
    assert!(error.contains("E2BIG") || error.contains("full"), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    let dump = stage.json(&["map", "dump", text(&pin)]);
    assert_eq!(dump["entries"].as_array().unwrap().len(), 2);
}

#[test]
fn without_rights_the_capability_is_named() {
    let stage = Stage::new();
    let commands: &[&[&str]] = &[
        &["attach", "eth0", "drop"],
        &["detach", "eth0"],
        &["drop", "eth0", "any udp 7"],
        &["forward", "eth0"],
    ];
    let unprivileged = |words: &[&str]| {
        let mut command = stage.net.b.command("setpriv").unwrap();
        let inner = stage.xway.command(words);
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        command.arg(inner.get_program()).args(inner.get_args());
        Answer::of(command.output().unwrap())
    };
    for words in commands {
        let error = unprivileged(words).error();
        assert!(error.contains("CAP_NET_ADMIN") && error.contains("CAP_BPF"), "{words:?}: {error}");
        let error = stage.xway.run_powerless(words).error();
        assert!(error.contains("CAP_"), "{words:?}: {error}");
    }
    stage.run(&["drop", "eth0", "any udp 7"]).ended(0);
    let error = unprivileged(&["status"]).error();
    assert!(error.contains("not permitted to see what runs"), "{error}");
    unprivileged(&["detach", "eth0"]).error();
    assert_eq!(stage.attached().len(), 1);
}

#[test]
fn frames_that_are_too_large_for_the_program() {
    let stage = Stage::with(&LinkOptions { mtu: 9000, ..LinkOptions::default() });
    let object = compile(stage.xway.state(), "passes", PASS);
    let error = stage.run(&["attach", "eth0", text(&object)]).error();
    assert!(
        error.contains("eth0") && error.to_lowercase().contains("mtu"),
        "the driver's words: {error}"
    );
    assert!(stage.attached().is_empty() && stage.pins().is_empty(), "{:?}", stage.pins());

    stage.run(&["attach", "eth0", text(&object), "--mode", "generic"]).ended(0);
    let before = stage.attached();
    let error = stage.run(&["attach", "eth0", text(&object), "--replace"]).error();
    assert!(error.to_lowercase().contains("mtu"), "{error}");
    assert_eq!(stage.attached(), before, "the old one is back");
    assert!(stage.link_is_pinned(), "and is held by a link, as before");
    assert_eq!(stage.status()["programs"][0]["owner"], "xway passes");
    stage.run(&["detach", "eth0"]).ended(0);
    assert!(stage.attached().is_empty() && stage.pins().is_empty(), "{:?}", stage.pins());
}

#[test]
fn an_interface_that_goes_away() {
    let stage = Stage::new();
    stage.run(&["drop", "eth0", "any udp 7"]).ended(0);
    assert!(!stage.pins().is_empty());
    let ifindex = stage.net.b.ifindex("eth0").unwrap();
    stage.net.b.netlink().unwrap().delete_link(ifindex).unwrap();
    let status = stage.json(&["status", "--interval", "1ms"]);
    assert_eq!(status["interfaces"].as_array().unwrap().len(), 1, "lo alone");
    stage.run(&["detach", "lo"]).ended(1);
    assert!(stage.pins().is_empty(), "swept by the next one that writes: {:?}", stage.pins());
}

#[test]
fn an_interface_without_a_link_object_goes_away() {
    let stage = Stage::new();
    let ifindex = stage.net.b.ifindex("eth0").unwrap();
    let foreign = foreign();
    let mut netlink = stage.net.b.netlink().unwrap();
    let program = foreign.programs()[0].as_fd();
    netlink.set_xdp(ifindex, Some(program), Some(Mode::Native), XdpExpect::Nothing).unwrap();
    stage.run(&["drop", "eth0", "any udp 7", "--replace"]).ended(0);
    assert!(!stage.link_is_pinned() && !stage.pins().is_empty());
    stage.run(&["drop", "eth0", "--add", "any udp 8"]).ended(0);
    netlink.delete_link(ifindex).unwrap();
    stage.run(&["detach", "lo"]).ended(1);
    assert!(stage.pins().is_empty(), "{:?}", stage.pins());
}

/// Kills `xway attach` after `delay`; `None` when it had ended before.
fn kill_after(stage: &Stage, words: &[&str], delay: Duration) -> Option<()> {
    let mut command = stage.xway.command_in(&stage.net.b, words);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    while start.elapsed() < delay {
        if child.try_wait().unwrap().is_some() {
            return None;
        }
        std::hint::spin_loop();
    }
    child.kill().unwrap();
    let status = child.wait().unwrap();
    (!status.success()).then_some(())
}

#[test]
fn killed_at_any_moment_it_is_attached_or_not() {
    let stage = Stage::new();
    let object = compile(stage.xway.state(), "passes", PASS);
    let attach = ["attach", "eth0", text(&object)];
    let start = Instant::now();
    stage.run(&attach).ended(0);
    let step = start.elapsed() / ROUNDS;
    stage.run(&["detach", "eth0"]).ended(0);
    let (mut done, mut killed) = (0, 0);
    for round in 0..ROUNDS {
        killed += usize::from(kill_after(&stage, &attach, step * round).is_some());
        // The kernel closes a dead process's link in its own time.
        let attached = until("a stable state", PATIENCE, || {
            let (link, program) = (stage.link_is_pinned(), stage.attached());
            Ok((link != program.is_empty()).then_some(link))
        });
        let attached = attached.unwrap();
        done += usize::from(attached);
        if attached {
            assert_eq!(stage.status()["programs"][0]["owner"], "xway passes", "round {round}");
        }
        stage.run(&["detach", "lo"]).ended(1);
        assert_eq!(stage.kept(), usize::from(attached), "round {round}: {:?}", stage.pins());
        stage.run(&["detach", "eth0"]).ended(i32::from(!attached));
        assert!(stage.attached().is_empty(), "round {round}");
        assert!(stage.pins().is_empty(), "round {round}: {:?}", stage.pins());
    }
    assert!(killed > 0, "none of {ROUNDS} was killed, {done} had attached");
}

#[test]
fn killed_while_replacing_a_program_always_runs() {
    let stage = Stage::new();
    let object = compile(stage.xway.state(), "passes", PASS);
    stage.run(&["drop", "eth0", "10.0.0.2 udp 7"]).ended(0);
    let replace = ["attach", "eth0", text(&object), "--replace"];
    let wire = Capture::open(&stage.net.b, "eth0").unwrap();
    let frame = stage.flow(9).udp(b"goes on").unwrap();
    let start = Instant::now();
    stage.run(&replace).ended(0);
    let step = start.elapsed() / ROUNDS;
    for round in 0..ROUNDS {
        let old = stage.attached();
        let _ended = kill_after(&stage, &replace, step * round);
        let now = stage.attached();
        assert_eq!(now.len(), 1, "round {round}");
        stage.send(&frame, 1);
        wire.next(PATIENCE, |seen| seen == frame).unwrap();
        let owner = stage.status()["programs"][0]["owner"].clone();
        assert!(owner.as_str().unwrap().starts_with("xway "), "{owner}, {old:?} then {now:?}");
    }
    // The next that writes leaves one generation: what runs.
    stage.run(&["detach", "lo"]).ended(1);
    assert_eq!(stage.kept(), 1, "{:?}", stage.pins());
    stage.run(&["detach", "eth0"]).ended(0);
    assert!(stage.attached().is_empty() && stage.pins().is_empty(), "{:?}", stage.pins());
}

const ROUNDS: u32 = 30;

#[test]
fn two_in_parallel_wait_for_each_other() {
    let stage = Stage::new();
    stage.run(&["drop", "eth0", "any udp 1"]).ended(0);
    let rules: Vec<String> = (2..8).map(|port| format!("any udp {port}")).collect();
    let spawn = |rule: &String| {
        let mut command = stage.xway.command_in(&stage.net.b, &["drop", "eth0", "--add", rule]);
        command.stdout(Stdio::null()).spawn().unwrap()
    };
    let children: Vec<_> = rules.iter().map(spawn).collect();
    children.into_iter().for_each(|mut child| assert!(child.wait().unwrap().success()));
    let found = stage.json(&["drop", "eth0"])["rules"].as_array().unwrap().len();
    assert_eq!(found, 7, "no change was lost");

    let lock = std::fs::File::open(stage.xway.state().join("lock")).unwrap();
    lock.lock().unwrap();
    let mut waiting = spawn(&"any udp 99".to_owned());
    // Looking needs no lock.
    assert_eq!(stage.status()["programs"][0]["name"], "xway_drop");
    assert!(waiting.try_wait().unwrap().is_none(), "it waits");
    drop(lock);
    assert!(waiting.wait().unwrap().success());
    assert_eq!(stage.json(&["drop", "eth0"])["rules"].as_array().unwrap().len(), 8);
}

/// A part of `cargo xtask faults`: commands of every kind are killed at a system call, or the call
/// fails.
#[test]
fn a_system_call_that_fails_or_is_the_last() {
    let names = ["attach", "replace", "detach", "drop-add", "filter-add", "sink", "lab-down"];
    let commands = names.map(str::to_owned).to_vec();
    let options = Options { commands, limit: Some(5), jobs: 2, ..Options::default() };
    println!("seed {}", options.seed);
    let report = faults::run(&options, |_| ()).unwrap();
    assert!(report.is_clean(), "{report}");
    let (old, new) = (report.sum(|one| one.old), report.sum(|one| one.new));
    assert!(old > 0 && new > 0, "faults before and after the change took effect: {report}");
}

/// The kernel writes all strings of a device, also where the query of their number failed.
#[test]
fn ethtool_requests_that_fail_corrupt_no_memory() {
    let (commands, call) = (vec!["lab-run".to_owned()], "ioctl".to_owned());
    let options = Options { commands, call, limit: Some(8), ..Options::default() };
    let report = faults::run(&options, |_| ()).unwrap();
    assert!(report.is_clean(), "{report}");
}

/// Until the next command puts the old program back, the program of the trial runs, and the pins of
/// both are needed for that.
#[test]
fn a_trial_whose_end_is_refused_keeps_both_programs_pinned() {
    let (commands, call) = (vec!["filter-try".to_owned()], "LINK_UPDATE".to_owned());
    let options = Options { commands, call, ..Options::default() };
    let report = faults::run(&options, |_| ()).unwrap();
    assert!(report.is_clean(), "{report}");
    assert!(report.sum(|one| one.points) >= 6, "both updates of the link were refused: {report}");
}

#[test]
fn exit_codes() {
    let stage = Stage::new();
    let table: &[(&[&str], i32)] = &[
        (&["status", "--interval", "1ms"], 0),
        (&["detach", "eth0"], 1),
        (&["attach", "eth0", "drop"], 0),
        (&["attach", "eth0", "drop"], 2),
        (&["detach", "eth0"], 0),
        (&["attach", "eth0"], 2),
        (&["nonsense"], 2),
        (&["status", "--interval", "0"], 2),
        (&["attach", "eth0", "drop", "--set", "x"], 2),
        (&["--help"], 0),
        (&["--version"], 0),
    ];
    for (words, code) in table {
        let answer = stage.run(words);
        assert_eq!(answer.code, *code, "{words:?}: {}{}", answer.stdout, answer.stderr);
        assert_eq!(answer.stderr.is_empty(), *code != 2, "{words:?}: {}", answer.stderr);
    }
    let attached = stage.json(&["attach", "eth0", "drop"]);
    assert_eq!(attached["interface"], json!("eth0"));
}

/// Kills a command as soon as the interface runs something else than before.
fn kill_at_first_change(stage: &Stage, words: &[&str]) {
    let before = stage.attached();
    let mut netlink = stage.net.b.netlink().unwrap();
    let mut command = stage.xway.command_in(&stage.net.b, words);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while child.try_wait().unwrap().is_none() {
        let xdp = netlink.link("eth0").unwrap().xdp;
        if xdp.programs().map(|(mode, id)| (mode.name(), id)).ne(before.iter().copied()) {
            // One that has ended cannot be killed.
            let _ = child.kill();
            break;
        }
    }
    child.wait().unwrap();
}

#[test]
fn killed_while_the_mode_changes_the_next_command_repairs() {
    let stage = Stage::new();
    let object = compile(stage.xway.state(), "passes", PASS);
    stage.run(&["drop", "eth0", "10.0.0.2 udp 7"]).ended(0);
    for round in 0..ROUNDS {
        let mode = ["generic", "native"][round as usize % 2];
        let before = stage.attached();
        let replace = ["attach", "eth0", text(&object), "--replace", "--mode", mode];
        kill_at_first_change(&stage, &replace);
        // Alternately a command that reads and one that writes, on another interface.
        match round % 4 < 2 {
            true => drop(stage.run(&["status"]).ended(0)),
            false => drop(stage.run(&["detach", "lo"]).ended(1)),
        }
        let now = stage.attached();
        assert_eq!(now.len(), 1, "round {round}: {before:?}, then {now:?}");
        let is_new = now[0].0 == mode && now != before;
        assert!(now == before || is_new, "round {round}: {before:?}, then {now:?}");
        let owner = stage.status()["programs"][0]["owner"].clone();
        assert!(owner.as_str().unwrap().starts_with("xway "), "round {round}: {owner}");
    }
    stage.run(&["detach", "lo"]).ended(1);
    assert_eq!(stage.kept(), 1, "{:?}", stage.pins());
    stage.run(&["detach", "eth0"]).ended(0);
    assert!(stage.attached().is_empty() && stage.pins().is_empty(), "{:?}", stage.pins());
}

#[test]
fn killed_while_the_program_of_another_owner_changes_mode() {
    let stage = Stage::new();
    let ifindex = stage.net.b.ifindex("eth0").unwrap();
    let foreign = foreign();
    let program = foreign.programs()[0].as_fd();
    let mut netlink = stage.net.b.netlink().unwrap();
    netlink.set_xdp(ifindex, Some(program), Some(Mode::Native), XdpExpect::Nothing).unwrap();
    for round in 0..ROUNDS {
        let words = ["drop", "eth0", "any udp 7", "--replace", "--mode", "generic"];
        kill_at_first_change(&stage, &words);
        stage.run(&["detach", "lo"]).ended(1);
        let now = stage.attached();
        assert_eq!(now.len(), 1, "round {round}: {now:?}");
        if now[0].0 == "generic" {
            assert_eq!(stage.status()["programs"][0]["owner"], "xway drop", "round {round}");
            stage.run(&["detach", "eth0"]).ended(0);
            let expect = XdpExpect::Nothing;
            netlink.set_xdp(ifindex, Some(program), Some(Mode::Native), expect).unwrap();
        }
        assert!(stage.pins().is_empty(), "round {round}: {:?}", stage.pins());
    }
}

#[test]
fn killed_while_several_interfaces_change_all_or_none_do() {
    let stage = Stage::new();
    let owners = || {
        let all = stage.json(&["status", "--interval", "1ms"])["interfaces"].clone();
        let owner = |one: &serde_json::Value| one["programs"][0]["owner"].to_string();
        all.as_array().unwrap().iter().map(owner).collect::<Vec<_>>()
    };
    for round in 0..ROUNDS {
        for interface in ["eth0", "lo"] {
            let words = ["drop", interface, "any udp 7", "--replace", "--mode", "generic"];
            stage.run(&words).ended(0);
        }
        let words = ["forward", "eth0", "lo", "--replace", "--mode", "generic"];
        kill_at_first_change(&stage, &words);
        let owners = owners();
        assert_eq!(owners.len(), 2);
        assert!(owners[0].contains("xway ") && owners[0] == owners[1], "{round}: {owners:?}");
    }
    for interface in ["eth0", "lo"] {
        stage.run(&["detach", interface]).ended(0);
    }
    assert!(stage.pins().is_empty(), "{:?}", stage.pins());
}
