//! `Endpoint`: the newest page, over HTTP, for as long as the value lives.
//!
//! One thread answers one request at a time; a client has a second for its request, which has 4096
//! bytes at most, and reads one answer. Only `GET /metrics` is known.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

#[derive(Debug)]
pub struct Endpoint {
    address: SocketAddr,
    page: Arc<Mutex<String>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Endpoint {
    /// Listens in the namespace of the calling thread. Port 0 takes any that is free.
    pub fn start(address: SocketAddr) -> Result<Self> {
        let listening = || -> io::Result<(TcpListener, SocketAddr)> {
            let listener = TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            Ok((listener, address))
        };
        let (listener, address) = listening()
            .with_context(|| format!("cannot listen on {address}: choose another port"))?;
        let page = Arc::new(Mutex::new(String::new()));
        let over = Arc::new(AtomicBool::new(false));
        let (text, end) = (Arc::clone(&page), Arc::clone(&over));
        let thread = thread::Builder::new()
            .name("metrics".into())
            .spawn(move || serve(&listener, &text, &end))
            .context("cannot start the thread of the metrics endpoint")?;
        Ok(Self { address, page, over, thread: Some(thread) })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What is handed out from now on.
    pub fn publish(&self, page: String) {
        *self.page.lock().unwrap_or_else(PoisonError::into_inner) = page;
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            // A destructor cannot report; a panic was told on standard error.
            let _ = thread.join();
        }
    }
}

fn serve(listener: &TcpListener, page: &Mutex<String>, over: &AtomicBool) {
    while !over.load(Ordering::Acquire) {
        if !sys::poll::readable(listener.as_fd(), LOOK_EVERY).unwrap_or(false) {
            continue;
        }
        let Ok((client, _)) = listener.accept() else { continue };
        // A client that goes away, or dawdles, is its own problem.
        let _ = answer(client, page, over);
    }
}

fn answer(mut client: TcpStream, page: &Mutex<String>, over: &AtomicBool) -> io::Result<()> {
    client.set_nonblocking(false)?;
    client.set_write_timeout(Some(PATIENCE))?;
    client.set_read_timeout(Some(LOOK_EVERY))?;
    let request = read(&mut client, over)?;
    let page = || page.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let response = respond(&request, page);
    client.write_all(response.as_bytes())
}

/// The request's head, or as much of it as came in time.
fn read(client: &mut TcpStream, over: &AtomicBool) -> io::Result<Vec<u8>> {
    let begin = Instant::now();
    let mut head = Vec::new();
    let mut part = [0; 512];
    let unfinished = |head: &[u8]| !head.windows(4).any(|four| four == b"\r\n\r\n");
    while unfinished(&head) && head.len() < HEAD_MAX && begin.elapsed() < PATIENCE {
        match client.read(&mut part) {
            Ok(0) => break,
            Ok(count) => head.extend(&part[..count]),
            Err(error) if !waits(&error) => return Err(error),
            Err(_) if over.load(Ordering::Acquire) => break,
            Err(_) => {}
        }
    }
    Ok(head)
}

fn waits(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}

fn respond(request: &[u8], page: impl FnOnce() -> String) -> String {
    let end = request.iter().position(|byte| *byte == b'\r').unwrap_or(0);
    let line = String::from_utf8_lossy(&request[..end]);
    let words: Vec<&str> = line.split(' ').collect();
    match words.as_slice() {
        ["GET", path, _version] if path.split('?').next() == Some("/metrics") => {
            response("200 OK", CONTENT, &page())
        }
        ["GET", _, _] => response("404 Not Found", PLAIN, "the numbers are at /metrics\n"),
        [_, _, _] => response("405 Method Not Allowed", PLAIN, "only GET\n"),
        _ => response("400 Bad Request", PLAIN, "this is no HTTP request\n"),
    }
}

fn response(status: &str, kind: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    )
}

const CONTENT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";
const HEAD_MAX: usize = 4096;
const PATIENCE: Duration = Duration::from_secs(1);
/// How soon a request, or the end, is seen.
const LOOK_EVERY: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_page_is_handed_out() {
        for (request, status) in [
            ("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "200"),
            ("GET /metrics?x=1 HTTP/1.1\r\n\r\n", "200"),
            ("GET / HTTP/1.1\r\n\r\n", "404"),
            ("GET /metricsx HTTP/1.1\r\n\r\n", "404"),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405"),
            ("GET /metrics", "400"),
            ("", "400"),
        ] {
            let answer = respond(request.as_bytes(), || "a 1\n".into());
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request:?}: {answer}");
            assert_eq!(answer.ends_with("\r\n\r\na 1\n"), status == "200", "{answer}");
        }
    }

    #[test]
    fn a_scrape_gets_the_newest_page_and_a_mute_client_blocks_nobody_for_long() {
        let endpoint = Endpoint::start("127.0.0.1:0".parse().unwrap()).unwrap();
        endpoint.publish("old 1\n".into());
        endpoint.publish("new 2\n".into());
        let _mute = TcpStream::connect(endpoint.address()).unwrap();
        let mut client = TcpStream::connect(endpoint.address()).unwrap();
        client.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
        let mut text = String::new();
        client.read_to_string(&mut text).unwrap();
        assert!(text.ends_with("new 2\n") && !text.contains("old"), "{text}");
    }

    #[test]
    fn an_address_that_is_taken_is_an_error() {
        let first = Endpoint::start("127.0.0.1:0".parse().unwrap()).unwrap();
        let why = Endpoint::start(first.address()).unwrap_err().to_string();
        assert!(why.contains("cannot listen on 127.0.0.1:"), "{why}");
    }
}
