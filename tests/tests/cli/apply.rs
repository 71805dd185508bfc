//! `apply` and `save`: interfaces become what files declare, and files what runs.

use std::fs::{self, Permissions};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::Duration;

use control::apply::{self, ApplyOptions};
use control::{Control, declaration};
use lab::until;
use spec::Verdict;
use sys::net::{Netlink, NewVeth, VethEnd, XdpExpect};
use xway_tests::declarations::Files;
use xway_tests::filter::{rules, show};
use xway_tests::program::{constant, load, object};
use xway_tests::stage::{PATIENCE, Stage};
use xway_tests::xway::{Answer, prebuilt};

fn names(stage: &Stage) -> Vec<String> {
    rules(&show(stage)).into_iter().map(|(name, _)| name).collect()
}

#[test]
fn a_filter_is_attached_changed_and_detached() {
    let stage = Stage::new();
    let files = Files::new(&stage);
    files.filter("rules = ['a: drop udp dport 9']\n");
    assert_eq!(files.plan(), ["attach"]);
    assert!(stage.attached().is_empty(), "a plan changes nothing");
    let result = files.applied();
    assert_eq!(result["interfaces"][0]["applied"], true);
    assert_eq!(result["interfaces"][0]["name"], "eth0");
    let (first, kept) = (stage.attached(), stage.kept());
    files.applied();
    assert_eq!((stage.attached(), stage.kept()), (first, kept), "an unchanged filter continues");

    stage.send(&stage.flow(9).udp(b"x").unwrap(), 2);
    files.filter("rules = ['a: drop udp dport 9', 'b: drop udp dport 10']\n");
    let planned = files.apply(&["--plan"]).json(1);
    let diff = planned["interfaces"][0]["changes"][0]["diff"].to_string();
    assert!(diff.contains("b: drop udp dport 10"), "{diff}");
    files.applied();
    assert_eq!(rules(&show(&stage)), [("a".to_owned(), 2), ("b".to_owned(), 0)]);

    stage.run(&["filter", "add", "eth0", "c: drop udp dport 11"]).ended(0);
    assert_eq!(files.plan(), ["rules"]);
    files.applied();
    assert_eq!(names(&stage), ["a", "b"]);

    let generic = "interface = 'eth0'\nmode = 'generic'\n[[program]]\nfilter = 'rules/eth0.toml'\n";
    files.write("eth0.toml", &format!("{generic}set = {{ nonsense = 1 }}\n"));
    let failed = files.apply(&[]).json(2);
    assert!(failed["interfaces"][0]["error"].to_string().contains("nonsense"), "{failed}");
    assert_eq!(stage.attached()[0].0, "native", "nothing was changed");
    files.write(
        "eth0.toml",
        "interface = 'eth0'\nmode = 'generic'\n[[program]]\nfilter = 'rules/eth0.toml'\n",
    );
    assert_eq!(files.plan(), ["mode"]);
    files.applied();
    assert_eq!(stage.attached()[0].0, "generic");

    fs::remove_file(files.dir.join("eth0.toml")).unwrap();
    assert_eq!(files.plan(), ["detach"]);
    files.applied();
    assert!(stage.attached().is_empty() && stage.pins().is_empty(), "{:?}", stage.pins());
}

#[test]
fn any_program_is_declared_with_its_options() {
    let stage = Stage::new();
    let files = Files::new(&stage);
    let counts = prebuilt("test/globals.o");
    fs::copy(counts, files.dir.join("globals.o")).unwrap();
    let declare = |program: &str| {
        files.write("eth0.toml", &format!("interface = 'eth0'\n[[program]]\n{program}\n"));
    };
    let forward = |to: &str| {
        format!(
            "forward = {{ nat = 'required', translations = ['10.9.0.1 udp 1 -> {to}'] }}\n\
             ignore-stripped-tags = true"
        )
    };
    declare("drop.rules = ['any udp 9']");
    assert_eq!(files.plan(), ["attach"]);
    files.applied();
    let id = stage.attached()[0].1;
    declare("drop.rules = ['any udp 10', 'any udp 9']");
    assert_eq!(files.plan(), ["rules"]);
    files.applied();
    assert_eq!(stage.attached()[0].1, id, "rules are changed in place");
    declare(&forward("10.9.0.2"));
    assert_eq!(files.plan(), ["replace"]);
    files.applied();
    declare(&forward("10.9.0.3"));
    assert_eq!(files.plan(), ["options"]);
    files.applied();
    declare("object = 'drop'");
    assert_eq!(files.plan(), ["replace"]);
    files.applied();
    declare("drop.rules = ['any udp 10']");
    assert_eq!(files.plan(), ["replace"], "the object of a built-in program is not its function");
    files.applied();
}

#[test]
fn a_changed_object_file_is_loaded_again() {
    let stage = Stage::new();
    let files = Files::new(&stage);
    let write = |verdict| {
        let path = xway_tests::clang::compile(
            &files.dir,
            "any",
            &format!("SEC(\"xdp\") int any(struct xdp_md *ctx) {{ return {verdict}; }}"),
        );
        let declaration =
            format!("interface = 'eth0'\n[[program]]\nobject = '{}'\n", path.display());
        files.write("eth0.toml", &declaration);
    };
    write("XDP_PASS");
    files.applied();
    let id = stage.attached()[0].1;
    write("XDP_PASS");
    assert_eq!(files.plan(), [""; 0]);
    write("XDP_DROP");
    assert_eq!(files.plan(), ["replace"]);
    files.applied();
    assert_ne!(stage.attached()[0].1, id);
}

#[test]
fn broken_files_do_not_affect_others() {
    let stage = Stage::new();
    let files = Files::new(&stage);
    files.filter("rules = ['a: drop udp dport 9']\n");
    files.write("broken.toml", "interface = 'eth1'\nmod = 'native'\n");
    files.write("rules.toml", "interface = 'eth2'\n[[program]]\nfilter = 'missing.toml'\n");
    files.write("later.toml", "interface = 'eth9'\n[[program]]\ndrop.rules = ['any udp 9']\n");
    let result = files.apply(&[]).json(2);
    assert_eq!(names(&stage), ["a"]);
    let errors = result["errors"].as_array().unwrap();
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors[0]["error"].as_str().unwrap().contains("unknown field `mod`"));
    assert!(errors[1]["error"].as_str().unwrap().contains("missing.toml"));
    let all = result["interfaces"].as_array().unwrap();
    let absent = all.iter().find(|one| one["name"] == "eth9").unwrap();
    assert_eq!(absent["present"], false);
    let text = stage.run(&["apply", files.dir.to_str().unwrap()]);
    assert_eq!(text.code, 2);
    assert!(text.stdout.contains("eth0: unchanged"), "{}", text.stdout);
    assert!(text.stdout.contains("eth9: no such interface yet"), "{}", text.stdout);

    // The filter of a file that is broken now continues.
    files.write("eth0.toml", "interface = 'eth0'\n[[program]]\nfilter = 'rules/none.toml'\n");
    files.apply(&[]).json(2);
    assert_eq!(names(&stage), ["a"]);
    // So does one of two that contradict each other.
    files.filter("rules = ['b: drop udp dport 9']\n");
    files.write("again.toml", "interface = 'eth0'\n");
    let result = files.apply(&[]).json(2);
    assert!(result["errors"].to_string().contains("is declared by"), "{result}");
    assert_eq!(names(&stage), ["a"]);
}

#[test]
fn programs_of_commands_and_other_tools_remain() {
    let stage = Stage::new();
    let files = Files::new(&stage);
    let (rules, path) = ("rules = ['a: drop udp dport 9']\n", files.dir.join("rules/eth0.toml"));
    fs::write(&path, rules).unwrap();
    stage.run(&["filter", "load", "eth0", path.to_str().unwrap()]).ended(0);
    let id = stage.attached()[0].1;
    assert_eq!(files.apply(&[]).json(0)["interfaces"].as_array().unwrap().len(), 0);
    assert_eq!(stage.attached()[0].1, id, "no file declares the interface");
    files.filter(rules);
    assert_eq!(files.plan(), ["adopt"]);
    files.applied();
    assert_eq!(stage.attached()[0].1, id, "the filter runs already");
    fs::remove_file(files.dir.join("eth0.toml")).unwrap();
    files.applied();
    assert!(stage.attached().is_empty(), "it was adopted");

    let object = load(&object(Vec::new(), vec![constant("passes", Verdict::Pass)]));
    let mut netlink = stage.net.b.netlink().unwrap();
    let (index, mode) = (netlink.link("eth0").unwrap().ifindex, Some(kernel::Mode::Native));
    let program = object.program("passes").unwrap();
    netlink.set_xdp(index, Some(program.as_fd()), mode, XdpExpect::Nothing).unwrap();
    files.filter(rules);
    let failed = files.apply(&[]).json(2);
    assert!(!failed["interfaces"][0]["error"].is_null(), "{failed}");
    assert_eq!(stage.attached()[0].1, program.id());
    let declared = "interface = 'eth0'\nreplace = true\n[[program]]\nfilter = 'rules/eth0.toml'\n";
    files.write("eth0.toml", declared);
    files.applied();
    assert_eq!(names(&stage), ["a"]);
}

#[test]
fn what_runs_is_saved_and_applies_without_changes() {
    let stage = Stage::new();
    let files = Files::new(&stage);
    let dir = files.dir.to_str().unwrap();
    let rules = files.dir.join("loaded");
    fs::write(&rules, "rules = ['a: drop udp dport 9']\n").unwrap();
    let nat = "10.9.0.1 udp 1 -> 10.9.0.2";
    for change in [
        &["filter", "load", "eth0", rules.to_str().unwrap()][..],
        &["filter", "add", "eth0", "b: drop udp dport 10"],
        &["drop", "eth0", "any udp 9", "--replace"],
        &["forward", "eth0", "--nat", nat, "--ignore-stripped-tags", "--replace"],
        &["attach", "eth0", "drop", "--replace", "--mode", "native"],
    ] {
        stage.run(change).ended(0);
        let saved = stage.json(&["save", dir, "--force"]);
        assert!(saved["skipped"].as_array().unwrap().is_empty(), "{saved}");
        let before = stage.attached();
        // An added rule leaves the filter that of the declaration.
        let expected: &[&str] = if change[1] == "add" { &[] } else { &["adopt"] };
        assert_eq!(files.plan(), expected, "{change:?}");
        files.applied();
        assert_eq!(stage.attached(), before, "{change:?}");
        let again = stage.json(&["save", dir]);
        assert!(again["written"].as_array().unwrap().is_empty(), "{change:?}: {again}");
    }
    files.write("eth0.toml", "interface = 'eth0'\n");
    let error = stage.run(&["save", dir]).error();
    assert!(error.contains("eth0.toml exists with other contents"), "{error}");
}

#[test]
fn files_are_checked_without_rights() {
    let stage = Stage::new();
    let files = Files::new(&stage);
    files.filter("rules = ['a: drop udp dport 9 in eth7']\n");
    let check = || stage.xway.run_powerless(&["apply", "--check", files.dir.to_str().unwrap()]);
    assert_eq!(check().ended(0), "1 of 1 file is valid\n");
    files.filter("rules = ['a: drop udp dprot 9']\n");
    let answer = check();
    assert_eq!(answer.code, 2);
    assert!(answer.stdout.contains("did you mean `dport`?"), "{}", answer.stdout);
    files.filter("rules = ['a: drop udp dport 9']\n");
    let answer = stage.xway.run_powerless(&["apply", "--plan", files.dir.to_str().unwrap()]);
    assert_ne!(answer.code, 0, "{}", answer.stdout);
}

#[test]
fn stopping_detaches_where_that_is_declared() {
    let stage = Stage::new();
    let files = Files::new(&stage);
    files.filter("rules = ['a: drop udp dport 9']\n");
    files.applied();
    files.apply(&["--stop"]).json(0);
    assert_eq!(names(&stage), ["a"]);
    let declared =
        "interface = 'eth0'\non-stop = 'detach'\n[[program]]\nfilter = 'rules/eth0.toml'\n";
    files.write("eth0.toml", declared);
    files.apply(&["--stop"]).json(0);
    assert!(stage.attached().is_empty());
    assert_eq!(
        files.apply(&["--stop"]).json(0)["interfaces"][0]["changes"].as_array().unwrap().len(),
        0
    );
}

#[test]
fn an_applied_change_waits_for_a_confirmation() {
    let stage = Stage::new();
    let files = Files::new(&stage);
    files.filter("rules = ['a: drop udp dport 9']\n");
    files.applied();
    files.filter("rules = ['b: drop udp dport 9']\n");
    files.apply(&["--confirm", "1h"]).json(0);
    assert_eq!(names(&stage), ["b"]);
    stage.run(&["confirm", "--revert"]).ended(0);
    assert_eq!(names(&stage), ["a"]);
    files.apply(&["--confirm", "1h"]).json(0);
    stage.run(&["confirm"]).ended(0);
    assert_eq!(files.plan(), [""; 0]);
}

#[test]
fn killed_at_any_moment_an_interface_is_as_before_or_as_declared() {
    let stage = Stage::new();
    let files = Files::new(&stage);
    files.filter("rules = ['a: drop udp dport 9']\n");
    files.applied();
    for step in 0..10 {
        let (old, new) = if step % 2 == 0 { ("a", "b") } else { ("b", "a") };
        files.filter(&format!("rules = ['{new}: drop udp dport 9']\n"));
        let dir = files.dir.to_str().unwrap();
        stage.kill_after(&["apply", dir], Duration::from_millis(3 * step));
        let found = names(&stage);
        assert!(found == [old] || found == [new], "step {step}: {found:?}");
        files.applied();
        assert_eq!(stage.kept(), 1, "step {step}: {:?}", stage.pins());
    }
}

#[test]
fn files_that_every_user_can_change_are_refused() {
    let stage = Stage::new();
    let files = Files::new(&stage);
    for place in ["eth0.toml", "rules/eth0.toml", "rules"] {
        files.filter("rules = ['a: drop udp dport 9']\n");
        let path = files.dir.join(place);
        let permissions = fs::metadata(&path).unwrap().permissions();
        fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
        let failed = files.apply(&[]).json(2)["errors"].to_string();
        assert!(failed.contains("chmod o-w"), "{place}: {failed}");
        assert!(stage.attached().is_empty());
        fs::set_permissions(&path, permissions).unwrap();
    }
    files.applied();
}

#[test]
fn programs_of_an_earlier_version_are_attached_again() {
    let stage = Stage::new();
    let files = Files::new(&stage);
    files.write("eth0.toml", "interface = 'eth0'\n[[program]]\nobject = 'drop'\n");
    files.applied();
    let id = stage.attached()[0].1;
    // Earlier versions stored no record.
    let record = stage.pins().into_iter().find(|pin| pin.ends_with("maps/xway_record")).unwrap();
    fs::remove_file(stage.xway.state().join("bpf").join(record)).unwrap();
    let saved = stage.run(&["--json", "save", files.dir.to_str().unwrap()]).json(1);
    assert!(saved["skipped"].to_string().contains("earlier version"), "{saved}");
    assert_eq!(files.plan(), ["replace"]);
    files.applied();
    assert_ne!(stage.attached()[0].1, id);
}

#[test]
fn an_interface_that_vanishes_is_an_error_of_its_own() {
    let stage = Stage::new();
    let files = Files::new(&stage);
    let control = Control::new(stage.xway.state());
    files.filter("rules = ['a: drop udp dport 9']\n");
    let index = stage.net.b.netlink().unwrap().link("eth0").unwrap().ifindex;
    let outcome = stage.net.b.run(|| {
        let declarations = declaration::read(&files.dir).unwrap();
        let mut plan = apply::plan(&control, declarations, &[]).unwrap();
        assert!(plan.has_changes());
        Netlink::open().unwrap().delete_link(index).unwrap();
        plan.apply(&control, &ApplyOptions::default());
        plan
    });
    let plan = outcome.unwrap();
    let error = plan.interfaces[0].error.as_deref().unwrap();
    assert!(error.contains("no interface `eth0`"), "{error}");
    let later = files.apply(&[]).json(0);
    assert_eq!(later["interfaces"][0]["present"], false);
}

#[test]
fn a_declared_interface_may_appear_later() {
    let stage = Stage::new();
    let files = Files::new(&stage);
    files.write("late.toml", "interface = 'late0'\n[[program]]\ndrop.rules = ['any udp 9']\n");
    let waits = files.apply(&["--wait", "1ms"]).json(0);
    assert_eq!(waits["interfaces"][0]["present"], false, "the time is over");
    let dir = files.dir.to_str().unwrap();
    let words = ["--json", "apply", dir, "--wait", "1h"];
    let mut command = stage.xway.command_in(&stage.net.b, &words);
    let child = command.stdout(Stdio::piped()).spawn().unwrap();
    let [here, there] = ["late0", "late1"].map(|name| VethEnd { name, mac: None, netns: None });
    let pair = NewVeth { ends: [here, there], queues: 1, mtu: 1500 };
    stage.net.b.netlink().unwrap().create_veth(&pair).unwrap();
    let answer = Answer::of(child.wait_with_output().unwrap()).json(0);
    assert_eq!(answer["interfaces"][0]["applied"], true, "{answer}");
}

#[test]
fn a_declared_rule_that_has_expired_remains_expired_when_others_change() {
    let stage = Stage::new();
    let files = Files::new(&stage);
    files.filter("rules = ['brief: drop for 1s udp dport 7']\n");
    files.applied();
    let is_expired = || show(&stage)["rules"][0]["left_s"] == 0.0;
    until("the time of the rule", PATIENCE, || Ok(is_expired().then_some(()))).unwrap();
    stage.run(&["filter", "add", "eth0", "drop udp dport 8", "--name", "other"]).ended(0);
    assert_eq!(names(&stage), ["brief", "other"]);
    assert!(is_expired(), "it does not start again");
    stage.run(&["filter", "remove", "eth0", "other"]).ended(0);
    assert!(is_expired());
    assert_eq!(files.plan(), [""; 0]);
}

#[test]
fn what_is_not_declared_leaves_the_chain_and_the_filter_continues() {
    let stage = Stage::new();
    let files = Files::new(&stage);
    files.filter("rules = ['a: drop udp dport 9']\n");
    files.applied();
    stage.send(&stage.flow(9).udp(b"x").unwrap(), 2);
    stage.run(&["attach", "eth0", "drop"]).ended(0);
    assert_eq!(files.plan(), ["detach"]);
    files.applied();
    assert_eq!(stage.kept(), 1, "{:?}", stage.pins());
    assert_eq!(rules(&show(&stage)), [("a".to_owned(), 2)], "its counts continue");
}
