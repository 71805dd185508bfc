//! A service and its client: requests and replies of one byte each, which are counted.
//!
//! The measure of whether a service is alive, as TCP_RR and TCP_CRR of netperf are: one request
//! under way, over one connection or each over one of its own. The client may pause before each
//! request; without it two that share a processor take all of it. Rule: neither side outlives its
//! guard, and a network that swallows every packet delays the end only briefly. Sockets are
//! made by the caller, in the host's namespace.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use sys::poll::Watch;
use sys::priority::Priority;

use crate::error::{Error, Result};

/// Echoes every byte until it is dropped.
#[derive(Debug)]
pub struct Service {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Sends a request after each reply, until it is dropped.
#[derive(Debug)]
pub struct Client {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// How a client uses connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionMode {
    /// One connection, as long as replies arrive.
    Persistent,
    /// A new connection for each transaction, closed after its reply.
    PerTransaction,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    answers: AtomicU64,
    reconnects: AtomicU64,
}

impl Service {
    /// Serves `listener` from a thread on `cpu`; each connection gets a thread beside it.
    pub fn start(listener: TcpListener, cpu: usize) -> Result<Self> {
        let fail = |source| Error::Socket { what: "the service's listener", source };
        listener.set_nonblocking(true).map_err(fail)?;
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let thread = thread::Builder::new()
            .name("service".to_owned())
            .spawn(move || {
                settle(cpu);
                accept(&listener, &seen);
            })
            .map_err(fail)?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        join(self.thread.take());
    }
}

impl Client {
    /// Starts asking from a thread on `cpu`, `pause` after each answer. `connect` makes a
    /// connection in the client's namespace; it is called again when there is need of another
    /// one, such as when a connection breaks or is silent for a second.
    pub fn start(
        connect: impl Fn() -> io::Result<TcpStream> + Send + 'static,
        mode: ConnectionMode,
        cpu: usize,
        pause: Duration,
    ) -> Result<Self> {
        let fail = |source| Error::Socket { what: "the client's connection", source };
        let first = connect().and_then(prepare).map_err(fail)?;
        let shared = Arc::new(Shared::default());
        let seen = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("client".to_owned())
            .spawn(move || {
                settle(cpu);
                ask_until_stopped(first, &connect, (mode, pause), &seen);
            })
            .map_err(fail)?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Number of replies so far.
    pub fn answers(&self) -> u64 {
        self.shared.answers.load(Ordering::Relaxed)
    }

    /// Number of connections opened after the first one.
    pub fn reconnects(&self) -> u64 {
        self.shared.reconnects.load(Ordering::Relaxed)
    }

    /// Signals it to stop without waiting, so that several can end at the same time.
    pub(crate) fn end(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.end();
        join(self.thread.take());
    }
}

/// Pins the thread to its CPU with a higher priority. If that is not permitted, the thread works as
/// well, only less steadily.
fn settle(cpu: usize) {
    let _unsteady = sys::cpu::set_affinity(&[cpu]);
    let _unsteady = Priority::Nice(FAVOURED).give(0);
    let _uneven = sys::thread::sleep_precisely();
}

fn accept(listener: &TcpListener, stop: &Arc<AtomicBool>) {
    let mut threads = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((stream, _peer)) => {
                let stop = Arc::clone(stop);
                // Without a thread the connection is closed, and the client tries again.
                threads.extend(sys::thread::spawn("answer", move || answer(stream, &stop)));
            }
            Err(_none_yet) => wait(listener),
        }
        threads.retain(|thread: &JoinHandle<()>| !thread.is_finished());
    }
    threads.into_iter().for_each(|thread| join(Some(thread)));
}

/// For a connection, or until it is time to look whether to stop.
fn wait(listener: &TcpListener) {
    if sys::poll::wait(&mut [Watch::readable(listener.as_fd())], Some(PATIENCE)).is_err() {
        thread::park_timeout(PATIENCE);
    }
}

/// Serves one connection until it ends or the service does.
fn answer(stream: TcpStream, stop: &AtomicBool) {
    let Ok(mut stream) = stream.set_nonblocking(false).and_then(|()| prepare(stream)) else {
        return;
    };
    let mut buffer = [0; 64];
    while !stop.load(Ordering::Relaxed) {
        match stream.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) if stream.write_all(&buffer[..length]).is_err() => return,
            Err(error) if !is_silence(&error) => return,
            _ => {}
        }
    }
}

fn ask_until_stopped(
    first: TcpStream,
    connect: &impl Fn() -> io::Result<TcpStream>,
    (mode, pause): (ConnectionMode, Duration),
    shared: &Shared,
) {
    let mut stream = Some(first);
    while !shared.stop.load(Ordering::Relaxed) {
        if !pause.is_zero() {
            thread::sleep(pause);
        }
        let is_answered = stream.as_mut().is_some_and(|stream| ask(stream, shared).is_ok());
        if is_answered && mode == ConnectionMode::Persistent {
            continue;
        }
        drop(stream.take());
        stream = connect().and_then(prepare).ok();
        shared.reconnects.fetch_add(u64::from(stream.is_some()), Ordering::Relaxed);
    }
}

/// One request and its reply; an error if the connection cannot be used any longer.
fn ask(stream: &mut TcpStream, shared: &Shared) -> io::Result<()> {
    stream.write_all(b"?")?;
    let deadline = Instant::now() + SILENCE;
    let mut answer = [0; 1];
    loop {
        match stream.read(&mut answer) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(_) => {
                shared.answers.fetch_add(1, Ordering::Relaxed);
                return Ok(());
            }
            Err(error) if !is_silence(&error) || Instant::now() > deadline => return Err(error),
            Err(_) if shared.stop.load(Ordering::Relaxed) => return Ok(()),
            Err(_) => {}
        }
    }
}

fn prepare(stream: TcpStream) -> io::Result<TcpStream> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

fn is_silence(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Waits for a thread and resumes its panic, unless the caller is panicking already.
fn join(thread: Option<JoinHandle<()>>) {
    if let Some(Err(panic)) = thread.map(JoinHandle::join)
        && !thread::panicking()
    {
        std::panic::resume_unwind(panic);
    }
}

/// How long a thread waits before it looks whether it should stop.
const PATIENCE: Duration = Duration::from_millis(50);

/// Nice value of service and client: what else a machine does disturbs a measurement less.
pub(crate) const FAVOURED: i32 = -10;

/// A connection without a reply for this duration is closed.
const SILENCE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(mode: ConnectionMode) -> (Service, Client) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let service = Service::start(listener, 0).unwrap();
        let connect = move || TcpStream::connect(address);
        let client = Client::start(connect, mode, 0, Duration::ZERO).unwrap();
        (service, client)
    }

    fn wait_for(what: &str, condition: impl Fn() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while !condition() {
            assert!(Instant::now() < deadline, "{what}");
            thread::yield_now();
        }
    }

    #[test]
    fn counts_answers() {
        let (_service, client) = pair(ConnectionMode::Persistent);
        wait_for("no answers", || client.answers() > 100);
        assert_eq!(client.reconnects(), 0);
    }

    #[test]
    fn connects_for_each_answer_where_that_is_the_habit() {
        let (_service, client) = pair(ConnectionMode::PerTransaction);
        wait_for("no answers", || client.answers() > 20);
        assert!(client.reconnects() >= 20);
    }

    #[test]
    fn ends_although_the_service_went_first() {
        let (service, client) = pair(ConnectionMode::Persistent);
        wait_for("no answers", || client.answers() > 0);
        drop(service);
        let last = client.answers();
        drop(client);
        assert!(last > 0);
    }
}
