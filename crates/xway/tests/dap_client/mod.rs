//! A client of the Debug Adapter Protocol, which tests of `debug --dap` share.
#![allow(dead_code, reason = "each test uses its part")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Command as Process, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use dap::base_message::{BaseMessage, Sendable};
use dap::events::{Event, StoppedEventBody};
use dap::requests::*;
use dap::responses::{Response, ResponseBody};
use dap::types::{Source, StackFrame, Variable};
use serde_json::{Value, json};

use crate::support::{Folder, object, udp};

const SOURCE: &str = include_str!("../../../../bpf/test/locals.bpf.c");

/// Launches the program of the tests over one packet.
pub fn launched(folder: &Folder) -> Client {
    launched_over(folder, 1)
}

pub fn launched_over(folder: &Folder, packets: usize) -> Client {
    launched_with(folder, ("test/locals", "locals_first"), packets)
}

pub fn launched_with(folder: &Folder, (file, program): (&str, &str), packets: usize) -> Client {
    let capture = folder.capture("in.pcapng", &vec![udp([10, 1, 0, 2], 53); packets]);
    let mut client = Client::start();
    let capabilities = client.ask(Command::Initialize(InitializeArguments::default()));
    let Some(ResponseBody::Initialize(capabilities)) = capabilities.body else { panic!() };
    assert_eq!(capabilities.supports_step_back, Some(true));
    let keys = json!({
        "object": object(file), "in": capture, "program": program,
        "type": "xway", "__sessionId": "1", "cpus": 1, "set": [], "nat-only": false,
    });
    let response = client.ask(Command::Launch(launch(keys)));
    assert!(response.success, "{response:?}");
    assert!(matches!(client.next_event(), Event::Initialized));
    client
}

pub fn launch(keys: Value) -> LaunchRequestArguments {
    LaunchRequestArguments { additional_data: Some(keys), ..LaunchRequestArguments::default() }
}

/// The source file, where an editor would have it.
pub fn source() -> Source {
    let path = "/project/bpf/test/locals.bpf.c".to_owned();
    Source { path: Some(path), ..Source::default() }
}

pub fn numbered(text: &str) -> i64 {
    SOURCE.lines().position(|line| line.contains(text)).unwrap() as i64 + 1
}

/// A child that is killed when the test ends. Each message has a deadline.
pub struct Client {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<BaseMessage>,
    events: Vec<Event>,
    responses: Vec<Response>,
    pub seq: i64,
}

impl Client {
    pub fn start() -> Self {
        let mut child = Process::new(env!("CARGO_BIN_EXE_xway"))
            .args(["debug", "--dap"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, messages) = channel();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        // It ends with the child's output.
        sys::thread::spawn("dap-client", move || {
            while let Some(message) = receive(&mut output) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        })
        .unwrap();
        let input = child.stdin.take();
        Self { child, input, messages, events: Vec::new(), responses: Vec::new(), seq: 0 }
    }

    /// The next request, which is to be sent.
    pub fn message(&mut self, command: Command) -> String {
        self.seq += 1;
        let body = serde_json::to_string(&Request { seq: self.seq, command }).unwrap();
        format!("Content-Length: {}\r\n\r\n{body}", body.len())
    }

    pub fn ask(&mut self, command: Command) -> Response {
        let message = self.message(command);
        self.send_raw(&message);
        self.response_of(self.seq)
    }

    pub fn send_raw(&mut self, text: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(text.as_bytes()).unwrap();
        input.flush().unwrap();
    }

    pub fn send_message(&mut self, body: &str) {
        self.send_raw(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
    }

    pub fn response_of(&mut self, seq: i64) -> Response {
        loop {
            if let Some(at) = self.responses.iter().position(|one| one.request_seq == seq) {
                return self.responses.remove(at);
            }
            self.take();
        }
    }

    pub fn next_event(&mut self) -> Event {
        while self.events.is_empty() {
            self.take();
        }
        self.events.remove(0)
    }

    pub fn stopped(&mut self) -> StoppedEventBody {
        loop {
            if let Event::Stopped(body) = self.next_event() {
                return body;
            }
        }
    }

    fn take(&mut self) {
        let message = self.messages.recv_timeout(DEADLINE).expect("a message before the deadline");
        match message.message {
            Sendable::Response(response) => self.responses.push(response),
            Sendable::Event(event) => self.events.push(event),
            Sendable::ReverseRequest(request) => panic!("{request:?}"),
        }
    }

    pub fn frames(&mut self) -> Vec<StackFrame> {
        let arguments = StackTraceArguments { thread_id: 1, ..StackTraceArguments::default() };
        let response = self.ask(Command::StackTrace(arguments));
        let Some(ResponseBody::StackTrace(trace)) = response.body else { panic!("{response:?}") };
        trace.stack_frames
    }

    pub fn variables(&mut self, variables_reference: i64) -> Vec<Variable> {
        let arguments = VariablesArguments { variables_reference, ..VariablesArguments::default() };
        let response = self.ask(Command::Variables(arguments));
        let Some(ResponseBody::Variables(opened)) = response.body else { panic!("{response:?}") };
        opened.variables
    }

    /// The value of an expression in a frame, or why it has none.
    pub fn evaluate_in(&mut self, expression: &str, frame: i64) -> Result<String, String> {
        let (expression, frame_id) = (expression.to_owned(), Some(frame));
        let arguments = EvaluateArguments { expression, frame_id, ..EvaluateArguments::default() };
        let response = self.ask(Command::Evaluate(arguments));
        match response.body {
            Some(ResponseBody::Evaluate(value)) if response.success => Ok(value.result),
            _ => Err(format!("{:?}", response.message)),
        }
    }

    pub fn evaluate(&mut self, expression: &str) -> String {
        let expression = expression.to_owned();
        let arguments = EvaluateArguments { expression, ..EvaluateArguments::default() };
        let response = self.ask(Command::Evaluate(arguments));
        let Some(ResponseBody::Evaluate(value)) = response.body else { panic!("{response:?}") };
        value.result
    }

    /// Exit code of the child, once its output has ended.
    pub fn end(mut self) -> Option<i32> {
        self.input = None;
        while self.messages.recv_timeout(DEADLINE).is_ok() {}
        self.child.wait().unwrap().code()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

fn receive(output: &mut BufReader<std::process::ChildStdout>) -> Option<BaseMessage> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        output.read_line(&mut line).ok().filter(|read| *read > 0)?;
        if line == "\r\n" {
            break;
        }
        if let Some(digits) = line.strip_prefix("Content-Length: ") {
            length = digits.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    output.read_exact(&mut body).ok()?;
    Some(serde_json::from_slice(&body).expect("the library reads the message"))
}

/// A run over this number of packets takes longer than a request.
pub const MANY: usize = 300_000;
const DEADLINE: Duration = Duration::from_secs(60);
