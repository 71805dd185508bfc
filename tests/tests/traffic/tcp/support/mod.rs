//! The other end of the connections under test: sockets of the kernel, and paths that lose and
//! overtake on purpose.

use std::io::{ErrorKind, Read};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use kernel::{Attach, LoadOptions, Mode, Object, Replace};
use lab::Host;
use spec::asm::Reg::{R1, R2, R3, R4, R5, R6, R7};
use spec::asm::{self, Assembler, Cond, Helper};
use spec::{MapDef, MapKind, ProgramKind, Verdict};
use traffic::tcp::{Config, Report, Run, Snapshot};

pub const PORT: u16 = 5001;
pub const PATIENCE: Duration = Duration::from_secs(60);

/// What one connection came to at the kernel's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard {
    pub bytes: u64,
    /// It ended by RST and not by FIN.
    pub reset: bool,
}

pub fn listen(host: &Host, ip: IpAddr) -> TcpListener {
    host.run(|| TcpListener::bind((ip, PORT)).unwrap()).unwrap()
}

/// Accepts one connection in the host and does `work` with it. Panics when none arrives for a
/// minute, so that a test whose connection is never made fails instead of waiting indefinitely.
pub fn serve<T: Send + 'static>(
    host: &Host,
    ip: IpAddr,
    work: impl FnOnce(TcpStream) -> T + Send + 'static,
) -> JoinHandle<T> {
    let listener = listen(host, ip);
    std::thread::spawn(move || work(accept(&listener)))
}

fn accept(listener: &TcpListener) -> TcpStream {
    listener.set_nonblocking(true).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false).unwrap();
                return stream;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) => panic!("no connection was accepted: {error}"),
        }
    }
}

/// Reads to the end.
pub fn discard(mut stream: TcpStream) -> Heard {
    let mut room = vec![0; 1 << 18];
    let mut bytes = 0;
    loop {
        match stream.read(&mut room) {
            Ok(0) => return Heard { bytes, reset: false },
            Ok(some) => bytes += some as u64,
            Err(error) if error.kind() == ErrorKind::ConnectionReset => {
                return Heard { bytes, reset: true };
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// Many connections in one host: one thread accepts, one reads them all to their ends.
pub struct Crowd {
    acceptor: JoinHandle<()>,
    reader: JoinHandle<Vec<Heard>>,
    address: SocketAddr,
    host: Host,
}

impl Crowd {
    pub fn start(host: &Host, ip: IpAddr) -> Self {
        let listener = listen(host, ip);
        let (send, receive) = std::sync::mpsc::channel();
        let acceptor = std::thread::spawn(move || {
            loop {
                let (stream, peer) = listener.accept().unwrap();
                if peer.ip() == ip {
                    return;
                }
                stream.set_nonblocking(true).unwrap();
                send.send(stream).unwrap();
            }
        });
        let reader = std::thread::spawn(move || read_all(&receive));
        let address = SocketAddr::new(ip, PORT);
        Self { acceptor, reader, address, host: host.clone() }
    }

    /// What each connection came to.
    pub fn join(self) -> Vec<Heard> {
        // A connection from the host itself ends the acceptor, after those that wait in its queue.
        self.host.run(|| TcpStream::connect(self.address).unwrap()).unwrap();
        self.acceptor.join().unwrap();
        self.reader.join().unwrap()
    }
}

fn read_all(streams: &std::sync::mpsc::Receiver<TcpStream>) -> Vec<Heard> {
    let mut room = vec![0; 1 << 18];
    let (mut open, mut ended) = (Vec::new(), Vec::new());
    let mut more = true;
    while more || !open.is_empty() {
        match streams.recv_timeout(Duration::from_millis(1)) {
            Ok(stream) => open.push((stream, 0)),
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {}
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => more = false,
        }
        open.extend(streams.try_iter().map(|stream| (stream, 0)));
        open.retain_mut(|(stream, bytes)| {
            let end = read_some(stream, bytes, &mut room);
            ended.extend(end);
            end.is_none()
        });
    }
    ended
}

/// What is there now; an answer at the end.
fn read_some(stream: &mut TcpStream, bytes: &mut u64, room: &mut [u8]) -> Option<Heard> {
    match stream.read(room) {
        Ok(0) => Some(Heard { bytes: *bytes, reset: false }),
        Ok(some) => {
            *bytes += some as u64;
            None
        }
        Err(error) if error.kind() == ErrorKind::WouldBlock => None,
        Err(error) if error.kind() == ErrorKind::ConnectionReset => {
            Some(Heard { bytes: *bytes, reset: true })
        }
        Err(error) => panic!("{error}"),
    }
}

/// One flow of `bytes` bytes, with enough time for a loaded machine.
pub fn config(ip: IpAddr, bytes: u64) -> Config {
    let mut config = Config::new("eth0", SocketAddr::new(ip, PORT));
    config.bytes = Some(bytes);
    config.duration = Some(PATIENCE);
    config
}

pub fn start(host: &Host, config: &Config) -> Run {
    let run = host.run(|| Run::start(config)).unwrap();
    run.unwrap_or_else(|error| panic!("{error}"))
}

pub fn run(host: &Host, config: &Config) -> Report {
    start(host, config).wait().unwrap()
}

/// Waits until the run has come so far.
pub fn until(run: &Run, what: &str, mut is_so: impl FnMut(&Snapshot) -> bool) {
    let start = Instant::now();
    loop {
        let now = run.snapshot().unwrap();
        if is_so(&now) {
            return;
        }
        assert!(start.elapsed() < PATIENCE, "{what}: {:?}", Brief(&now));
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A snapshot without its histogram, which has thousands of buckets.
pub struct Brief<'a>(pub &'a Snapshot);

impl std::fmt::Debug for Brief<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let rtt_ns = traffic::Histogram::from_counts([]);
        let brief = Snapshot { rtt_ns, ..self.0.clone() };
        let text = format!("{brief:?}");
        f.write_str(text.split(", rtt_ns").next().unwrap_or_default())
    }
}

/// An XDP program that changes each `nth` TCP packet over untagged IPv4.
pub struct Nth {
    _object: Object,
    _link: kernel::Link,
}

impl Nth {
    /// Loses each `nth`.
    pub fn loses(host: &Host, interface: &str, nth: i32) -> Self {
        Self::attach(host, interface, nth, |a| a.verdict(Verdict::Drop))
    }

    /// Sends each `nth` out of another interface, to `mac`: it overtakes those that go through the
    /// stack.
    pub fn overtakes(host: &Host, interface: &str, nth: i32, out: &str, mac: [u8; 6]) -> Self {
        let out = host.ifindex(out).unwrap();
        Self::attach(host, interface, nth, |a| {
            for (at, byte) in (0..).zip(mac) {
                a.store8(R2.at(at), byte);
            }
            a.mov(R1, out.0 as i32).mov(R2, 0).call(Helper::REDIRECT).exit()
        })
    }

    fn attach(
        host: &Host,
        interface: &str,
        nth: i32,
        act: impl FnOnce(&mut Assembler) -> &mut Assembler,
    ) -> Self {
        let mut object = asm::Object::new("nth", "GPL");
        object.map(MapDef {
            name: "seen".into(),
            kind: MapKind::ARRAY,
            key_size: 4,
            value_size: 8,
            max_entries: 1,
            ..MapDef::default()
        });
        object.program(counting(nth, act));
        let object = Object::load(&object.finish().unwrap(), &LoadOptions::default()).unwrap();
        let ifindex = host.ifindex(interface).unwrap();
        let program = object.program("nth").unwrap();
        let attach = Attach { ifindex, program, mode: Mode::Native, replace: Replace::No };
        let link = host.run(|| kernel::attach(&attach)).unwrap().unwrap();
        Self { _object: object, _link: link }
    }
}

fn counting(nth: i32, act: impl FnOnce(&mut Assembler) -> &mut Assembler) -> Assembler {
    let mut a = Assembler::new("nth", ProgramKind::XDP);
    let pass = a.label();
    a.mov(R7, R1).load_map_value(R6, "seen", 0);
    a.packet(R2, R3, R7).need(R2, R3, 54, R4, pass);
    a.load16(R4, R2.at(12)).be16(R4).jump_if(R4, Cond::Ne, 0x0800, pass);
    a.load8(R4, R2.at(23)).jump_if(R4, Cond::Ne, 6, pass);
    a.load64(R5, R6.at(0)).add(R5, 1).store64(R6.at(0), R5);
    a.rem(R5, nth).jump_if(R5, Cond::Ne, 0, pass);
    act(&mut a);
    a.bind(pass).verdict(Verdict::Pass);
    a
}
