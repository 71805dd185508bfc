//! A real switch and the engine side by side: the set-up of a case on both, and the output.

pub mod programs;

use std::collections::BTreeMap;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use kernel::{Attach, LoadOptions, Mode, Replace};
use lab::frame::{Flow, Side};
use lab::{Capture, Host, LinkOptions, ThreeHosts};
use spec::asm::Assembler;
use spec::{Expect, Input, Map};
use vm::world::{Interface, World};
use vm::{Machine, Options, Port, Reason, Run};

use programs::{PORT, spec};

const SENTINEL: u16 = 4243;
const PATIENCE: Duration = Duration::from_secs(10);

/// Where frames are looked for.
const PLACES: [&str; 4] = ["port-a", "port-b", "port-c", "stack"];

pub struct Case {
    pub name: &'static str,
    pub act: Box<dyn Fn(&mut Assembler)>,
    /// Map, key, interface or processor (`1`), the entry's program.
    pub entries: &'static [(&'static str, u32, &'static str, Option<&'static str>)],
    /// `ip` words for the switch before, and after.
    pub changes: Option<[&'static str; 2]>,
    /// The engine's reason for a frame that is not sent.
    pub loss: Option<Reason>,
}

pub fn case(name: &'static str, act: impl Fn(&mut Assembler) + 'static) -> Case {
    Case { name, act: Box::new(act), entries: &[], changes: None, loss: None }
}

/// Frames by place, in order of their bytes.
type Seen = BTreeMap<&'static str, Vec<Vec<u8>>>;

pub struct Switch {
    net: ThreeHosts,
    captures: Vec<(&'static str, Capture)>,
    /// To send sentinels: out of a port towards the host that listens.
    ports: Vec<Capture>,
    frames: Vec<Vec<u8>>,
    jumbo: bool,
    /// Passes all at host `a`: a veth wakes its peer after XDP_TX only if that has a program.
    _awake: kernel::Link,
}

impl Switch {
    /// For frames as long as Ethernet's, or `jumbo`: up to 9000 bytes, in several buffers.
    fn new(jumbo: bool) -> Self {
        let (mtu, lengths) = if jumbo { (9000, [60, 8900]) } else { (1500, [60, 300]) };
        let net = ThreeHosts::build(&LinkOptions { mtu, ..LinkOptions::default() }).unwrap();
        let hosts = [("port-a", &net.a), ("port-b", &net.b), ("port-c", &net.c)];
        let mut captures: Vec<_> = hosts
            .iter()
            .map(|(port, host)| (*port, Capture::open(host, "eth0").unwrap()))
            .collect();
        captures.push(("stack", Capture::open(&net.switch, "br0").unwrap()));
        let ports =
            hosts.iter().map(|(port, _)| Capture::open(&net.switch, port).unwrap()).collect();
        // Addressed to the bridge itself, so that passed frames remain on the switch.
        let flow = |port| {
            let from = Side::new("02:78:77:00:00:01", "10.0.0.1", 1).unwrap();
            Flow::new(from, Side::new("02:78:77:00:01:ff", "10.0.0.9", port).unwrap())
        };
        let frames = lengths.map(|length| flow(PORT).udp_of_length(length).unwrap()).to_vec();
        let awake = kernel::Object::load(&spec(&|_| (), jumbo), &LoadOptions::default()).unwrap();
        let awake = attach(&net.a, "eth0", &awake);
        Self { net, captures, ports, frames, jumbo, _awake: awake }
    }

    fn ifindex(&self, port: &str) -> u32 {
        self.net.switch.ifindex(port).unwrap().0
    }

    fn ip(&self, words: &str) {
        let mut ip = self.net.switch.command("ip").unwrap();
        assert!(ip.args(words.split(' ')).status().unwrap().success(), "ip {words}");
    }

    fn world(&self) -> World {
        let of = |port: &&str| {
            let index = self.ifindex(port);
            let link = self.net.switch.netlink().unwrap().link(port).unwrap();
            Interface { mtu: link.mtu, up: link.up, ..Interface::new(index, *port) }
        };
        PLACES[..3].iter().map(of).fold(World::default(), World::with_interface)
    }

    /// An entry's value; `program` gives what stands for a program.
    fn value(&self, to: &str, program: u32) -> Vec<u8> {
        let first = match to.parse::<u32>() {
            Ok(_) => 2048,
            Err(_) => self.ifindex(to),
        };
        [first, program].iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    /// What the engine puts out for every frame.
    fn engine(&self, case: &Case) -> (Seen, Vec<Run>) {
        let options = Options { cpus: 2, world: self.world(), ..Options::default() };
        let machine = Machine::load(&spec(&*case.act, self.jumbo), &options).unwrap();
        for (map, key, to, program) in case.entries {
            let id = program.map_or(0, |name| machine.program(name).unwrap() as u32 + 1);
            let map = machine.map(map).unwrap();
            map.update(&key.to_ne_bytes(), &self.value(to, id), Expect::Any).unwrap();
        }
        let mut worker = machine.worker(0);
        let entry = machine.program("entry").unwrap();
        let ingress_ifindex = self.ifindex("port-a");
        let run = |packet: &Vec<u8>| {
            let packet = packet.clone();
            worker.run(entry, &Input { packet, ingress_ifindex, ..Input::default() }).unwrap()
        };
        let runs: Vec<Run> = self.frames.iter().map(run).collect();
        let mut seen = Seen::new();
        for output in runs.iter().flat_map(|run| &run.outputs) {
            seen.entry(self.place(output.port)).or_default().push(output.packet.clone());
        }
        seen.values_mut().for_each(|frames| frames.sort());
        (seen, runs)
    }

    fn place(&self, port: Port) -> &'static str {
        match port {
            Port::Stack { .. } | Port::Cpu { .. } => "stack",
            Port::Device { ifindex } => {
                PLACES[..3].iter().find(|port| self.ifindex(port) == ifindex).unwrap()
            }
            Port::Xsk { .. } => panic!("no case has sockets"),
        }
    }

    /// The frames that really arrive. `expected` has the number of frames to wait for before a
    /// sentinel ends the wait.
    fn kernel(&self, case: &Case, expected: &Seen) -> Seen {
        let object = kernel::Object::load(&spec(&*case.act, self.jumbo), &LoadOptions::default())
            .unwrap_or_else(|error| panic!("{}: {error}", case.name));
        let entries = case.entries;
        let fill = || {
            for (map, key, to, program) in entries {
                let fd =
                    program.map_or(-1, |name| object.program(name).unwrap().as_fd().as_raw_fd());
                let value = self.value(to, fd.cast_unsigned());
                object.map(map).unwrap().update(&key.to_ne_bytes(), &value, Expect::Any).unwrap();
            }
        };
        self.net.switch.run(fill).unwrap();
        let _link = attach(&self.net.switch, "port-a", &object);
        for frame in &self.frames {
            self.captures[0].1.send(frame).unwrap();
        }
        let places = self.captures.iter().map(|(place, capture)| {
            let count = expected.get(place).map_or(0, Vec::len);
            (*place, self.arrivals(place, capture, count))
        });
        places.filter(|(_, frames)| !frames.is_empty()).collect()
    }

    fn arrivals(&self, place: &str, capture: &Capture, expected: usize) -> Vec<Vec<u8>> {
        let ours = |frame: &[u8]| port_of(frame, PORT);
        let mut frames: Vec<Vec<u8>> =
            (0..expected).map_while(|_| capture.next(PATIENCE, ours).ok()).collect();
        self.send_sentinel(place);
        let either = |frame: &[u8]| ours(frame) || port_of(frame, SENTINEL);
        loop {
            let frame = capture.next(PATIENCE, either).expect("the sentinel arrives");
            if port_of(&frame, SENTINEL) {
                break;
            }
            frames.push(frame);
        }
        frames.sort();
        frames
    }

    fn send_sentinel(&self, place: &str) {
        let mut frame = self.frames[0].clone();
        frame[36..38].copy_from_slice(&SENTINEL.to_be_bytes());
        match PLACES.iter().position(|known| *known == place).unwrap() {
            // Host a's frames reach the switch's stack.
            3 => self.captures[0].1.send(&frame).unwrap(),
            port => self.ports[port].send(&frame).unwrap(),
        }
    }
}

fn attach(host: &Host, interface: &str, object: &kernel::Object) -> kernel::Link {
    let (ifindex, program) = (host.ifindex(interface).unwrap(), object.program("entry").unwrap());
    let attach = Attach { ifindex, program, mode: Mode::Native, replace: Replace::No };
    host.run(|| kernel::attach(&attach)).unwrap().unwrap()
}

/// Whether that UDP port is where it is in a frame, or in one that eight bytes were put before.
fn port_of(frame: &[u8], port: u16) -> bool {
    let at = |place: usize| frame.get(place..place + 2) == Some(&port.to_be_bytes()[..]);
    at(36) || at(44)
}

pub fn agree(cases: Vec<Case>) {
    agree_on(&Switch::new(false), cases);
}

pub fn agree_for_jumbo(cases: Vec<Case>) {
    agree_on(&Switch::new(true), cases);
}

fn agree_on(switch: &Switch, cases: Vec<Case>) {
    for case in cases {
        if let Some([before, _]) = case.changes {
            switch.ip(before);
        }
        let (engine, runs) = switch.engine(&case);
        if let Some([before, after]) = case.changes
            && before.ends_with("down")
        {
            // A port that is down takes no sentinel either: the frames are all that can be seen.
            let losses: Vec<_> = runs.iter().flat_map(|run| &run.losses).collect();
            assert!(losses.iter().all(|loss| Some(loss.reason) == case.loss), "{}", case.name);
            switch.ip(after);
            continue;
        }
        let kernel = switch.kernel(&case, &engine);
        assert_eq!(engine, kernel, "{}: the engine, then the kernel", case.name);
        let losses: Vec<Reason> =
            runs.iter().flat_map(|run| &run.losses).map(|loss| loss.reason).collect();
        assert_eq!(losses.last().copied(), case.loss, "{}: {losses:?}", case.name);
        if let Some([_, after]) = case.changes {
            switch.ip(after);
        }
    }
}
