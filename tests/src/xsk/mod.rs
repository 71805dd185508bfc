//! What tests of faults and of long runs share: packets, and processes with sockets.

pub mod exchange;
pub mod lives;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lab::{Host, LinkOptions, TwoHosts};
use xsk::{Rx, Tx, Umem};

use crate::built;

/// How long anything may take.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// A frame of an ethertype of our own, to everybody.
pub fn packet(len: usize) -> Vec<u8> {
    let mut bytes = vec![0xff; len];
    bytes[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 1]);
    bytes[12..14].copy_from_slice(&ETHERTYPE);
    bytes
}

const ETHERTYPE: [u8; 2] = [0x88, 0xb5];

pub fn umem() -> Umem {
    Umem::builder().frames(2048).build().unwrap()
}

/// Lengths of the next `count` packets of ours, or of those that came in time.
pub fn lengths(rx: &mut Rx, count: usize) -> Vec<usize> {
    let deadline = Instant::now() + PATIENCE;
    let mut lengths = Vec::new();
    while lengths.len() < count && Instant::now() < deadline {
        rx.wait(Duration::from_millis(100)).unwrap();
        rx.for_each(64, |frame| {
            if frame[12..14] == ETHERTYPE {
                lengths.push(frame.packet_len());
            }
        });
    }
    lengths
}

/// Two hosts that send nothing of their own: without IPv6 they report no multicast groups.
pub fn quiet_hosts(options: &LinkOptions) -> TwoHosts {
    let net = TwoHosts::build(options).unwrap();
    for host in [&net.a, &net.b] {
        host.set_sysctl("ipv6/conf/eth0/disable_ipv6", "1").unwrap();
    }
    net
}

/// Keeps packets to `host` in the driver's queue, from the second one on: its receiver is stuck
/// until its link goes down.
pub fn hold_back(host: &Host, tx: &mut Tx, rx: &mut Rx) {
    let set = |name: &str, value: &str| host.netns().set_attribute("eth0", name, value).unwrap();
    set("napi_defer_hard_irqs", "1000000");
    set("gro_flush_timeout", "3600000000000");
    tx.send(&packet(60)).unwrap();
    assert_eq!(lengths(rx, 1), [60]);
    assert_eq!(tx.drain(PATIENCE).left, 0);
}

/// A process with a socket; killed and waited for on drop.
#[derive(Debug)]
pub struct Holder {
    child: Child,
}

impl Holder {
    /// Starts `xsk-hold` with `arguments`, after the words of `prefix` (which set limits and
    /// rights), and waits for its first line.
    ///
    /// # Errors
    /// Why it has no socket, in its own words.
    pub fn start(host: &Host, prefix: &[&str], arguments: &[&str]) -> Result<Self, String> {
        let program = built::program("xsk-hold", "xway-tests");
        let program = [program.to_str().unwrap()];
        let words: Vec<_> = prefix.iter().chain(&program).chain(arguments).copied().collect();
        let mut command: Command = host.command(words[0]).unwrap();
        command.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let child = host.start(command).unwrap();
        let mut holder = Self { child };
        let mut line = String::new();
        BufReader::new(holder.child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        match line.trim() {
            "bound" => Ok(holder),
            said => Err(said.strip_prefix("refused: ").unwrap_or("it died").to_owned()),
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// As a crash would: the kernel closes the socket.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // Already gone where it was killed or refused its socket.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
