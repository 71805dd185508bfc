//! `xway` run by root for another user: whose rights its parsers have, and whose files its
//! reports are.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use pcap::{LinkType, Packet, Writer};
use xway_tests::xway::{Answer, Xway};

/// The user and group `nobody` of most distributions.
const NOBODY: u32 = 65534;
const PATIENCE: Duration = Duration::from_secs(30);

/// A directory of root's with one of the caller's in it, both removed at the end.
struct Place {
    xway: Xway,
    root: PathBuf,
}

impl Place {
    fn new(test: &str) -> Self {
        let root = std::env::temp_dir().join(format!("xway-sudo-{test}-{}", std::process::id()));
        fs::create_dir(&root).unwrap();
        fs::create_dir(root.join("home")).unwrap();
        chown(root.join("home"), Some(NOBODY), Some(NOBODY)).unwrap();
        let place = Self { xway: Xway::new(), root };
        let file = fs::File::create(place.home("in.pcapng")).unwrap();
        let mut writer = Writer::pcapng(file, &pcap::Options::default()).unwrap();
        writer.interface("eth0", LinkType::ETHERNET).unwrap();
        writer.write(&Packet { data: vec![0; 60], ..Packet::default() }).unwrap();
        writer.finish().unwrap();
        fs::write(place.home("rules.toml"), RULES).unwrap();
        fs::write(place.home("set.txt"), "192.0.2.1\n").unwrap();
        fs::write(place.home("streams.toml"), STREAMS).unwrap();
        place
    }

    fn home(&self, name: &str) -> PathBuf {
        self.root.join("home").join(name)
    }

    /// With `HOME/` for the caller's directory and `ROOT/` for the one around it.
    fn command(&self, words: &str) -> Command {
        let root = self.root.to_str().unwrap();
        let words = words.replace("HOME/", "ROOT/home/").replace("ROOT/", &format!("{root}/"));
        self.xway.command(&words.split_whitespace().collect::<Vec<_>>())
    }

    /// As root, without sudo.
    fn run(&self, words: &str) -> Answer {
        Answer::of(self.command(words).output().unwrap())
    }

    fn by_sudo(&self, words: &str) -> Command {
        let mut command = self.command(words);
        let id = NOBODY.to_string();
        command.env("SUDO_UID", &id).env("SUDO_GID", &id).env("SUDO_USER", "nobody");
        command
    }

    fn run_by_sudo(&self, words: &str) -> Answer {
        Answer::of(self.by_sudo(words).output().unwrap())
    }

    /// Whether `doctor` finds it; it must know of it.
    fn has(&self, feature: &str) -> bool {
        let doctor: serde_json::Value =
            serde_json::from_str(&self.run("--json doctor").stdout).unwrap();
        let mut facts = doctor["facts"].as_array().unwrap().iter();
        facts.find(|fact| fact["name"] == feature).unwrap()["state"] == "good"
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _stays = fs::remove_dir_all(&self.root);
    }
}

/// A command that waits for its input.
struct Waiting(Child);

impl Waiting {
    fn start(mut command: Command) -> Self {
        Self(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Fields of its status once it is confined.
    fn status(&self, words: &str) -> impl Fn(&str) -> String + use<> {
        let path = format!("/proc/{}/status", self.0.id());
        let confined = || {
            let text = fs::read_to_string(&path).unwrap();
            Ok(text.contains("Seccomp_filters:\t2").then_some(text))
        };
        let text = lab::until("a confined process", PATIENCE, confined);
        let text = text.unwrap_or_else(|error| panic!("{words}: {error}"));
        move |name| {
            let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name}:")));
            line.unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn owner(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().uid()
}

const RULES: &str = "rules = [\"drop from @bad\"]\n[sets]\nbad = { file = \"set.txt\" }\n";
const STREAMS: &str = "[[streams]]\nlayers = []\n";

/// Commands that parse a file without the kernel, with `FILE` where the file is named.
const PARSERS: [&str; 9] = [
    "run drop --in FILE",
    "run FILE --in HOME/in.pcapng",
    "run drop --in HOME/in.pcapng --world FILE",
    "filter explain FILE --rules HOME/rules.toml",
    "filter export flowspec FILE",
    "filter import flowspec FILE",
    "filter import nft FILE",
    "gen FILE --dry-run --write HOME/w.pcapng",
    "bench compare FILE HOME/raw.json",
];

/// Text for nft, which another process runs.
const NFT_TEXT: (&str, &str) = ("filter import nft FILE", "HOME/pipe");

#[test]
fn a_parser_has_no_rights_when_it_reads() {
    let place = Place::new("rights");
    if !place.has("seccomp filters") {
        eprintln!("skipped: this kernel has no seccomp filters");
        return;
    }
    for pipe in ["pipe.json", "pipe"].map(|name| place.home(name)) {
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        chown(&pipe, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    for (words, pipe) in
        PARSERS.map(|words| (words, "HOME/pipe.json")).into_iter().chain([NFT_TEXT])
    {
        let words = words.replace("FILE", pipe);
        for (command, user) in [(place.by_sudo(&words), NOBODY), (place.command(&words), 0)] {
            let waiting = Waiting::start(command);
            let status = waiting.status(&words);
            assert_eq!(status("Uid"), vec![user.to_string(); 4].join(" "), "{words}");
            assert_eq!((status("NoNewPrivs"), status("Seccomp")), ("1".into(), "2".into()));
            for set in ["CapEff", "CapPrm", "CapInh", "CapAmb"] {
                let bits = u64::from_str_radix(&status(set), 16).unwrap();
                // Root alone keeps CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH.
                let most = if user == 0 { 0b110 } else { 0 };
                assert_eq!(bits & !most, 0, "{words}: {set} {bits:x}");
            }
            if user != 0 {
                assert_eq!((status("Gid"), status("Groups")), (status("Uid"), user.to_string()));
            }
        }
    }
}

/// Commands that parse a file and then load programs, which are never attached or run.
const LOADERS: [&str; 2] = ["check FILE", "filter check FILE"];
/// Bits of `CAP_NET_ADMIN`, `CAP_SYSLOG`, `CAP_PERFMON` and `CAP_BPF`.
const LOADING: u64 = 1 << 12 | 1 << 34 | 1 << 38 | 1 << 39;

#[test]
fn a_command_that_loads_programs_keeps_only_the_rights_for_that() {
    let place = Place::new("loaders");
    if !place.has("seccomp filters") {
        eprintln!("skipped: this kernel has no seccomp filters");
        return;
    }
    let pipe = place.home("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    chown(&pipe, Some(NOBODY), Some(NOBODY)).unwrap();
    for words in LOADERS {
        let words = words.replace("FILE", "HOME/pipe");
        for (command, user) in [(place.by_sudo(&words), NOBODY), (place.command(&words), 0)] {
            let waiting = Waiting::start(command);
            let status = waiting.status(&words);
            assert_eq!(status("Uid"), vec![user.to_string(); 4].join(" "), "{words}");
            let bits = |set: &str| u64::from_str_radix(&status(set), 16).unwrap();
            let most = LOADING | if user == 0 { 0b110 } else { 0 };
            assert_eq!((bits("CapEff") & !most, bits("CapPrm") & !most), (0, 0), "{words}");
            assert_eq!((bits("CapInh"), bits("CapAmb")), (0, 0), "{words}");
            assert_eq!((status("NoNewPrivs"), status("Seccomp")), ("1".into(), "2".into()));
        }
    }
    // They still do their work.
    for run in [Place::run, Place::run_by_sudo] {
        let object = run(&place, "--json check drop").json(0);
        assert_eq!(object["accepted"], true, "{object}");
        let rules = run(&place, "--json filter check HOME/rules.toml").json(0);
        assert!(rules["program"]["kernel"]["accepted"].is_object(), "{rules}");
    }
}

#[test]
fn input_is_opened_as_the_caller() {
    let place = Place::new("input");
    let secret = place.home("secret");
    fs::write(&secret, "{\"secret\": 1}").unwrap();
    fs::set_permissions(&secret, Permissions::from_mode(0o600)).unwrap();
    for words in PARSERS.into_iter().chain(LOADERS) {
        let error = place.run_by_sudo(&words.replace("FILE", "HOME/secret")).error();
        assert!(error.contains("Permission denied"), "{words}: {error}");
        let error = place.run(&words.replace("FILE", "HOME/secret")).stderr;
        assert!(!error.contains("Permission denied"), "root may read it: {words}: {error}");
    }
}

#[test]
fn only_files_that_were_named_are_opened() {
    let place = Place::new("named");
    if !place.has("Landlock") {
        eprintln!("skipped: this kernel has no Landlock");
        return;
    }
    let text = place.run("filter export flowspec HOME/rules.toml").ended(0);
    assert!(text.contains("192.0.2.1"), "{text}");
    // An escape hides the name in the text: only the parser finds it.
    fs::write(place.home("hidden.toml"), RULES.replace("set.txt", "se\\u0074.txt")).unwrap();
    let error = place.run("filter export flowspec HOME/hidden.toml").error();
    assert!(error.contains("Permission denied"), "{error}");
}

#[test]
fn confined_commands_do_their_work() {
    let place = Place::new("work");
    let drop = "run drop --in HOME/in.pcapng";
    place.run_by_sudo(&format!("{drop} --out HOME/a/b --cover=HOME/lcov")).ended(0);
    for path in ["a", "a/b", "a/b/pass.pcapng", "lcov"] {
        assert_eq!(owner(&place.home(path)), NOBODY, "{path}");
    }
    let printed = place.run_by_sudo(&format!("{drop} --cover=/dev/stdout")).ended(0);
    assert!(printed.contains("end_of_record"), "{printed}");
    let saved = place.run_by_sudo(&format!("{drop} --save-world HOME/w.toml --world host"));
    saved.ended(0);
    place.run_by_sudo(&format!("{drop} --world HOME/w.toml --trace")).ended(0);
    place.run_by_sudo("gen udp 10.0.0.2:53 --dry-run --count 3 --write HOME/x.pcapng").ended(0);
    place.run_by_sudo("gen pcap HOME/x.pcapng --dry-run --write HOME/y.pcapng").ended(0);
    assert_eq!(owner(&place.home("y.pcapng")), NOBODY);
    place.run_by_sudo("filter explain HOME/x.pcapng --rules HOME/rules.toml").ended(0);
    // Standard input and a file as standard output.
    let mut command = place.by_sudo("filter import flowspec -");
    let out = fs::File::create(place.root.join("out")).unwrap();
    let mut child = command.stdin(Stdio::piped()).stdout(out).spawn().unwrap();
    let text = place.run("filter export flowspec HOME/rules.toml").ended(0);
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), text.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(fs::read_to_string(place.root.join("out")).unwrap().contains("192.0.2.1"));
    // A directory of root's is not the caller's to write in.
    let error = place.run_by_sudo(&format!("{drop} --out ROOT/denied")).error();
    assert!(error.contains("Permission denied"), "{error}");
    place.run(&format!("{drop} --out ROOT/allowed")).ended(0);
}

/// What writes files for its caller, into `HOME/out`, and the names of the files.
const WRITERS: [(&str, &[&str]); 4] = [
    ("man HOME/out", &["xway.1", "xway-run.1"]),
    (
        "demo --runtime vm --phase 2ms --rate 10000 --out HOME/out",
        &["report.html", "flood.pcapng", "rules.toml", "figure.svg"],
    ),
    ("run drop --in HOME/in.pcapng --out HOME/out", &["pass.pcapng"]),
    ("gen udp 10.0.0.2:53 --dry-run --count 1 --write HOME/out/x.pcapng", &["x.pcapng"]),
];

#[test]
fn planted_links_are_replaced_and_never_followed() {
    let place = Place::new("links");
    let victim = place.root.join("victim");
    for (words, files) in WRITERS {
        fs::write(&victim, "root's").unwrap();
        let out = place.home("out");
        fs::create_dir(&out).unwrap();
        chown(&out, Some(NOBODY), Some(NOBODY)).unwrap();
        for file in files {
            let names = parts(file).into_iter().chain([(*file).to_owned()]);
            names.for_each(|name| symlink(&victim, out.join(name)).unwrap());
        }
        place.run_by_sudo(words);
        assert_eq!(fs::read_to_string(&victim).unwrap(), "root's", "{words}");
        assert_eq!(owner(&victim), 0, "{words}");
        for file in files {
            let data = fs::symlink_metadata(out.join(file)).unwrap();
            assert!(data.is_file() && data.uid() == NOBODY, "{words}: {file}");
        }
        fs::remove_dir_all(&out).unwrap();
    }
}

#[test]
fn only_what_was_created_changes_its_owner() {
    let place = Place::new("owner");
    for (words, files) in &WRITERS[..2] {
        // A new directory of the caller's.
        place.run_by_sudo(words);
        assert_eq!(owner(&place.home("out")), NOBODY, "{words}");
        fs::remove_dir_all(place.home("out")).unwrap();
        // An existing one of root's.
        fs::create_dir(place.home("out")).unwrap();
        fs::write(place.home("out/other"), "").unwrap();
        place.run_by_sudo(words);
        for path in ["out", "out/other", &format!("out/{}", files[0])] {
            assert_eq!(owner(&place.home(path)), 0, "{words}: {path}");
        }
        fs::remove_dir_all(place.home("out")).unwrap();
    }
    let link = place.home("link");
    symlink(&place.root, &link).unwrap();
    let error = place.run_by_sudo("man HOME/link").error();
    assert!(error.contains("symbolic link"), "{error}");
    assert!(!place.root.join("xway.1").exists());
}

/// Temporary names that a writer might use for a file.
fn parts(file: &str) -> [String; 2] {
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    [format!(".{file}.part"), format!("{stem}.part")]
}
