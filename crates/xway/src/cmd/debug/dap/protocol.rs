//! Messages of the Debug Adapter Protocol: a header with the length, then JSON.
//!
//! Rule: whatever arrives, the result is a request, an error to be reported, or the end. Lengths
//! are bounded.

use std::io::{BufRead, Read as _, Write};

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

/// A request of the client.
#[derive(Debug, Deserialize)]
pub struct Request {
    pub seq: i64,
    pub command: String,
    #[serde(default)]
    pub arguments: Value,
}

/// What arrived.
#[derive(Debug)]
pub enum Received {
    Request(Request),
    /// JSON that is not a request.
    Malformed(String),
    End,
}

/// Reads a message.
///
/// # Errors
/// There is no valid header, so that the beginning of the next message is unknown.
pub fn receive(input: &mut impl BufRead) -> Result<Received> {
    let Some(length) = header(input)? else { return Ok(Received::End) };
    let mut body = vec![0; length];
    input.read_exact(&mut body).context("a message ends early")?;
    Ok(match serde_json::from_slice(&body) {
        Ok(request) => Received::Request(request),
        Err(error) => Received::Malformed(error.to_string()),
    })
}

/// The length of the body; `None` at the end of the input.
fn header(input: &mut impl BufRead) -> Result<Option<usize>> {
    let mut length = None;
    for number in 0..HEADER_LINES {
        let mut line = Vec::new();
        let mut limited = input.take(HEADER_BYTES);
        limited.read_until(b'\n', &mut line).context("cannot read standard input")?;
        if line.is_empty() && number == 0 {
            return Ok(None);
        }
        ensure!(line.ends_with(b"\n"), "a header of a message is incomplete or too long");
        let line = String::from_utf8_lossy(&line);
        match line.trim() {
            "" => {
                let length = length.context("a message has no Content-Length")?;
                ensure!(length <= BODY_BYTES, "a message of {length} bytes is too long");
                return Ok(Some(length));
            }
            line => {
                let (name, value) = line.split_once(':').unwrap_or((line, ""));
                if name.trim().eq_ignore_ascii_case("content-length") {
                    let value = value.trim();
                    let parsed = value.parse();
                    length = Some(parsed.with_context(|| format!("invalid length `{value}`"))?);
                }
            }
        }
    }
    bail!("a message has too many headers")
}

/// Writes messages and numbers them.
#[derive(Debug)]
pub struct Sender<W> {
    output: W,
    newest: i64,
}

impl<W: Write> Sender<W> {
    pub fn new(output: W) -> Self {
        Self { output, newest: 0 }
    }

    /// The result of a request.
    pub fn respond(&mut self, request: &Request, result: Result<Value>) -> Result<()> {
        let (request_seq, command) = (request.seq, &request.command);
        self.send(match result {
            Ok(body) => json!({
                "type": "response", "request_seq": request_seq, "success": true,
                "command": command, "body": body,
            }),
            Err(error) => {
                let text = format!("{error:#}");
                json!({
                    "type": "response", "request_seq": request_seq, "success": false,
                    "command": command, "message": text,
                    "body": {"error": {"id": 1, "format": text, "showUser": true}},
                })
            }
        })
    }

    pub fn event(&mut self, event: &str, body: &Value) -> Result<()> {
        self.send(json!({"type": "event", "event": event, "body": body}))
    }

    fn send(&mut self, mut message: Value) -> Result<()> {
        self.newest += 1;
        message["seq"] = self.newest.into();
        let body = serde_json::to_string(&message)?;
        write!(self.output, "Content-Length: {}\r\n\r\n{body}", body.len())
            .and_then(|()| self.output.flush())
            .context("cannot write to standard output")
    }
}

/// Lines of a header.
const HEADER_LINES: usize = 16;
/// Bytes of a line of a header.
const HEADER_BYTES: u64 = 1024;
/// Bytes of a message.
const BODY_BYTES: usize = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_and_others_refused() {
        let message = |body: &str| format!("Content-Length: {}\r\n\r\n{body}", body.len());
        let valid = message(r#"{"seq": 3, "type": "request", "command": "threads"}"#);
        let received = receive(&mut valid.as_bytes()).unwrap();
        assert!(matches!(received, Received::Request(Request { seq: 3, .. })));
        assert!(matches!(receive(&mut &b""[..]).unwrap(), Received::End));
        for body in ["", "[", "{}", "3", r#"{"seq": "x", "command": 1}"#, "\u{0}"] {
            let received = receive(&mut message(body).as_bytes()).unwrap();
            assert!(matches!(received, Received::Malformed(_)), "{body}");
        }
        let refused = [
            "x\r\n\r\n",
            "Content-Length: -1\r\n\r\n",
            "Content-Length: 99999999999999999999\r\n\r\n",
            "Content-Length: 5000000\r\n\r\n",
            "Content-Length: 5\r\n\r\n{}",
            "Content-Length: 5",
        ];
        for text in refused {
            assert!(receive(&mut text.as_bytes()).is_err(), "{text}");
        }
        assert!(receive(&mut "A: b\r\n".repeat(99).as_bytes()).is_err());
        assert!(receive(&mut "a".repeat(9999).as_bytes()).is_err());
    }
}
