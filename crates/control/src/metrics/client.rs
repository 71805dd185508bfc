//! `Client`: one connection to the metrics endpoint, from its request to the end of the answer.
//!
//! Rule: no call blocks, and all three bounds hold for the whole connection: the bytes of the
//! request, the time until its end, and the time until the last byte of the answer is written.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use sys::poll::Watch;

use super::sheet::Format;

#[derive(Debug)]
pub(super) struct Client {
    stream: TcpStream,
    deadline: Instant,
    head: Vec<u8>,
    answer: Option<Answer>,
}

#[derive(Debug)]
struct Answer {
    bytes: Vec<u8>,
    sent: usize,
}

impl Client {
    /// A connection that is served until `deadline`.
    pub(super) fn new(stream: TcpStream, deadline: Instant) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self { stream, deadline, head: Vec::new(), answer: None })
    }

    /// The event that this connection waits for.
    pub(super) fn watch(&self) -> Watch<'_> {
        match self.answer {
            None => Watch::readable(self.fd()),
            Some(_) => Watch::writable(self.fd()),
        }
    }

    /// Whether the request is still incomplete.
    pub(super) fn is_asking(&self) -> bool {
        self.answer.is_none()
    }

    pub(super) fn is_late(&self, now: Instant) -> bool {
        now >= self.deadline
    }

    /// Reads and writes what is possible without waiting. `false` when the connection is finished,
    /// failed or out of time.
    pub(super) fn advance(&mut self, now: Instant, page: impl FnOnce(Format) -> String) -> bool {
        if self.is_late(now) {
            return false;
        }
        let worked = match &mut self.answer {
            None => self.read(page),
            Some(answer) => answer.write(&mut self.stream),
        };
        worked.unwrap_or_else(|error| is_temporary(&error))
    }

    /// `true` while the connection continues.
    fn read(&mut self, page: impl FnOnce(Format) -> String) -> io::Result<bool> {
        let mut part = [0; 512];
        let count = self.stream.read(&mut part)?;
        self.head.extend(&part[..count]);
        let is_complete = self.head.windows(4).any(|four| four == b"\r\n\r\n");
        if !is_complete && count > 0 && self.head.len() < HEAD_MAX {
            return Ok(true);
        }
        let bytes = respond(&self.head, page).into_bytes();
        self.answer.insert(Answer { bytes, sent: 0 }).write(&mut self.stream)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

impl Answer {
    /// `true` while there is more to write.
    fn write(&mut self, stream: &mut TcpStream) -> io::Result<bool> {
        self.sent += stream.write(&self.bytes[self.sent..])?;
        Ok(self.sent < self.bytes.len())
    }
}

fn is_temporary(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

fn respond(request: &[u8], page: impl FnOnce(Format) -> String) -> String {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut headers);
    let whole = parsed.parse(request).is_ok_and(|status| status.is_complete());
    let (Some(method), Some(path)) = (parsed.method.filter(|_| whole), parsed.path) else {
        return response("400 Bad Request", PLAIN, "invalid HTTP request\n", true);
    };
    let has_body = method != "HEAD";
    if !["GET", "HEAD"].contains(&method) {
        return response(
            "405 Method Not Allowed",
            PLAIN,
            "only GET and HEAD are supported\n",
            true,
        );
    }
    if path.split('?').next() != Some("/metrics") {
        return response("404 Not Found", PLAIN, "the metrics are at /metrics\n", has_body);
    }
    let format = accepted(parsed.headers);
    let kind = match format {
        Format::OpenMetrics => OPEN_METRICS,
        Format::Prometheus => TEXT_FORMAT,
    };
    response("200 OK", kind, &page(format), has_body)
}

/// OpenMetrics if the client names it, else the text format, which every client reads.
fn accepted(headers: &[httparse::Header<'_>]) -> Format {
    let mut accept = headers.iter().filter(|header| header.name.eq_ignore_ascii_case("accept"));
    let names = |header: &httparse::Header<'_>| {
        String::from_utf8_lossy(header.value).contains("application/openmetrics-text")
    };
    if accept.any(names) { Format::OpenMetrics } else { Format::Prometheus }
}

fn response(status: &str, kind: &str, body: &str, has_body: bool) -> String {
    let (length, body) = (body.len(), if has_body { body } else { "" });
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    )
}

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";
/// Header lines of a request that are read.
const HEADERS_MAX: usize = 64;
const PLAIN: &str = "text/plain; charset=utf-8";
/// Longest request head that is read, in bytes.
const HEAD_MAX: usize = 4096;
/// Time from accepting a connection to the last byte of the answer.
pub(super) const DEADLINE: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// A connection with a client at its other end.
    fn connected(now: Instant) -> (Client, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        peer.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        (Client::new(listener.accept().unwrap().0, now + DEADLINE).unwrap(), peer)
    }

    /// Waits until the connection has something to do, and does it.
    fn step(client: &mut Client, now: Instant, page: &str) -> bool {
        let patience = Some(Duration::from_secs(20));
        sys::poll::wait(&mut [client.watch()], patience).unwrap();
        client.advance(now, |_| page.to_owned())
    }

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
            ("GET /metrics HTTP/1.1\r\nno header\r\n\r\n", "400"),
        ] {
            let answer = respond(request.as_bytes(), |_| "a 1\n".into());
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request:?}: {answer}");
            assert_eq!(answer.ends_with("\r\n\r\na 1\n"), status == "200", "{answer}");
        }
    }

    #[test]
    fn the_format_is_negotiated_and_a_head_has_no_body() {
        let get = |method: &str, accept: &str| {
            let request = format!("{method} /metrics HTTP/1.1\r\naccept: {accept}\r\n\r\n");
            respond(request.as_bytes(), |format| format!("{format:?}"))
        };
        let open = get("GET", "application/openmetrics-text;version=1.0.0,text/plain;q=0.5");
        assert!(open.contains(OPEN_METRICS) && open.ends_with("OpenMetrics"), "{open}");
        let plain = get("GET", "*/*");
        assert!(plain.contains(TEXT_FORMAT) && plain.ends_with("Prometheus"), "{plain}");
        let head = get("HEAD", "*/*");
        assert!(head.contains("Content-Length: 10\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    }

    #[test]
    fn a_request_that_arrives_byte_by_byte_has_one_deadline() {
        let begin = Instant::now();
        let (mut client, mut peer) = connected(begin);
        let last = begin + DEADLINE - Duration::from_millis(1);
        for byte in b"GET /met" {
            peer.write_all(&[*byte]).unwrap();
            assert!(step(&mut client, last, "a 1\n"), "in time");
        }
        peer.write_all(b"r").unwrap();
        assert!(!step(&mut client, begin + DEADLINE, "a 1\n"), "progress does not extend the time");
    }

    #[test]
    fn an_answer_that_is_read_bit_by_bit_has_the_same_deadline() {
        let begin = Instant::now();
        let (mut client, mut peer) = connected(begin);
        let page = "a 1\n".repeat(16 << 20 >> 2);
        peer.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        assert!(step(&mut client, begin, &page), "the buffers cannot hold this page");
        let mut part = vec![0; 8 << 20];
        peer.read_exact(&mut part[..64 << 10]).unwrap();
        let late = begin + DEADLINE;
        assert!(!client.advance(late, |_| page.clone()), "progress does not extend the time");
    }

    #[test]
    fn a_request_without_an_end_is_refused_at_its_bound() {
        let begin = Instant::now();
        let (mut client, mut peer) = connected(begin);
        peer.write_all(&[b'x'; 2 * HEAD_MAX]).unwrap();
        while client.is_asking() {
            step(&mut client, begin, "");
        }
        assert!(client.head.len() <= HEAD_MAX + 512, "{}", client.head.len());
    }
}
