//! The connections of the client, in several threads.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use lab::{Host, until};

use super::{Moment, PORT, SERVICE};
use crate::stage::PATIENCE;

#[derive(Debug)]
pub struct Clients {
    host: Host,
    parts: Vec<Vec<Connection>>,
    /// The place, in each part, of the connection that begins anew next.
    next: usize,
}

/// A connection, with the backend that answered first.
#[derive(Debug)]
struct Connection {
    stream: io::Result<TcpStream>,
    /// When its SYN left.
    began: Instant,
    backend: Option<u8>,
}

/// What a round over all connections found.
#[derive(Debug, Default)]
pub struct Checked {
    /// Connections whose backend answered.
    pub answered: usize,
    /// Connections that ended because their backend was set down; they begin anew.
    pub ended_at_down: usize,
    /// What happened to connections that had begun just before a balancer died or returned.
    pub unsynced: Vec<String>,
    /// What happened to others; they begin anew.
    pub broken: Vec<String>,
}

impl Clients {
    /// Opens connections, one after another in each thread.
    pub fn open(host: &Host, connections: usize) -> Self {
        let shares =
            (0..PARTS).map(|part| connections / PARTS + usize::from(part < connections % PARTS));
        let open = |number: usize| {
            host.spawn(move || (0..number).map(|_| Connection::open()).collect::<Vec<_>>()).unwrap()
        };
        let threads: Vec<_> = shares.map(open).collect();
        let parts = threads.into_iter().map(|thread| thread.join().unwrap().unwrap()).collect();
        Self { host: host.clone(), parts, next: 0 }
    }

    /// Ends this number of connections and begins them anew.
    pub fn renew(&mut self, number: usize) {
        self.renew_during(number, || {});
    }

    /// As above, and `event` happens when half of them began.
    pub fn renew_during(&mut self, number: usize, event: impl FnOnce()) {
        let (each, next) = (number.div_ceil(PARTS), self.next);
        let begun = Arc::<AtomicUsize>::default();
        let threads = self.parts.drain(..).map(|mut part| {
            let begun = Arc::clone(&begun);
            let body = move || {
                for n in next..next + each {
                    begun.fetch_add(1, Ordering::AcqRel);
                    if !part.is_empty() {
                        let place = n % part.len();
                        part[place] = Connection::open();
                    }
                }
                part
            };
            self.host.spawn(body).unwrap()
        });
        let threads: Vec<_> = threads.collect();
        until("connections that begin", PATIENCE, || {
            Ok((begun.load(Ordering::Acquire) >= each * PARTS / 2).then_some(()))
        })
        .unwrap();
        event();
        let parts = threads.into_iter().map(|thread| thread.join().unwrap().unwrap());
        self.parts.extend(parts);
        self.next += each;
    }

    /// Sends a byte over each connection and reads the answers; these backends are down, and
    /// connections moved to another balancer before.
    pub fn check(&mut self, down: &[u8], moment: Option<Moment>) -> Checked {
        let threads = self.parts.drain(..).map(|mut part| {
            let down = down.to_vec();
            let body = move || {
                let mut checked = Checked::default();
                let asked: Vec<_> = part.iter_mut().map(Connection::ask).collect();
                for (connection, asked) in part.iter_mut().zip(asked) {
                    let was = connection.backend;
                    let answer = asked.and_then(|()| connection.answer());
                    if !checked.count(was, connection.began, answer, &down, moment) {
                        *connection = Connection::open();
                    }
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
            all.unsynced.extend(checked.unsynced);
            all.broken.extend(checked.broken);
        }
        all
    }
}

impl Checked {
    /// Returns whether the connection continues.
    fn count(
        &mut self,
        was: Option<u8>,
        began: Instant,
        answer: io::Result<u8>,
        down: &[u8],
        moment: Option<Moment>,
    ) -> bool {
        let reason = match answer {
            Ok(backend) if was.is_none_or(|was| was == backend) => {
                self.answered += 1;
                return true;
            }
            Ok(backend) => format!("backend {was:?} became {backend}"),
            Err(error) => format!("backend {was:?}: {error}"),
        };
        if was.is_some_and(|was| down.contains(&was)) {
            self.ended_at_down += 1;
        } else if let Some(excuse) = moment.and_then(|moment| moment.excuse(began)) {
            self.unsynced.push(format!("{excuse}: {reason}"));
        } else {
            self.broken.push(format!("{reason}, after {} ms", began.elapsed().as_millis()));
        }
        false
    }
}

impl Connection {
    fn open() -> Self {
        let began = Instant::now();
        let mut connection = Self { stream: connect(), began, backend: None };
        // One that fails is found broken at the next check.
        let _ = connection.ask().and_then(|()| connection.answer());
        connection
    }

    /// Requests the number of the backend.
    fn ask(&mut self) -> io::Result<()> {
        self.stream()?.write_all(&[0])
    }

    /// The number of the backend that answers.
    fn answer(&mut self) -> io::Result<u8> {
        let mut answer = [0];
        self.stream()?.read_exact(&mut answer)?;
        self.backend.get_or_insert(answer[0]);
        Ok(answer[0])
    }

    fn stream(&mut self) -> io::Result<&mut TcpStream> {
        self.stream.as_mut().map_err(|error| io::Error::new(error.kind(), error.to_string()))
    }
}

fn connect() -> io::Result<TcpStream> {
    let stream = TcpStream::connect((SERVICE, PORT))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(ANSWER))?;
    Ok(stream)
}

/// Threads.
const PARTS: usize = 16;
/// For an answer: a lost segment is sent again several times meanwhile.
const ANSWER: Duration = Duration::from_secs(30);
