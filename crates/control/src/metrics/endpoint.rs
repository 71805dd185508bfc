//! `Endpoint`: a page of metrics over HTTP, for as long as the value lives: the newest one that was
//! published, or one that is made for each request.
//!
//! One thread serves all connections without blocking in any. At most `CLIENTS_MAX` are open:
//! a further one replaces the oldest whose request is incomplete, or else the oldest, so that
//! neither idle connections nor slow readers keep a scraper out.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use sys::poll::{Watch, Woken};

use super::client::{Client, DEADLINE};
use super::sheet::converted;
use crate::error::{Context as _, Result};

/// An HTTP server for one page. Dropping it ends the server.
#[derive(Debug)]
pub struct Endpoint {
    address: SocketAddr,
    /// The published page.
    page: Arc<Mutex<String>>,
    /// Closing it ends the server.
    end: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

/// A function that makes a page as OpenMetrics.
type Source = Box<dyn FnMut() -> String + Send>;

impl Endpoint {
    /// Listens in the network namespace of the calling thread, and starts the server's thread. Port
    /// 0 selects a free port.
    ///
    /// # Errors
    /// The address is in use or does not belong to this host.
    pub fn start(address: SocketAddr) -> Result<Self> {
        let page = Arc::new(Mutex::new(String::new()));
        let newest = Arc::clone(&page);
        let source = move || newest.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Self::with(address, page, Box::new(source), DEADLINE)
    }

    /// As [`start`](Self::start), with pages that `source` makes in the server's thread, one for
    /// each request.
    ///
    /// # Errors
    /// The address is in use or does not belong to this host.
    pub fn serve(
        address: SocketAddr,
        source: impl FnMut() -> String + Send + 'static,
    ) -> Result<Self> {
        Self::with(address, Arc::default(), Box::new(source), DEADLINE)
    }

    /// Serves each connection for at most `time`.
    fn with(
        address: SocketAddr,
        page: Arc<Mutex<String>>,
        source: Source,
        time: Duration,
    ) -> Result<Self> {
        let listening = || -> io::Result<(TcpListener, SocketAddr)> {
            let listener = TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            Ok((listener, address))
        };
        let (listener, address) = listening()
            .with_context(|| format!("cannot listen on {address}: choose another port"))?;
        let (end, ended) = UnixStream::pair().context("cannot create a pair of sockets")?;
        let server = Server { listener, ended, source, time, clients: Vec::new() };
        let thread = thread::Builder::new()
            .name("metrics".into())
            .spawn(move || server.run())
            .context("cannot start the thread of the metrics endpoint")?;
        Ok(Self { address, page, end: Some(end), thread: Some(thread) })
    }

    /// The address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Replaces the page for later requests.
    pub fn publish(&self, page: String) {
        *self.page.lock().unwrap_or_else(PoisonError::into_inner) = page;
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            // A destructor cannot report; a panic was printed on standard error.
            let _ = thread.join();
        }
    }
}

struct Server {
    listener: TcpListener,
    /// Readable at the end.
    ended: UnixStream,
    source: Source,
    /// For which a connection is served.
    time: Duration,
    /// Open connections, the oldest first.
    clients: Vec<Client>,
}

impl Server {
    fn run(mut self) {
        loop {
            let ready = self.wait();
            if ready[0] {
                return;
            }
            let now = Instant::now();
            self.serve(&ready[2..], now);
            if ready[1] {
                self.accept(now);
            }
        }
    }

    /// Which descriptors are ready: the end first, then the listener, then each connection.
    fn wait(&self) -> Vec<bool> {
        let own = [self.ended.as_fd(), self.listener.as_fd()].map(Watch::readable);
        let mut watches: Vec<_> =
            own.into_iter().chain(self.clients.iter().map(Client::watch)).collect();
        let timeout = (!self.clients.is_empty()).then_some(POLL_INTERVAL);
        let woken = sys::poll::wait(&mut watches, timeout);
        let is_ready = matches!(woken, Ok(Woken::Ready(_)));
        watches.iter().map(|watch| is_ready && watch.is_ready()).collect()
    }

    fn serve(&mut self, ready: &[bool], now: Instant) {
        let (source, mut ready) = (&mut self.source, ready.iter());
        self.clients.retain_mut(|client| match ready.next() {
            Some(true) => client.advance(now, |format| converted(&source(), format)),
            _ => !client.is_late(now),
        });
    }

    fn accept(&mut self, now: Instant) {
        let Ok((stream, _)) = self.listener.accept() else { return };
        let Ok(client) = Client::new(stream, now + self.time) else { return };
        if self.clients.len() >= CLIENTS_MAX {
            let idle = self.clients.iter().position(Client::is_asking);
            self.clients.remove(idle.unwrap_or(0));
        }
        self.clients.push(client);
    }
}

/// Connections that are served at the same time.
const CLIENTS_MAX: usize = 16;
/// Longest time until a connection over its deadline is noticed.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use super::*;

    /// One whole request and its answer.
    fn scrape(endpoint: &Endpoint) -> String {
        let mut client = asking(endpoint, b"GET /metrics HTTP/1.0\r\n\r\n");
        client.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        let mut text = String::new();
        client.read_to_string(&mut text).unwrap();
        text
    }

    /// A connection that sent these bytes and does nothing more.
    fn asking(endpoint: &Endpoint, bytes: &[u8]) -> TcpStream {
        let mut client = TcpStream::connect(endpoint.address()).unwrap();
        client.write_all(bytes).unwrap();
        client
    }

    #[test]
    fn a_scrape_gets_the_newest_page() {
        let endpoint = Endpoint::start("127.0.0.1:0".parse().unwrap()).unwrap();
        endpoint.publish("old 1\n".into());
        endpoint.publish("new 2\n".into());
        let text = scrape(&endpoint);
        assert!(text.ends_with("new 2\n") && !text.contains("old"), "{text}");
    }

    #[test]
    fn silent_and_slow_clients_do_not_delay_a_scrape() {
        // None of these connections ends by its deadline during the test, so that only their
        // replacement lets the scrape pass, and a slow machine does not end the scrape.
        let page = format!("a{{b=\"{}\"}} 1\n", "c".repeat(4000)).repeat(2100);
        let shared = Arc::new(Mutex::new(page.clone()));
        let newest = Arc::clone(&shared);
        let source = Box::new(move || newest.lock().unwrap().clone());
        let address = "127.0.0.1:0".parse().unwrap();
        let endpoint = Endpoint::with(address, shared, source, Duration::from_secs(600)).unwrap();
        let begin: &[&[u8]] = &[b"", b"GET /met", b"GET /metrics HTTP/1.0\r\n\r\n"];
        // The page exceeds the buffers of a connection, and there are more connections than the
        // endpoint serves, so connections are replaced.
        let clients = begin.iter().cycle().take(3 * CLIENTS_MAX);
        let _held: Vec<_> = clients.map(|bytes| asking(&endpoint, bytes)).collect();
        assert!(scrape(&endpoint).ends_with(&page));
        endpoint.publish("a 2\n".into());
        assert!(scrape(&endpoint).ends_with("\r\n\r\na 2\n"));
    }

    #[test]
    fn an_address_in_use_is_an_error() {
        let first = Endpoint::start("127.0.0.1:0".parse().unwrap()).unwrap();
        let why = Endpoint::start(first.address()).unwrap_err().to_string();
        assert!(why.contains("cannot listen on 127.0.0.1:"), "{why}");
    }
}
