//! Two hosts, of which `b` steers packets of its eth0 and `a` sends them.
//!
//! Rule: there is no other sender, and every packet is either a socket's or the stack's, so a test
//! waits until those that it sent are accounted for and then checks who received them.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use lab::frame::{Flow, Side};
use lab::{Capture, Host, LinkOptions, TwoHosts, until};
use sys::net::{PacketSocket, XdpState};
use xsk::steer::{Mode, Options, Steer, Steering};

use crate::built;
use crate::steered::{Counting, Steered};

const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub struct Net {
    pub net: TwoHosts,
    wire: PacketSocket,
    stack: Capture,
}

impl Net {
    pub fn new(queues: u32) -> Self {
        Self::with(&LinkOptions { queues, ..LinkOptions::default() })
    }

    pub fn with(options: &LinkOptions) -> Self {
        let net = TwoHosts::build(options).unwrap();
        for host in [&net.a, &net.b] {
            host.set_sysctl("ipv6/conf/eth0/disable_ipv6", "1").unwrap();
        }
        let ifindex = net.a.ifindex("eth0").unwrap();
        let wire = net.a.run(|| PacketSocket::open(ifindex)).unwrap().unwrap();
        wire.send_directly().unwrap();
        let stack = Capture::open(&net.b, "eth0").unwrap();
        Self { net, wire, stack }
    }

    pub fn attach(&self, steer: &Steer, mode: Mode, options: Options) -> xsk::Result<Steering> {
        let ifindex = self.net.b.ifindex("eth0").unwrap();
        self.net.b.run(|| Steering::attach(ifindex, mode, steer, options)).unwrap()
    }

    /// With a socket on a queue, or the error's text.
    pub fn steer(&self, queue: u32, steer: &Steer, how: (Mode, Options)) -> xsk::Result<Steered> {
        self.net.b.run(|| Steered::open("eth0", queue, steer, how)).unwrap()
    }

    pub fn socket(&self, queue: u32) -> Counting {
        let ifindex = self.net.b.ifindex("eth0").unwrap();
        self.net.b.run(|| Counting::open(ifindex, queue)).unwrap().unwrap()
    }

    /// What is attached to `b`'s eth0.
    pub fn programs(&self) -> XdpState {
        self.net.b.netlink().unwrap().link("eth0").unwrap().xdp
    }

    /// Sends a UDP packet to each port on a queue, and answers how many of them each of the
    /// counters and the stack got.
    pub fn send(
        &self,
        queue: u32,
        ports: &[u16],
        counters: &mut [&mut dyn FnMut() -> u64],
    ) -> Vec<u64> {
        let frames: Vec<_> = ports.iter().map(|port| self.udp(*port)).collect();
        self.send_frames(queue, &frames, counters)
    }

    fn send_frames(
        &self,
        queue: u32,
        frames: &[Vec<u8>],
        counters: &mut [&mut dyn FnMut() -> u64],
    ) -> Vec<u64> {
        let before: Vec<u64> = counters.iter_mut().map(|counter| counter()).collect();
        // The receiver's queue is that of the sender's processor.
        std::thread::scope(|scope| {
            let sender = scope.spawn(|| {
                sys::cpu::set_affinity(&[queue as usize]).unwrap();
                frames.iter().for_each(|frame| self.wire.send(frame).unwrap());
            });
            sender.join().unwrap();
        });
        let mut stack = 0;
        let mut seen = Vec::new();
        let found = until("all packets accounted for", PATIENCE, || {
            stack += self
                .stack
                .all(Duration::ZERO, frames.len(), |got| frames.iter().any(|f| f == got))?
                .len() as u64;
            seen = counters
                .iter_mut()
                .zip(&before)
                .map(|(counter, before)| counter() - before)
                .collect();
            seen.push(stack);
            Ok((seen.iter().sum::<u64>() >= frames.len() as u64).then_some(()))
        });
        assert!(found.is_ok(), "{} were sent, seen are {seen:?}", frames.len());
        seen
    }

    pub fn udp(&self, port: u16) -> Vec<u8> {
        let side = |host: &Host, port| Side {
            mac: host.mac("eth0").unwrap(),
            ip: host.ipv4("eth0").unwrap().into(),
            port,
        };
        Flow::new(side(&self.net.a, 4000), side(&self.net.b, port)).udp(b"steered").unwrap()
    }

    /// A process of its own that steers.
    pub fn process(&self, queue: u32, rules: &[&str]) -> Other {
        self.start(self.net.b.command(steered().to_str().unwrap()).unwrap(), queue, rules)
    }

    /// A process with fewer capabilities, in the notation of `setpriv`.
    pub fn process_with(&self, capabilities: &str, queue: u32, rules: &[&str]) -> Other {
        let mut command = self.net.b.command("setpriv").unwrap();
        command.arg(format!("--bounding-set={capabilities}")).arg("--inh-caps=-all").arg(steered());
        self.start(command, queue, rules)
    }

    fn start(&self, mut command: Command, queue: u32, rules: &[&str]) -> Other {
        command.arg("eth0").arg(queue.to_string()).args(rules);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = self.net.b.start(command).unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut other =
            Other { child, input, output: BufReader::new(output), first: String::new() };
        other.first = other.line();
        other
    }
}

fn steered() -> PathBuf {
    built::program("steered", "xway-tests")
}

/// Another process with a socket.
#[derive(Debug)]
pub struct Other {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// The line that it printed at its start.
    pub first: String,
}

impl Other {
    pub fn count(&mut self) -> u64 {
        writeln!(self.input).unwrap();
        self.line().parse().unwrap()
    }

    /// Without a chance to clean up. Its sockets and links are gone when this returns.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Lets it end.
    pub fn end(mut self) {
        drop(self.input);
        self.child.wait().unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}
