//! The state directory: who can open it, where it may be, and what an unprivileged user sees.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use xway_tests::stage::Stage;
use xway_tests::xway::{Answer, Xway};

const RULES: &str = "rules = ['drop udp dport 7']\n";
/// User and group without any rights.
const NOBODY: u32 = 65534;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// A file of rules that every user can read, outside of the state. It is removed with the test.
struct Rules(String);

impl Rules {
    fn new(stage: &Stage) -> Self {
        let path = stage.xway.state().with_extension("rules");
        fs::write(&path, RULES).unwrap();
        set_mode(&path, 0o644);
        Self(path.to_str().unwrap().to_owned())
    }
}

impl Drop for Rules {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn other_users_cannot_open_a_lock() {
    let stage = Stage::new();
    let (state, rules) = (stage.xway.state(), Rules::new(&stage));
    let lock = state.join("lock");
    fs::write(&lock, "").unwrap();
    set_mode(&lock, 0o666);
    set_mode(state, 0o755);
    stage.run(&["filter", "load", "eth0", &rules.0]).ended(0);
    assert_eq!((mode(state), mode(&lock)), (0o700, 0o600), "corrected when it is opened");
    let trial = ["filter", "try", "eth0", &rules.0, "--for", "1ms"];
    stage.run(&trial).ended(0);
    for entry in fs::read_dir(state).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path) & 0o077, 0, "{}", path.display());
    }
}

#[test]
fn other_users_cannot_open_the_lock_of_all_labs() {
    let _lab = Stage::new();
    for (path, expected) in
        [("/run/xway", 0o700), ("/run/xway/lab", 0o700), ("/run/xway/lab/lock", 0o600)]
    {
        assert_eq!(mode(Path::new(path)), expected, "{path}");
    }
}

#[test]
fn files_that_a_killed_command_left_are_removed_by_the_next_one() {
    let stage = Stage::new();
    let (state, rules) = (stage.xway.state(), Rules::new(&stage));
    let left = ["net-1-if-2-3.trial", "trial-net-1-if-2", "net-1.undo.part"];
    left.iter().for_each(|name| fs::write(state.join(name), "").unwrap());
    let held = "net-1-if-2-4.trial";
    let lock = fs::File::create(state.join(held)).unwrap();
    lock.lock().unwrap();
    stage.run(&["filter", "load", "eth0", &rules.0]).ended(0);
    let found = left.iter().filter(|name| state.join(name).exists()).collect::<Vec<_>>();
    assert!(found.is_empty(), "{found:?}");
    assert!(state.join(held).exists(), "another process holds it");
}

/// A directory of another user, with whatever that user placed in it.
struct Foreign(PathBuf);

impl Foreign {
    fn new(stage: &Stage) -> Self {
        let path = stage.xway.state().join("theirs");
        fs::create_dir_all(&path).unwrap();
        chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        Self(path)
    }

    fn join(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

#[test]
fn a_state_directory_that_another_user_can_change_is_refused() {
    let stage = Stage::new();
    let theirs = Foreign::new(&stage);
    let ours = stage.xway.state().join("ours");
    fs::create_dir(&ours).unwrap();
    symlink(&ours, theirs.join("link")).unwrap();
    fs::create_dir(theirs.join("shared")).unwrap();
    set_mode(Path::new(&theirs.join("shared")), 0o777);
    let open = stage.xway.state().join("open").to_str().unwrap().to_owned();
    fs::create_dir(&open).unwrap();
    set_mode(Path::new(&open), 0o777);
    let table = [
        (theirs.join(""), "belongs to user 65534"),
        (theirs.join("new"), "belongs to user 65534"),
        (theirs.join("link"), "belongs to user 65534"),
        (theirs.join("shared"), "belongs to user 65534"),
        (format!("{open}/new"), "other users can write"),
    ];
    for (path, cause) in table {
        let mut command = stage.net.b.command("env").unwrap();
        let inner = stage.xway.command(&["drop", "eth0", "any udp 7"]);
        command.arg(inner.get_program()).args(["--state", &path]);
        command.args(inner.get_args().skip(2));
        let text = Answer::of(command.output().unwrap()).error();
        assert!(text.contains(cause) && text.contains("--state"), "{path}: {text}");
    }
    assert!(stage.attached().is_empty());
    assert!(fs::read_dir(&ours).unwrap().next().is_none(), "nothing was made behind the link");
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(!mounts.contains(theirs.0.to_str().unwrap()), "no bpffs was mounted there");
}

#[test]
fn a_link_in_place_of_a_file_of_the_state_is_refused() {
    let stage = Stage::new();
    let victim = stage.xway.state().join("victim");
    fs::create_dir(&victim).unwrap();
    fs::write(victim.join("text"), "kept").unwrap();
    for (name, target) in [("lock", victim.join("text")), ("bpf", victim.clone())] {
        let state = stage.xway.state().join(format!("state-{name}"));
        fs::create_dir(&state).unwrap();
        symlink(&target, state.join(name)).unwrap();
        let xway = Xway::at(state.clone());
        let text = xway.run_in(&stage.net.b, &["drop", "eth0", "any udp 7"]).error();
        assert!(text.contains(state.join(name).to_str().unwrap()), "{text}");
    }
    assert_eq!(fs::read_to_string(victim.join("text")).unwrap(), "kept");
    assert_eq!(fs::metadata(&victim).unwrap().dev(), fs::metadata("/tmp").unwrap().dev());
    assert!(stage.attached().is_empty());
}

#[test]
fn without_permission_the_state_is_not_reported_as_empty() {
    let stage = Stage::new();
    stage.run(&["filter", "load", "eth0", &Rules::new(&stage).0]).ended(0);
    let commands: &[&[&str]] = &[
        &["status"],
        &["status", "eth0"],
        &["filter", "show", "eth0"],
        &["filter", "show", "eth0", "--toml"],
        &["filter", "bans", "eth0"],
        &["filter", "top", "eth0", "--time", "1ms", "--rules-only"],
        &["filter", "sample", "eth0"],
        &["filter", "top", "eth0", "--time", "1ms"],
        &["filter", "explain", "eth0", "--live", "--for", "1ms"],
        &["map", "list"],
        &["prog", "list"],
    ];
    for words in commands {
        let text = stage.xway.run_as(&stage.net.b, NOBODY, &[], words).error();
        for wrong in ["no filter", "nothing", "pinned by hand"] {
            assert!(!text.contains(wrong), "{words:?}: {text}");
        }
        assert!(text.contains("not permitted") || text.contains("denied"), "{words:?}: {text}");
        assert!(text.contains("CAP_") && text.contains("root"), "{words:?}: {text}");
    }
}

/// Changes need no more than these, once the state directory exists.
const CHANGING: [&str; 3] = ["net_admin", "bpf", "perfmon"];

#[test]
fn a_user_with_three_capabilities_changes_everything_that_is_theirs() {
    let stage = Stage::new();
    let rules = Rules::new(&stage);
    let xway = Xway::at(stage.xway.state().join("home"));
    set_mode(stage.xway.state(), 0o755);
    let init = ["state", "init", "--owner", "65534"];
    xway.run_in(&stage.net.b, &init).ended(0);
    xway.run_in(&stage.net.b, &init).ended(0);
    let run = |words: &[&str]| xway.run_as(&stage.net.b, NOBODY, &CHANGING, words);
    let table: &[&[&str]] = &[
        &["drop", "eth0", "any udp 7"],
        &["drop", "eth0", "--add", "any udp 8"],
        &["drop", "eth0", "any udp 9", "--replace", "--mode", "generic"],
        &["attach", "eth0", "drop", "--replace"],
        &["detach", "eth0"],
        &["filter", "load", "eth0", &rules.0],
        &["filter", "load", "eth0", &rules.0, "--mode", "generic"],
        &["filter", "add", "eth0", "drop udp dport 8"],
        &["filter", "ban", "eth0", "10.9.9.9", "--for", "1m"],
        &["filter", "bans", "eth0"],
        &["filter", "show", "eth0"],
        &["filter", "try", "eth0", &rules.0, "--for", "1ms"],
        &["filter", "flush", "eth0"],
        &["filter", "unload", "eth0"],
        &["forward", "eth0"],
        &["detach", "eth0"],
    ];
    for words in table {
        let answer = run(words);
        assert!(answer.code < 2, "{words:?}: {}", answer.stderr);
    }
    assert!(stage.attached().is_empty());
}

/// The counts of a program, by verdict and reason, as `status` reports them.
fn counted(answer: &Answer) -> Value {
    let json: Value = serde_json::from_str(&answer.stdout).unwrap();
    json["interfaces"].as_array().unwrap().iter().find(|one| one["name"] == "eth0").unwrap()
        ["programs"][0]
        .clone()
}

#[test]
fn a_user_with_three_capabilities_sees_the_counters_of_their_programs() {
    let stage = Stage::new();
    let rules = Rules::new(&stage);
    let xway = Xway::at(stage.xway.state().join("home"));
    set_mode(stage.xway.state(), 0o755);
    xway.run_in(&stage.net.b, &["state", "init", "--owner", "65534"]).ended(0);
    let run = |words: &[&str]| xway.run_as(&stage.net.b, NOBODY, &CHANGING, words);
    let program = format!("{}/../bpf/prebuilt/test/talk_drop.o", env!("CARGO_MANIFEST_DIR"));
    let table: &[(&[&str], &str)] = &[
        (&["drop", "eth0", "any udp 7"], "xway drop"),
        (&["filter", "load", "eth0", &rules.0], "xway filter"),
        (&["attach", "eth0", &program], "xway talk_drop"),
    ];
    for (words, owner) in table {
        run(words).ended(0);
        stage.send(&stage.flow(7).udp(b"counted").unwrap(), 5);
        let all = [&CHANGING[..], &["sys_admin"]].concat();
        let with_all = xway.run_as(&stage.net.b, NOBODY, &all, &["status", "--json"]);
        let with_all = counted(&with_all);
        let as_user = run(&["status", "--json"]);
        assert_eq!(as_user.code, 0, "{words:?}: {}", as_user.stderr);
        let as_user = counted(&as_user);
        assert_eq!((&as_user["permitted"], &as_user["owner"]), (&json!(true), &json!(owner)));
        let totals = |one: &Value| {
            let rates = one["rates"].as_object().unwrap_or_else(|| panic!("{words:?}: {one}"));
            let reasons = rates["reasons"].as_array().unwrap().iter();
            let reasons: Vec<_> = reasons.map(|one| one["reason"].clone()).collect();
            let verdicts = rates["verdicts"].as_object().unwrap().values();
            let packets: Vec<_> = verdicts.map(|one| one["packets"].as_u64().unwrap()).collect();
            (packets, reasons)
        };
        assert_eq!(totals(&as_user), totals(&with_all), "{words:?}");
        // Names of reasons, which are in the program's BTF.
        let named = !matches!(&totals(&as_user).1[..], [] if *owner != "xway talk_drop");
        assert!(named, "{words:?}: {as_user}");
        assert_eq!(totals(&as_user).0.iter().sum::<u64>(), 5, "{words:?}: {as_user}");
        assert_eq!(as_user["link_id"], with_all["link_id"]);
        run(&["detach", "eth0"]).ended(0);
    }
}

#[test]
fn a_program_that_may_not_be_read_is_reported_as_not_permitted() {
    let stage = Stage::new();
    let mine = Xway::at(stage.xway.state().join("home"));
    set_mode(stage.xway.state(), 0o755);
    mine.run_in(&stage.net.b, &["state", "init", "--owner", "65534"]).ended(0);
    stage.run(&["drop", "eth0", "any udp 7"]).ended(0);
    let id = counted(&stage.run(&["status", "--json"]))["id"].clone();
    let run = |words: &[&str]| mine.run_as(&stage.net.b, NOBODY, &CHANGING, words);
    let found = counted(&run(&["status", "--json"]));
    assert_eq!((&found["id"], &found["permitted"]), (&id, &json!(false)), "{found}");
    assert!(found["rates"].is_null() && found["name"].is_null(), "{found}");
    let text = run(&["status"]);
    assert_eq!(text.code, 0, "{}", text.stderr);
    let row = format!("{id} (not permitted)");
    assert!(text.stdout.contains(&row) && text.stdout.contains("CAP_SYS_ADMIN"), "{}", text.stdout);
}

/// A file system of 8 KiB for a state directory, which is unmounted with the test.
struct Small(PathBuf);

impl Small {
    fn new(stage: &Stage) -> Self {
        let path = stage.xway.state().join("small");
        fs::create_dir(&path).unwrap();
        let mut mount = std::process::Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=8k,mode=700", "tmpfs"]).arg(&path);
        assert!(mount.status().unwrap().success());
        Self(path)
    }

    /// Leaves no space.
    fn fill(&self) {
        let full = fs::write(self.0.join("filler"), vec![0; 64 << 10]).unwrap_err();
        assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _unmounted = std::process::Command::new("umount").arg(&self.0).status();
    }
}

/// What needs no space works; a change that has to be recorded does not begin, and the error names
/// the directory.
#[test]
fn a_full_state_directory_changes_nothing_by_half() {
    let stage = Stage::new();
    let (small, rules) = (Small::new(&stage), Rules::new(&stage));
    let xway = Xway::at(small.0.clone());
    let run = |words: &[&str]| xway.run_in(&stage.net.b, words);
    run(&["filter", "load", "eth0", &rules.0]).ended(0);
    small.fill();
    run(&["filter", "add", "eth0", "drop udp dport 8"]).ended(0);
    let before = stage.attached();
    let text = run(&["filter", "load", "eth0", &rules.0, "--mode", "generic"]).error();
    assert!(text.contains(small.0.to_str().unwrap()) && text.contains("No space left"), "{text}");
    assert_eq!(stage.attached(), before);
    let shown = run(&["--json", "filter", "show", "eth0", "--interval", "1ms"]).json(0);
    assert_eq!(shown["rules"].as_array().unwrap().len(), 2, "{shown}");
    let left: Vec<_> = fs::read_dir(&small.0).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains(".part")), "{left:?}");
    fs::remove_file(small.0.join("filler")).unwrap();
    run(&["filter", "load", "eth0", &rules.0, "--mode", "generic"]).ended(0);
    run(&["filter", "unload", "eth0"]).ended(0);
    // The bpffs is below the file system that is unmounted.
    drop(xway);
}
