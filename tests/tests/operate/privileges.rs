//! The table of capabilities in `docs/state.md`: each command works with exactly those, and reports
//! the missing one without each of them.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::PathBuf;

use xway_tests::stage::Stage;
use xway_tests::xway::Xway;

const PAGE: &str = include_str!("../../../docs/state.md");
/// User and group without any rights.
const NOBODY: u32 = 65534;

/// A directory of files that a row names, owned by the user. It is removed with the test.
struct Files(PathBuf);

impl Files {
    fn new(stage: &Stage) -> Self {
        let dir = stage.xway.state().with_extension("files");
        fs::create_dir_all(dir.join("declared")).unwrap();
        fs::write(
            dir.join("rules.toml"),
            "rules = ['drop udp dport 7', 'sample 1/2 udp dport 9']\n",
        )
        .unwrap();
        fs::write(dir.join("services.toml"), SERVICES).unwrap();
        fs::write(dir.join("in.pcap"), EMPTY).unwrap();
        for path in [&dir, &dir.join("declared")] {
            chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
            fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
        }
        Self(dir)
    }

    /// The words of a row, with names of files.
    fn words(&self, row: &str) -> Vec<String> {
        let path = |name: &str| self.0.join(name).to_str().unwrap().to_owned();
        let mut words: Vec<String> = Vec::new();
        for (number, part) in row.split('\'').enumerate() {
            match number % 2 {
                1 => words.push(part.to_owned()),
                _ => words.extend(part.split_whitespace().map(str::to_owned)),
            }
        }
        for word in &mut words {
            match &**word {
                "RULES" => *word = path("rules.toml"),
                "SERVICES" => *word = path("services.toml"),
                "CAPTURE" => *word = path("in.pcap"),
                "DIR" => *word = path("declared"),
                _ => {}
            }
        }
        words
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _absent = fs::remove_dir_all(&self.0);
    }
}

/// A service of the balancer.
const SERVICES: &str = "source = ['192.0.2.8']\n[[service]]\nname = 'web'\n\
    address = '192.0.2.1'\nprotocol = 'tcp'\nhealth = { check = 'icmp' }\n\
    backend = [{ address = '192.0.2.9' }]\n";

/// A pcap file with one frame.
const EMPTY: &[u8] = b"\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\xff\xff\0\0\x01\0\0\0\
    \0\0\0\0\0\0\0\0\x0e\0\0\0\x0e\0\0\0\xff\xff\xff\xff\xff\xff\x02\0\0\0\0\x01\x88\xb5";

#[test]
fn commands_need_the_capabilities_of_the_table() {
    let stage = Stage::new();
    // For the balancer.
    stage.net.b.set_sysctl("ipv4/conf/eth0/forwarding", "1").unwrap();
    let files = Files::new(&stage);
    let xway = Xway::at(stage.xway.state().join("home"));
    fs::set_permissions(stage.xway.state(), Permissions::from_mode(0o755)).unwrap();
    xway.run_in(&stage.net.b, &["state", "init", "--owner", "65534"]).ended(0);
    let (_, rows) = PAGE.split_once("| command | capabilities |\n|---|---|\n").unwrap();
    let rows: Vec<_> = rows.lines().take_while(|line| line.starts_with('|')).collect();
    assert!(rows.len() > 20, "{rows:?}");
    let mut wrong = Vec::new();
    for row in rows {
        let (command, needed) = row.trim_matches(['|', ' ']).split_once(" | ").unwrap();
        let words = files.words(command.trim_matches('`'));
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let needed: Vec<_> = needed.split(", ").filter(|name| *name != "-").collect();
        for missing in &needed {
            let others: Vec<_> = needed.iter().copied().filter(|name| name != missing).collect();
            let answer = xway.run_as(&stage.net.b, NOBODY, &others, &words);
            let name = format!("CAP_{}", missing.to_uppercase());
            let text = format!("{}{}", answer.stdout, answer.stderr);
            // `check` has a negative result, with the reason.
            if answer.code == 0 || !text.contains(&name) {
                wrong.push(format!("{command} without {missing}: {answer:?}"));
            }
        }
        let answer = xway.run_as(&stage.net.b, NOBODY, &needed, &words);
        if answer.code >= 2 {
            wrong.push(format!("{command}: {answer:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
