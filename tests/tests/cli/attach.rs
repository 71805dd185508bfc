//! `xway attach` and `detach`: which program, on what, in whose place, and what is counted of it.

use std::os::fd::AsFd;
use std::path::Path;

use kernel::{Attach, Mode, Replace};
use sys::net::XdpExpect;
use xway_tests::clang::compile;
use xway_tests::program::foreign;
use xway_tests::stage::{Stage, counts};
use xway_tests::xway::prebuilt;

/// Every packet gets the verdict of `verdict`.
const SOURCE: &str = r#"
const volatile __u32 verdict = XDP_PASS;

SEC("xdp") int any(struct xdp_md *ctx) { return verdict; }
"#;
/// A whole stack, so that nothing fits around it.
const DEEP: &str = r#"
SEC("xdp") int deep(struct xdp_md *ctx)
{
	asm volatile("*(u64 *)(r10 - 512) = %0" ::"r"(1L));
	return XDP_PASS;
}
"#;
const TWO: &str = r#"
SEC("xdp") int passes(struct xdp_md *ctx) { return XDP_PASS; }
SEC("xdp") int drops(struct xdp_md *ctx) { return XDP_DROP; }
"#;
const PLAIN: &str = r#"SEC("prog") int drops(struct xdp_md *ctx) { return XDP_DROP; }"#;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn object(name: &str) -> String {
    text(&prebuilt(name)).to_owned()
}

#[test]
fn objects_and_built_in_programs_in_both_modes() {
    let stage = Stage::new();
    let any = compile(stage.xway.state(), "any", SOURCE);
    for mode in ["native", "generic"] {
        for (word, name, program) in [
            (text(&any), "any", "any"),
            ("drop", "drop", "xway_drop"),
            ("forward", "forward", "xway_route"),
        ] {
            let said = stage.json(&["attach", "eth0", word, "--mode", mode]);
            let expected = serde_json::json!({
                "interface": "eth0", "object": name, "program": program, "mode": mode,
                "program_id": stage.attached()[0].1, "counted": true,
            });
            assert_eq!(said, expected);
            assert_eq!(stage.attached().len(), 1);
            assert_eq!(stage.attached()[0].0, mode);
            let status = stage.status();
            assert_eq!(status["programs"][0]["id"], stage.attached()[0].1);
            assert_eq!(status["programs"][0]["mode"], mode);
            assert_eq!(status["programs"][0]["owner"], format!("xway {name}"));
            let said = stage.run(&["detach", "eth0"]).ended(0);
            assert_eq!(said, format!("eth0: {name} detached\n"));
            assert!(stage.attached().is_empty() && stage.pins().is_empty(), "{:?}", stage.pins());
        }
    }
    let said = stage.run(&["detach", "eth0"]).ended(1);
    assert_eq!(said, "eth0: nothing was attached\n");
}

#[test]
fn verdicts_of_any_program_are_counted_exactly() {
    let stage = Stage::new();
    let any = compile(stage.xway.state(), "any", SOURCE);
    let frame = stage.flow(9).udp(&[7; 100]).unwrap();
    let length = frame.len() as u64;
    let mut replace: &[&str] = &[];
    for (value, name) in [("0", "aborted"), ("1", "drop"), ("2", "pass"), ("3", "tx")] {
        let value = format!("verdict={value}");
        let attach = ["attach", "eth0", text(&any), "--set", &value];
        stage.run(&[&attach[..], replace].concat()).ended(0);
        replace = &["--replace"];
        stage.send(&frame, 11);
        assert_eq!(stage.counted(11), counts(&[(name, 11, 11 * length)]));
    }
    stage.run(&["attach", "eth0", text(&any), "--set", "verdict=77", "--replace"]).ended(0);
    stage.send(&frame, 5);
    let invalid = lab::until("invalid verdicts", xway_tests::stage::PATIENCE, || {
        let rates = stage.status()["programs"][0]["rates"].clone();
        Ok((rates["invalid"]["packets"] == 5).then_some(rates))
    });
    assert_eq!(invalid.unwrap()["invalid"]["bytes"], 5 * length);
    let text = stage.run(&["status", "eth0", "--interval", "1ms"]).ended(0);
    assert!(text.contains("no verdict"), "{text}");
}

#[test]
fn the_old_listings_work_as_they_are() {
    let stage = Stage::new();
    stage.run(&["attach", "eth0", &object("test/talk_drop.o")]).ended(0);
    let to = "10.1.0.2".parse().unwrap();
    let from = "10.0.0.1".parse().unwrap();
    let flow = |port| stage.flow_between(from, to, port).udp(b"odd").unwrap();
    stage.send(&flow(1234), 3);
    stage.send(&flow(1235), 4);
    let length = flow(1).len() as u64;
    assert_eq!(stage.counted(7), counts(&[("drop", 3, 3 * length), ("pass", 4, 4 * length)]));

    let attach = ["attach", "eth0", &object("test/paper_count.o"), "--replace"];
    stage.run(&attach).ended(0);
    // A veth that sends back by XDP_TX wakes its peer only where that has a program too.
    let peer = stage.xway.command_in(&stage.net.a, &["attach", "eth0", "drop"]).output().unwrap();
    assert!(peer.status.success(), "{peer:?}");
    let reflected = lab::Capture::open(&stage.net.a, "eth0").unwrap();
    let frame = stage.flow(9).udp(b"there and back").unwrap();
    stage.send(&frame, 2);
    assert_eq!(stage.counted(2), counts(&[("tx", 2, 2 * frame.len() as u64)]));
    let swapped = |seen: &[u8]| seen[..6] == frame[6..12] && seen[6..12] == frame[..6];
    reflected.next(xway_tests::stage::PATIENCE, swapped).unwrap();
    stage.run(&["attach", "eth0", &object("test/old_maps.o"), "--replace"]).ended(0);
}

#[test]
fn uncounted_packets_are_reported() {
    let stage = Stage::new();
    let folder = stage.xway.state();
    let (any, deep) = (compile(folder, "any", SOURCE), compile(folder, "deep", DEEP));
    let said = stage.run(&["attach", "eth0", text(&any), "--no-count"]);
    assert_eq!(said.stderr, "");
    assert_eq!(said.ended(0), "eth0: any of any attached in native mode, verdicts not counted\n");
    assert!(stage.status()["programs"][0]["rates"].is_null());

    let said = stage.run(&["attach", "eth0", text(&deep), "--replace"]);
    assert!(said.stderr.contains("verdicts are not counted for this program"), "{}", said.stderr);
    assert!(said.stderr.contains("stack"), "{}", said.stderr);
    assert!(said.ended(0).ends_with("verdicts not counted\n"));
    assert_eq!(stage.status()["programs"][0]["name"], "deep");
    let frame = stage.flow(9).udp(b"x").unwrap();
    let capture = lab::Capture::open(&stage.net.b, "eth0").unwrap();
    stage.send(&frame, 1);
    capture.next(xway_tests::stage::PATIENCE, |seen| seen == frame).unwrap();
}

#[test]
fn which_program_and_which_globals() {
    let stage = Stage::new();
    let folder = stage.xway.state();
    let two = compile(folder, "two", TWO);
    let (any, plain) = (compile(folder, "any", SOURCE), compile(folder, "plain", PLAIN));
    let (two, any, plain) = (text(&two), text(&any), text(&plain));
    let table: &[(&[&str], &str)] = &[
        (&[two], "choose one with --program: passes, drops"),
        (&[two, "--program", "dorps"], "it has passes, drops"),
        (&[any, "--set", "verdit=1"], "verdict"),
        (&[any, "--set", "verdict=x"], "verdict"),
        (&[any, "--set", "verdict=4294967296"], "verdict"),
        (&[plain], "--type"),
        (&["dorp"], "built in are drop, forward"),
        (&[any, "--type", "nonsense"], "unknown program type `nonsense`"),
    ];
    for (words, part) in table {
        let text = stage.run(&[&["attach", "eth0"], *words].concat()).error();
        assert!(text.contains(part), "{words:?}: {text}");
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(stage.attached().is_empty());
        assert!(stage.pins().is_empty(), "{words:?}: {:?}", stage.pins());
    }
    stage.run(&["attach", "eth0", two, "--program", "drops"]).ended(0);
    let said = stage.json(&["attach", "eth0", plain, "--type", "xdp", "--replace"]);
    assert_eq!((&said["program"], &said["counted"]), (&"drops".into(), &true.into()));
}

#[test]
fn an_occupied_interface_names_who_is_there() {
    let stage = Stage::new();
    let drops = object("test/talk_drop.o");
    let foreign = foreign();
    let program = &foreign.programs()[0];
    let ifindex = stage.net.b.ifindex("eth0").unwrap();
    let refused = |id: u32, name: &str, mode: &str| {
        let numbered = format!("program {id} `{name}`");
        for new in ["native", "generic"] {
            let text = stage.run(&["attach", "eth0", "drop", "--mode", new]).error();
            for part in ["eth0 already runs", &numbered, mode, "--replace", "detach"] {
                assert!(text.contains(part), "{new}: {text}");
            }
            assert_eq!(stage.attached(), [(mode, id)]);
        }
    };
    // Programs of this project become a chain, in one mode.
    for (mode, other) in [("native", "generic"), ("generic", "native")] {
        stage.run(&["attach", "eth0", &drops, "--mode", mode, "--no-count"]).ended(0);
        let before = stage.attached();
        let text = stage.run(&["attach", "eth0", "drop", "--mode", other]).error();
        assert!(text.contains(&format!("the chain runs in {mode} mode")), "{text}");
        assert_eq!(stage.attached(), before);
        stage.run(&["attach", "eth0", "drop", "--mode", mode]).ended(0);
        assert_ne!(stage.attached(), before);
        let detached = stage.json(&["detach", "eth0"]);
        assert_eq!(detached["programs"], serde_json::json!(["drop", "talk_drop"]));
    }

    let attach = Attach { ifindex, program, mode: Mode::Native, replace: Replace::No };
    let link = stage.net.b.run(|| kernel::attach(&attach)).unwrap().unwrap();
    refused(program.id(), "drop_udp", "native");
    drop(link);

    let fd = Some(program.as_fd());
    let mut netlink = stage.net.b.netlink().unwrap();
    netlink.set_xdp(ifindex, fd, Some(Mode::Generic), XdpExpect::Nothing).unwrap();
    refused(program.id(), "drop_udp", "generic");
    assert!(stage.pins().is_empty(), "{:?}", stage.pins());
}

#[test]
fn replacing_takes_the_place_of_anybody() {
    let stage = Stage::new();
    let foreign = foreign();
    let program = &foreign.programs()[0];
    let ifindex = stage.net.b.ifindex("eth0").unwrap();
    let by_netlink = |mode| {
        let mut netlink = stage.net.b.netlink().unwrap();
        netlink.set_xdp(ifindex, Some(program.as_fd()), Some(mode), XdpExpect::Nothing).unwrap();
    };
    for (old, new, name) in [
        (Mode::Native, Mode::Native, "native"),
        (Mode::Native, Mode::Generic, "generic"),
        (Mode::Generic, Mode::Native, "native"),
        (Mode::Generic, Mode::Generic, "generic"),
    ] {
        by_netlink(old);
        let attach = ["attach", "eth0", "drop", "--replace", "--mode", new.name()];
        stage.run(&attach).ended(0);
        assert_eq!(stage.status()["programs"][0]["owner"], "xway drop");
        // Our own, in the same and in the other mode.
        for mode in ["generic", "native", "native", name] {
            stage.run(&["attach", "eth0", "forward", "--replace", "--mode", mode]).ended(0);
            assert_eq!(stage.attached().iter().map(|one| one.0).collect::<Vec<_>>(), [mode]);
            assert_eq!(stage.status()["programs"][0]["owner"], "xway forward");
            assert_eq!(stage.kept(), 1, "{:?}", stage.pins());
        }
        stage.run(&["detach", "eth0"]).ended(0);
        assert!(stage.attached().is_empty() && stage.pins().is_empty(), "{:?}", stage.pins());
    }
}

#[test]
fn what_others_attached_is_detached_by_force_only() {
    let stage = Stage::new();
    let foreign = foreign();
    let program = &foreign.programs()[0];
    let ifindex = stage.net.b.ifindex("eth0").unwrap();
    let attach = Attach { ifindex, program, mode: Mode::Native, replace: Replace::No };
    let link = stage.net.b.run(|| kernel::attach(&attach)).unwrap().unwrap();
    let text = stage.run(&["detach", "eth0"]).error();
    let numbered = format!("program {} `drop_udp`", program.id());
    assert!(text.contains(&numbered) && text.contains("--force"), "{text}");
    assert_eq!(stage.attached(), [("native", program.id())]);
    let said = stage.json(&["detach", "eth0", "--force"]);
    let want = serde_json::json!({"interface": "eth0", "programs": ["drop_udp"], "also": []});
    assert_eq!(said, want);
    assert!(stage.attached().is_empty());
    drop(link);

    let mut netlink = stage.net.b.netlink().unwrap();
    let (fd, mode) = (Some(program.as_fd()), Some(Mode::Generic));
    netlink.set_xdp(ifindex, fd, mode, XdpExpect::Nothing).unwrap();
    stage.run(&["detach", "eth0"]).error();
    stage.run(&["detach", "eth0", "--force"]).ended(0);
    assert!(stage.attached().is_empty());
}
