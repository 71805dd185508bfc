//! Changes that would end the SSH session in which they are made.

use xway_tests::clang::compile;
use xway_tests::filter::{file, rules, show};
use xway_tests::stage::Stage;
use xway_tests::xway::Answer;

/// Drops TCP segments to port 22, and nothing else.
const NO_SSH: &str = r#"
SEC("xdp") int no_ssh(struct xdp_md *ctx)
{
	__u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (data + 38 > end || data[12] != 8 || data[13] || data[23] != 6)
		return XDP_PASS;
	return data[36] == 0 && data[37] == 22 ? XDP_DROP : XDP_PASS;
}
"#;

/// Runs a command in an SSH session from host `a` to host `b`.
fn in_session(stage: &Stage, arguments: &[&str]) -> Answer {
    let [client, server] = [&stage.net.a, &stage.net.b].map(|host| host.ipv4("eth0").unwrap());
    let session = format!("{client} 50000 {server} 22");
    let mut command = stage.xway.command_in(&stage.net.b, arguments);
    Answer::of(command.env("SSH_CONNECTION", session).output().unwrap())
}

#[test]
fn what_ends_the_session_is_refused() {
    let stage = Stage::new();
    let drops = file(&stage, "drops", "default = 'drop'\nrules = ['web: pass tcp dport 443']");
    let passes = file(&stage, "passes", "rules = ['other: drop tcp dport 23']");
    let object = compile(stage.xway.state(), "no_ssh", NO_SSH);
    let object = object.to_str().unwrap();
    in_session(&stage, &["filter", "load", "eth0", &passes]).ended(0);
    for (change, reason) in [
        (&["filter", "load", "eth0", &drops][..], "pass tcp dport 22 from"),
        (&["filter", "add", "eth0", "drop tcp dport 22"], "the SSH session"),
        (&["filter", "add", "eth0", "drop arp"], "put `pass arp` first"),
        (&["attach", "eth0", object, "--replace"], "`no_ssh` drops the SSH session"),
        (&["drop", "eth0", "any tcp 22", "--replace"], "drops the SSH session"),
    ] {
        let error = in_session(&stage, change).error();
        assert!(error.contains("not changed") && error.contains(reason), "{change:?}: {error}");
        assert!(error.contains("--confirm 60s"), "{error}");
        let names: Vec<_> = rules(&show(&stage)).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["other"], "{change:?}");
    }
    for change in [
        &["filter", "add", "eth0", "drop tcp dport 2222"][..],
        &["drop", "eth0", "any tcp 23", "--replace"],
        &["attach", "eth0", object, "--replace", "--force"],
    ] {
        in_session(&stage, change).ended(0);
    }
}

#[test]
fn with_a_confirmation_or_by_force_it_is_made_with_a_warning() {
    let stage = Stage::new();
    let drops = file(&stage, "drops", "default = 'drop'\nrules = ['web: pass tcp dport 443']");
    let load = ["filter", "load", "eth0", &drops];
    let answer = in_session(&stage, &[&load[..], &["--confirm", "1h"]].concat());
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    assert!(
        answer.stderr.contains("warning: the default drops the SSH session"),
        "{}",
        answer.stderr
    );
    in_session(&stage, &["confirm", "--revert"]).ended(0);
    in_session(&stage, &[&load[..], &["--force"]].concat()).ended(0);
    in_session(&stage, &["filter", "flush", "eth0"]).error();
}

#[test]
fn sessions_of_other_interfaces_do_not_matter() {
    let stage = Stage::new();
    let drops = file(&stage, "drops", "default = 'drop'\nrules = ['web: pass tcp dport 443']");
    let mut command = stage.xway.command_in(&stage.net.b, &["filter", "load", "eth0", &drops]);
    let elsewhere = command.env("SSH_CONNECTION", "203.0.113.9 50000 192.0.2.1 22");
    Answer::of(elsewhere.output().unwrap()).ended(0);
}
