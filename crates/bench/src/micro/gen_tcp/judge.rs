//! `Judge`: sockets of the kernel that read to the end, and how much that was.

use std::io::{ErrorKind, Read};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use lab::Host;

/// Accepts a number of connections and discards what they send.
pub struct Judge {
    acceptor: JoinHandle<Result<()>>,
    bytes: Arc<AtomicU64>,
}

impl Judge {
    /// Listens on a host for this number of connections.
    pub fn start(host: &Host, ip: IpAddr, connections: usize) -> Result<Self> {
        let listener = host.run(|| TcpListener::bind((ip, PORT)))??;
        let bytes = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&bytes);
        let acceptor =
            sys::thread::spawn("acceptor", move || accept(&listener, connections, &count))?;
        Ok(Self { acceptor, bytes })
    }

    /// Bits a second over the window, which begins when a second of data could have come.
    pub fn goodput(&self, window: Duration, mut is_running: impl FnMut() -> bool) -> Result<f64> {
        let deadline = Instant::now() + START;
        while self.bytes() < WARM_UP {
            ensure!(is_running() && Instant::now() < deadline, "hardly anything arrives");
            thread::sleep(Duration::from_millis(5));
        }
        let (start, before) = (Instant::now(), self.bytes());
        thread::sleep(window);
        let (after, seconds) = (self.bytes(), start.elapsed().as_secs_f64());
        ensure!(is_running(), "the sender ended early");
        Ok((after - before) as f64 * 8.0 / seconds)
    }

    /// After every connection has ended.
    pub fn join(self) -> Result<()> {
        self.acceptor.join().ok().context("the receiver panicked")?
    }

    fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

fn accept(listener: &TcpListener, connections: usize, bytes: &Arc<AtomicU64>) -> Result<()> {
    let mut readers = Vec::new();
    for _ in 0..connections {
        let (stream, _) = listener.accept()?;
        let bytes = Arc::clone(bytes);
        readers.push(sys::thread::spawn("reader", move || discard(stream, &bytes))?);
    }
    for reader in readers {
        reader.join().ok().context("a receiver panicked")??;
    }
    Ok(())
}

fn discard(mut stream: TcpStream, bytes: &AtomicU64) -> Result<()> {
    let mut room = vec![0; ROOM];
    loop {
        match stream.read(&mut room) {
            Ok(0) => return Ok(()),
            Ok(some) => bytes.fetch_add(some as u64, Ordering::Relaxed),
            // Some senders end so.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(()),
            Err(error) => return Err(error.into()),
        };
    }
}

/// Port that the receiver listens on.
pub const PORT: u16 = 5001;
/// A sender takes a while to get going.
pub const START: Duration = Duration::from_secs(10);
/// Bytes after which slow start is over on a link without delay.
const WARM_UP: u64 = 20_000_000;
const ROOM: usize = 1 << 18;
