//! Files of sets that are not what they should be: `xway filter check` ends, names the file, and
//! the line where there is one.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use lab::until;
use xway_tests::xway::{Answer, Xway};

/// Debug builds read a million lines.
const LONG: Duration = Duration::from_secs(60);

struct Rules {
    xway: Xway,
    list: PathBuf,
    rules: String,
}

impl Rules {
    fn new() -> Self {
        let xway = Xway::new();
        let (list, rules) = (xway.state().join("bad.txt"), xway.state().join("rules.toml"));
        let text = "rules = ['bad: drop from @bad']\n[sets]\nbad = { file = 'bad.txt' }\n";
        std::fs::write(&rules, text).unwrap();
        let rules = rules.to_str().unwrap().to_owned();
        Self { xway, list, rules }
    }

    /// It must end without a signal.
    fn check(&self) -> Answer {
        let mut command = self.xway.command(&["--json", "filter", "check", &self.rules]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.unwrap();
        let waiting = until("the end", LONG, || Ok(child.try_wait().ok().flatten()));
        if waiting.is_err() {
            let _ended_by_itself = child.kill();
        }
        Answer::of(child.wait_with_output().unwrap())
    }

    #[track_caller]
    fn fails_with(&self, part: &str) {
        let error = self.check().error();
        assert!(error.contains("bad.txt") && error.contains(part), "{error}");
        assert!(error.len() < 1000 && error.lines().count() == 1, "{error}");
    }
}

#[test]
fn a_path_that_is_not_a_file_is_refused() {
    let rules = Rules::new();
    rules.fails_with("No such file");
    std::fs::create_dir(&rules.list).unwrap();
    rules.fails_with("is a folder");
    std::fs::remove_dir(&rules.list).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&rules.list).status().unwrap();
    assert!(made.success());
    rules.fails_with("is not a regular file");
    std::fs::remove_file(&rules.list).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &rules.list).unwrap();
    rules.fails_with("is not a regular file");
    std::fs::remove_file(&rules.list).unwrap();
    std::os::unix::fs::symlink("bad.txt", &rules.list).unwrap();
    rules.fails_with("symbolic links");
}

#[test]
fn a_user_without_permission_is_refused() {
    let rules = Rules::new();
    std::fs::write(&rules.list, "10.0.0.1\n").unwrap();
    std::fs::set_permissions(&rules.list, PermissionsExt::from_mode(0o000)).unwrap();
    let error = rules.xway.run_powerless(&["filter", "check", &rules.rules]).error();
    assert!(error.contains("bad.txt") && error.contains("Permission denied"), "{error}");
}

#[test]
fn an_invalid_list_is_reported_by_its_first_wrong_line() {
    let rules = Rules::new();
    for (bytes, part) in [
        (&b"10.0.0.1\n\x7fELF\x02\x01\0\0\xff\xfe\n"[..], "bad.txt:2"),
        (&[0; 4096], "bad.txt:1"),
        (b"\xff\xfe1\x000\x00", "is UTF-16"),
        (b"10.0.0.1\r\n10.0.0.\r\n", "bad.txt:2: `10.0.0.`"),
    ] {
        std::fs::write(&rules.list, bytes).unwrap();
        rules.fails_with(part);
    }
    for (bytes, ranges) in
        [(&b""[..], 0), (b"\xef\xbb\xbf10.0.0.1\r\n10.0.0.1 \r\n# 10.0.0.3\r\n10.0.0.0/31", 1)]
    {
        std::fs::write(&rules.list, bytes).unwrap();
        let checked = rules.check().json(0);
        assert_eq!(checked["sets"][0]["ipv4_ranges"], ranges, "{checked:#}");
    }
}

#[test]
fn one_wrong_line_of_a_million_is_named() {
    let rules = Rules::new();
    let mut text = String::new();
    for number in 0..1_000_000_u32 {
        let address = std::net::Ipv4Addr::from_bits(number.wrapping_mul(0x9e37_79b1));
        let line = if number == 765_431 { "10.0.0\n".to_owned() } else { format!("{address}\n") };
        text.push_str(&line);
    }
    std::fs::write(&rules.list, text).unwrap();
    rules.fails_with("bad.txt:765432: `10.0.0`");
}
