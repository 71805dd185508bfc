//! The connections of the client, in several threads.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use lab::Host;

use super::{PORT, SERVICE};

#[derive(Debug)]
pub struct Clients {
    host: Host,
    parts: Vec<Vec<Connection>>,
    /// The part and the place of the connection that begins anew next.
    next: usize,
}

/// A connection, with the backend that answered first.
#[derive(Debug)]
struct Connection {
    stream: TcpStream,
    backend: Option<u8>,
}

/// What a round over all connections found.
#[derive(Debug, Default)]
pub struct Checked {
    /// Connections whose backend answered.
    pub answered: usize,
    /// Connections that ended because their backend was set down; they begin anew.
    pub ended_at_down: usize,
    /// What happened to others; they begin anew.
    pub broken: Vec<String>,
}

impl Clients {
    /// Opens connections, one after another in each thread.
    pub fn open(host: &Host, connections: usize) -> Self {
        let share = connections.div_ceil(PARTS);
        let open = |part: usize| {
            let number = share.min(connections.saturating_sub(part * share));
            let body = move || (0..number).map(|_| Connection::open()).collect::<Vec<_>>();
            host.spawn(body).unwrap()
        };
        let threads: Vec<_> = (0..PARTS).map(open).collect();
        let parts = threads.into_iter().map(|thread| thread.join().unwrap().unwrap()).collect();
        Self { host: host.clone(), parts, next: 0 }
    }

    /// Ends this number of connections and begins them anew.
    pub fn renew(&mut self, number: usize) {
        let (parts, begin) = (&mut self.parts, self.next);
        self.host
            .run(|| {
                for n in begin..begin + number {
                    let part = &mut parts[n % PARTS];
                    if !part.is_empty() {
                        let place = n / PARTS % part.len();
                        part[place] = Connection::open();
                    }
                }
            })
            .unwrap();
        self.next += number;
    }

    /// Sends a byte over each connection and reads the answer; these backends are down.
    pub fn check(&mut self, down: &[u8]) -> Checked {
        let threads = self.parts.drain(..).map(|mut part| {
            let down = down.to_vec();
            let body = move || {
                let mut checked = Checked::default();
                for connection in &mut part {
                    checked.count(connection, &down);
                }
                (part, checked)
            };
            self.host.spawn(body).unwrap()
        });
        let threads: Vec<_> = threads.collect();
        let mut all = Checked::default();
        for thread in threads {
            let (part, checked) = thread.join().unwrap().unwrap();
            self.parts.push(part);
            all.answered += checked.answered;
            all.ended_at_down += checked.ended_at_down;
            all.broken.extend(checked.broken);
        }
        all
    }
}

impl Checked {
    fn count(&mut self, connection: &mut Connection, down: &[u8]) {
        let was = connection.backend;
        let reason = match connection.ask() {
            Ok(backend) if was.is_none_or(|was| was == backend) => {
                self.answered += 1;
                return;
            }
            Ok(backend) => format!("backend {was:?} became {backend}"),
            Err(error) => format!("backend {was:?}: {error}"),
        };
        match was.is_some_and(|was| down.contains(&was)) {
            true => self.ended_at_down += 1,
            false => self.broken.push(reason),
        }
        *connection = Connection::open();
    }
}

impl Connection {
    fn open() -> Self {
        let stream = TcpStream::connect((SERVICE, PORT)).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(ANSWER)).unwrap();
        let mut connection = Self { stream, backend: None };
        // One that fails is found broken at the next check.
        let _ = connection.ask();
        connection
    }

    /// The number of the backend that answers.
    fn ask(&mut self) -> std::io::Result<u8> {
        self.stream.write_all(&[0])?;
        let mut answer = [0];
        self.stream.read_exact(&mut answer)?;
        self.backend.get_or_insert(answer[0]);
        Ok(answer[0])
    }
}

/// Threads.
const PARTS: usize = 16;
/// For an answer: a lost segment is sent again several times meanwhile.
const ANSWER: Duration = Duration::from_secs(30);
