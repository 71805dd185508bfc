//! What tests of `xway capture` have in common.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use lab::until;
use pcap::{Packet, Reader};
use serde_json::Value;

use crate::stage::Stage;
use crate::xway::Answer;

/// For programs to be composed and verified, beside whatever else the machine does.
pub const LOAD: Duration = Duration::from_mins(2);

/// A directory that is removed with its files.
#[derive(Debug)]
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("xway-{name}-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _gone = fs::remove_dir_all(&self.0);
    }
}

/// Starts a capture, and waits until its program runs.
pub fn capturing(stage: &Stage, words: &[&str]) -> Child {
    let before = stage.attached();
    let mut command = stage.xway.command_in(&stage.net.b, &[&["capture", "eth0"], words].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let runs = until("the capture", LOAD, || Ok((stage.attached() != before).then_some(())));
    if let Err(error) = runs {
        let _ended = child.kill();
        panic!("{error}: {:?}", child.wait_with_output());
    }
    child
}

/// The text of a command that ends with this code.
pub fn ended(child: Child, code: i32) -> String {
    Answer::of(child.wait_with_output().unwrap()).ended(code)
}

/// The last line of a capture with `--json`.
pub fn report(child: Child) -> Value {
    let text = ended(child, 0);
    serde_json::from_str(text.lines().last().unwrap()).unwrap()
}

/// The packets of a file.
pub fn packets(path: impl AsRef<Path>) -> Vec<Packet> {
    let mut reader = Reader::new(File::open(path).unwrap()).unwrap();
    let (mut packet, mut all) = (Packet::default(), Vec::new());
    while reader.next_into(&mut packet).unwrap() {
        all.push(packet.clone());
    }
    all
}
