//! A TCP endpoint of Linux in a namespace, whose peer is written frame by frame.
//!
//! The peer has an address that no host has, so that nothing else answers for it. What the endpoint
//! does is read from `/proc/net/tcp` and from the frames that it sends. A ping after each answer
//! shows that it was processed: frames of one veth pair remain in order.

use std::cell::RefCell;
use std::io::Write;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

use lab::frame::{Flow, Side as FrameSide};
use lab::{Capture, TwoHosts};

use super::answer::{ACK, FIN, RST, SYN};
use super::{Answer, Case, Effect, Side, State};

/// The endpoint is host `a`; its peer is written at host `b`.
#[derive(Debug)]
pub struct Linux {
    net: TwoHosts,
    wire: Capture,
    /// Each connection has a port of the peer to itself.
    port: u16,
    pings: u16,
    /// The last case, and its connection if the answer did not change it.
    unchanged: Option<(Case, Connection)>,
}

/// A connection on its way through the states.
#[derive(Debug)]
struct Connection {
    connecting: Option<JoinHandle<Option<Option<TcpStream>>>>,
    stream: Option<TcpStream>,
    side: Side,
    is_ipv6: bool,
    /// In the case's state.
    row: Row,
}

/// The fields of a segment of the endpoint.
#[derive(Clone, Copy, Debug)]
struct Sent {
    port: u16,
    sequence: u32,
    acknowledges: u32,
    flags: u8,
    end: u32,
    stamp: u32,
}

/// A row of `/proc/net/tcp`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Row {
    state: u8,
    unacknowledged: u32,
    unread: u32,
}

impl Linux {
    pub fn new() -> Self {
        let net = TwoHosts::build(&crate::hostile::in_order()).unwrap();
        let mac = net.b.mac("eth0").unwrap().to_string();
        for peer in ["10.0.0.9", "fd00::9"] {
            let mut command = net.a.command("ip").unwrap();
            let words = ["neigh", "replace", peer, "lladdr", &mac, "dev", "eth0"];
            assert!(command.args(words).status().unwrap().success(), "ip {words:?}");
        }
        // By default responses to invalid segments are rate limited, so some would be missing.
        net.a.set_sysctl("ipv4/tcp_invalid_ratelimit", "0").unwrap();
        // A connection that is not answered fails within seconds.
        net.a.set_sysctl("ipv4/tcp_syn_retries", "2").unwrap();
        net.b.set_sysctl("ipv6/conf/eth0/disable_ipv6", "1").unwrap();
        let wire = Capture::open(&net.b, "eth0").unwrap();
        Self { net, wire, port: 999, pings: 0, unchanged: None }
    }

    /// What the case's answer does to a connection in its state. One that a former answer did not
    /// change is used again unless it should be `fresh`.
    pub fn take(&mut self, case: &Case, fresh: bool) -> Effect {
        let mut connection = match self.unchanged.take() {
            Some((of, connection)) if !fresh && of.has_same_connection(case) => connection,
            other => {
                if let Some((_, mut connection)) = other {
                    self.end(&mut connection, false, &[]);
                }
                self.reach(case)
            }
        };
        let before = connection.row;
        self.send(&case.answer.frame(&connection.side));
        let sent = self.settle(connection.side.peer.port());
        let after = self.row(&connection);
        let effect = effect(case, before, after, &sent);
        let marks = Effect { answers: effect.answers, resets: effect.resets, ..Effect::default() };
        if effect == marks && after == Some(before) {
            self.unchanged = Some((case.clone(), connection));
        } else {
            self.end(&mut connection, effect.is_established, &sent);
        }
        effect
    }

    fn send(&self, frame: &[u8]) {
        // Shorter ones than a header are not sent.
        let _refused = self.wire.send(frame);
    }

    /// Waits until all that was sent is processed; what the endpoint sent to this port meanwhile.
    fn settle(&mut self, port: u16) -> Vec<Sent> {
        self.pings = self.pings.wrapping_add(1);
        let side = |host: &lab::Host, ip: &str| FrameSide {
            mac: host.mac("eth0").unwrap(),
            ip: ip.parse().unwrap(),
            port: 1,
        };
        let flow = Flow::new(side(&self.net.b, PEER4), side(&self.net.a, OWN4));
        let mark = [MARK, &self.pings.to_be_bytes()].concat();
        self.send(&flow.ping(1, self.pings, &mark).unwrap());
        let seen = RefCell::new(Vec::new());
        let is_mark = |frame: &[u8]| {
            seen.borrow_mut().extend(parse(frame, port));
            frame.windows(mark.len()).any(|part| part == mark)
        };
        self.wire.next(PATIENCE, is_mark).unwrap();
        seen.into_inner()
    }

    /// The next segment to this port that is like that.
    fn next(&self, port: u16, what: impl Fn(&Sent) -> bool) -> Sent {
        let wanted = |frame: &[u8]| parse(frame, port).is_some_and(|sent| what(&sent));
        let frame = self.wire.next(PATIENCE, wanted).unwrap();
        parse(&frame, port).unwrap()
    }

    /// A new connection in the case's state.
    fn reach(&mut self, case: &Case) -> Connection {
        let mut connection = self.begin(case);
        if case.state != State::SynSent {
            self.advance(case, &mut connection);
        }
        self.settle(connection.side.peer.port());
        connection.row = self.row(&connection).expect("a connection");
        connection
    }

    /// Takes it from its SYN to the case's state.
    fn advance(&self, case: &Case, connection: &mut Connection) {
        self.open(case, connection);
        match case.state {
            State::FinWait1 => self.shut(connection),
            State::FinWait2 => {
                self.shut(connection);
                let answer = Answer { acknowledges: 1, ..Answer::default() };
                self.say(case, connection, answer);
                connection.side.una = connection.side.una.wrapping_add(1);
            }
            State::CloseWait => self.say(case, connection, fin()),
            State::Closing => {
                self.shut(connection);
                self.say(case, connection, fin());
            }
            State::LastAck => {
                self.say(case, connection, fin());
                self.shut(connection);
            }
            State::SynSent | State::Established => {}
        }
        if case.state.has_their_fin() {
            connection.side.next = connection.side.next.wrapping_add(1);
        }
    }

    /// Its SYN is sent.
    fn begin(&mut self, case: &Case) -> Connection {
        self.port = if self.port > 60_000 { 1000 } else { self.port + 1 };
        let (own, peer) = if case.is_ipv6 { (OWN6, PEER6) } else { (OWN4, PEER4) };
        let peer = SocketAddr::new(peer.parse().unwrap(), self.port);
        let connect = move || TcpStream::connect(peer).ok();
        let connecting = Some(self.net.a.spawn(connect).unwrap());
        let syn = self.next(self.port, |sent| sent.flags & SYN != 0);
        let mac = |host: &lab::Host| host.mac("eth0").unwrap();
        let side = Side {
            macs: [mac(&self.net.a), mac(&self.net.b)],
            peer,
            own: SocketAddr::new(own.parse().unwrap(), syn.port),
            una: syn.sequence,
            next: IRS,
            stamp: STAMP,
            echo: syn.stamp,
        };
        Connection { connecting, stream: None, side, is_ipv6: case.is_ipv6, row: Row::default() }
    }

    /// The connection is established and its data sent.
    fn open(&self, case: &Case, connection: &mut Connection) {
        let opening = Case { state: State::SynSent, sent: 0, ..case.clone() };
        self.send(
            &Answer { stamp: stamp(case, 0), ..Answer::expected(&opening) }.frame(&connection.side),
        );
        let thread = connection.connecting.take().unwrap();
        let mut stream = thread.join().unwrap().unwrap().expect("a connection");
        let side = &mut connection.side;
        side.una = side.una.wrapping_add(1);
        side.next = side.next.wrapping_add(1);
        if case.sent > 0 {
            stream.write_all(&vec![7; case.sent as usize]).unwrap();
            let end = side.una.wrapping_add(case.sent);
            self.next(side.peer.port(), |sent| sent.end == end);
        }
        connection.stream = Some(stream);
    }

    /// The endpoint sends its FIN.
    fn shut(&self, connection: &mut Connection) {
        connection.stream.as_ref().unwrap().shutdown(Shutdown::Write).unwrap();
        self.next(connection.side.peer.port(), |sent| sent.flags & FIN != 0);
    }

    /// The peer sends what is right.
    fn say(&self, case: &Case, connection: &mut Connection, answer: Answer) {
        let answer = Answer { stamp: stamp(case, 0), ..answer };
        self.send(&answer.frame(&connection.side));
    }

    fn row(&self, connection: &Connection) -> Option<Row> {
        let name = if connection.is_ipv6 { "tcp6" } else { "tcp" };
        let path = format!("/proc/thread-self/net/{name}");
        let text = self.net.a.run(|| std::fs::read_to_string(&path)).unwrap().unwrap();
        let ports = [connection.side.own.port(), connection.side.peer.port()];
        text.lines().skip(1).find_map(|line| row(line, ports))
    }

    /// Nothing of the connection is left.
    fn end(&mut self, connection: &mut Connection, is_established: bool, sent: &[Sent]) {
        let (side, mut rst) = (&connection.side, Answer { flags: RST, ..Answer::default() });
        if connection.connecting.is_some() && !is_established {
            rst = Answer { flags: RST | ACK, acknowledges: 1, ..Answer::default() };
        }
        let last = sent.iter().rev().find(|sent| sent.flags & (RST | ACK) == ACK);
        let next = last.map_or(side.next, |sent| sent.acknowledges);
        self.send(&rst.frame(&Side { next, ..*side }));
        let port = side.peer.port();
        self.settle(port);
        if let Some(thread) = connection.connecting.take() {
            drop(thread.join().unwrap());
        }
        drop(connection.stream.take());
        assert!(self.row(connection).is_none(), "a connection is left: {connection:?}");
    }
}

impl Default for Linux {
    fn default() -> Self {
        Self::new()
    }
}

fn fin() -> Answer {
    Answer { flags: FIN | ACK, ..Answer::default() }
}

fn stamp(case: &Case, value: i64) -> Option<(i64, i64)> {
    case.has_timestamps.then_some((value, 0))
}

fn effect(case: &Case, before: Row, after: Option<Row>, sent: &[Sent]) -> Effect {
    let mut effect = Effect {
        answers: sent.iter().any(|sent| sent.flags & RST == 0),
        resets: sent.iter().any(|sent| sent.flags & RST != 0),
        ..Effect::default()
    };
    let Some(after) = after else {
        // The last acknowledgement ends a connection, too.
        effect.is_reset = case.state != State::LastAck || case.answer.flags & RST != 0;
        effect.acknowledged = case.outstanding();
        return effect;
    };
    effect.is_established = case.state == State::SynSent && after.state != SYN_SENT;
    effect.acknowledged = before.unacknowledged.saturating_sub(after.unacknowledged);
    effect.received = after.unread.saturating_sub(before.unread);
    if after.state == TIME_WAIT {
        effect.acknowledged = case.outstanding();
        // It shows no queues; what it acknowledges is not compared.
        effect.received = u32::MAX;
    }
    effect
}

fn row(line: &str, ports: [u16; 2]) -> Option<Row> {
    let fields: Vec<_> = line.split_whitespace().collect();
    let hex = |text: &str| u32::from_str_radix(text, 16).ok();
    let port = |field: &str| hex(field.rsplit(':').next()?);
    if [port(fields.get(1)?)?, port(fields.get(2)?)?] != ports.map(u32::from) {
        return None;
    }
    let (unacknowledged, unread) = fields.get(4)?.split_once(':')?;
    let state = hex(fields.get(3)?)? as u8;
    Some(Row { state, unacknowledged: hex(unacknowledged)?, unread: hex(unread)? })
}

/// A segment from the endpoint to this port of its peer.
fn parse(frame: &[u8], port: u16) -> Option<Sent> {
    let (at, protocol, total) = match *frame.get(12..14)? {
        [0x08, 0x00] => (34, *frame.get(23)?, 14 + half(frame, 16)?),
        [0x86, 0xdd] => (54, *frame.get(20)?, 54 + half(frame, 18)?),
        _ => return None,
    };
    let tcp = frame.get(at..usize::from(total)).filter(|_| protocol == 6)?;
    if half(tcp, 2)? != port {
        return None;
    }
    let header = usize::from(tcp.get(12)? >> 4) * 4;
    let (flags, sequence) = (*tcp.get(13)?, word(tcp, 4)?);
    let marks = u32::from(flags & SYN != 0) + u32::from(flags & FIN != 0);
    let length = tcp.len().checked_sub(header)? as u32 + marks;
    let options = tcp.get(20..header)?;
    let stamp = options.windows(6).find(|part| part[..2] == [8, 10]);
    Some(Sent {
        port: half(tcp, 0)?,
        sequence,
        acknowledges: word(tcp, 8)?,
        flags,
        end: sequence.wrapping_add(length),
        stamp: stamp.and_then(|part| word(part, 2)).unwrap_or(0),
    })
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

const OWN4: &str = "10.0.0.1";
const OWN6: &str = "fd00::1";
const PEER4: &str = "10.0.0.9";
const PEER6: &str = "fd00::9";
const IRS: u32 = 0x7fff_fff0;
const STAMP: u32 = 0xffff_ff00;
const MARK: &[u8] = b"all that came before is processed";
const PATIENCE: Duration = Duration::from_secs(20);
/// `enum` of `include/net/tcp_states.h`.
const SYN_SENT: u8 = 2;
const TIME_WAIT: u8 = 6;
