//! `xway debug --dap` as an editor drives it, with the types of a client library.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]
#![forbid(unsafe_code)]

mod support;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Command as Process, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use dap::base_message::{BaseMessage, Sendable};
use dap::events::{Event, StoppedEventBody};
use dap::requests::*;
use dap::responses::{Response, ResponseBody};
use dap::types::{
    DataBreakpoint, FunctionBreakpoint, InstructionBreakpoint, Source, SourceBreakpoint,
    StackFrame, SteppingGranularity, StoppedEventReason, Variable,
};
use serde_json::{Value, json};
use support::{Folder, object, udp};

const SOURCE: &str = include_str!("../../../bpf/test/locals.bpf.c");

#[test]
fn an_editor_stops_looks_and_goes_back() {
    let folder = Folder::new("dap-session");
    let mut client = launched(&folder);
    let write = numbered("data[11] ^= 0x55");
    let set = client.ask(Command::SetBreakpoints(SetBreakpointsArguments {
        source: source(),
        breakpoints: Some(vec![
            SourceBreakpoint { line: write, ..SourceBreakpoint::default() },
            SourceBreakpoint { line: 99_999, ..SourceBreakpoint::default() },
        ]),
        ..SetBreakpointsArguments::default()
    }));
    let Some(ResponseBody::SetBreakpoints(set)) = set.body else { panic!("{set:?}") };
    assert!(set.breakpoints[0].verified && set.breakpoints[0].line == Some(write));
    assert!(!set.breakpoints[1].verified && set.breakpoints[1].message.is_some());
    assert!(client.ask(Command::ConfigurationDone).success);
    assert!(matches!(client.stopped().reason, StoppedEventReason::Entry));

    client.ask(Command::Continue(ContinueArguments { thread_id: 1, single_thread: None }));
    let stopped = client.stopped();
    assert!(matches!(stopped.reason, StoppedEventReason::Breakpoint), "{stopped:?}");
    assert_eq!(stopped.hit_breakpoint_ids.as_ref().unwrap().len(), 1);
    let top = client.frames().remove(0);
    assert_eq!((top.name.as_str(), top.line), ("locals_first", write));
    assert_eq!(client.evaluate("packet[11]"), "hex:09");
    client.ask(Command::Next(NextArguments { thread_id: 1, ..NextArguments::default() }));
    assert!(matches!(client.stopped().reason, StoppedEventReason::Step));
    assert_eq!(client.evaluate("packet[11]"), "hex:5c");
    client
        .ask(Command::StepBack(StepBackArguments { thread_id: 1, ..StepBackArguments::default() }));
    client.stopped();
    assert_eq!(client.evaluate("packet[11]"), "hex:09");
    assert_eq!(client.frames().remove(0).line, write);
    client.ask(Command::ReverseContinue(ReverseContinueArguments {
        thread_id: 1,
        single_thread: None,
    }));
    let start = client.stopped();
    assert_eq!(start.text.as_deref(), Some("start of the capture"));
    assert!(client.ask(Command::Disconnect(DisconnectArguments::default())).success);
    assert_eq!(client.end(), Some(0));
}

#[test]
fn variables_open_step_by_step() {
    let folder = Folder::new("dap-variables");
    let mut client = launched(&folder);
    client.ask(Command::SetFunctionBreakpoints(SetFunctionBreakpointsArguments {
        breakpoints: vec![FunctionBreakpoint {
            name: "locals_last".to_owned(),
            condition: Some("ipv4.ttl == 64".to_owned()),
            ..FunctionBreakpoint::default()
        }],
    }));
    client.ask(Command::ConfigurationDone);
    client.stopped();
    client.ask(Command::Continue(ContinueArguments { thread_id: 1, single_thread: None }));
    let stopped = client.stopped();
    let StoppedEventReason::String(reason) = stopped.reason else { panic!("{stopped:?}") };
    assert_eq!(reason, "function breakpoint");
    let scopes = client.ask(Command::Scopes(ScopesArguments { frame_id: 1 }));
    let Some(ResponseBody::Scopes(scopes)) = scopes.body else { panic!("{scopes:?}") };
    let named = |name: &str| {
        scopes.scopes.iter().find(|scope| scope.name == name).unwrap().variables_reference
    };
    let registers = client.variables(named("Registers"));
    assert!(registers.iter().any(|one| one.name == "r1" && one.value == "ctx"), "{registers:?}");
    let globals = client.variables(named("Globals"));
    assert!(globals.iter().any(|one| one.name == "total" && one.value == "34"), "{globals:?}");
    let headers = client.variables(named("Packet"));
    let ipv4 = headers.iter().find(|one| one.name == "ipv4").unwrap();
    let fields = client.variables(ipv4.variables_reference);
    let destination = fields.iter().find(|one| one.name == "dst").unwrap();
    assert_eq!(destination.value, "10.1.0.2");
    assert_eq!(destination.evaluate_name.as_deref(), Some("ipv4.dst"));
    let maps = client.variables(named("Maps"));
    let counts = maps.iter().find(|one| one.name == "counts").unwrap();
    let entries = client.variables(counts.variables_reference);
    assert_eq!((entries[0].name.as_str(), entries.len()), ("3", 1));
    let parts = client.variables(entries[0].variables_reference);
    assert_eq!(parts[1].evaluate_name.as_deref(), Some("map counts[3].bytes"));
    assert_eq!(client.evaluate("map counts[3].bytes"), "60");
    let gone = client.ask(Command::Variables(VariablesArguments {
        variables_reference: 9999,
        ..VariablesArguments::default()
    }));
    assert!(!gone.success);
}

#[test]
fn data_instructions_and_verdicts_stop_a_run() {
    let folder = Folder::new("dap-data");
    let mut client = launched(&folder);
    let info = client.ask(Command::DataBreakpointInfo(DataBreakpointInfoArguments {
        name: "total".to_owned(),
        ..DataBreakpointInfoArguments::default()
    }));
    let Some(ResponseBody::DataBreakpointInfo(info)) = info.body else { panic!("{info:?}") };
    client.ask(Command::SetDataBreakpoints(SetDataBreakpointsArguments {
        breakpoints: vec![DataBreakpoint {
            data_id: info.data_id.unwrap(),
            ..DataBreakpoint::default()
        }],
    }));
    client.ask(Command::SetExceptionBreakpoints(SetExceptionBreakpointsArguments {
        filters: vec!["pass".to_owned()],
        ..SetExceptionBreakpointsArguments::default()
    }));
    client.ask(Command::ConfigurationDone);
    client.stopped();
    let forward = || Command::Continue(ContinueArguments { thread_id: 1, single_thread: None });
    client.ask(forward());
    let stopped = client.stopped();
    assert_eq!(stopped.text.as_deref(), Some("total: 0 → 34"));
    let pointer = client.frames()[0].instruction_pointer_reference.clone().unwrap();
    let listing = client.ask(Command::Disassemble(DisassembleArguments {
        memory_reference: pointer.clone(),
        instruction_offset: Some(-1),
        instruction_count: 3,
        ..DisassembleArguments::default()
    }));
    let Some(ResponseBody::Disassemble(listing)) = listing.body else { panic!("{listing:?}") };
    assert_eq!(listing.instructions.len(), 3);
    assert_eq!(listing.instructions[1].address, pointer);
    let next = listing.instructions[2].address.clone();
    client.ask(Command::SetInstructionBreakpoints(SetInstructionBreakpointsArguments {
        breakpoints: vec![InstructionBreakpoint {
            instruction_reference: next.clone(),
            ..InstructionBreakpoint::default()
        }],
    }));
    client.ask(forward());
    client.stopped();
    assert_eq!(client.frames()[0].instruction_pointer_reference.as_deref(), Some(next.as_str()));
    client.ask(Command::Next(NextArguments {
        thread_id: 1,
        granularity: Some(SteppingGranularity::Instruction),
        ..NextArguments::default()
    }));
    client.stopped();
    client.ask(forward());
    let stopped = client.stopped();
    assert!(matches!(stopped.reason, StoppedEventReason::Exception), "{stopped:?}");
    assert_eq!(client.frames()[0].name, "packet 1: verdict pass");
    client.ask(forward());
    assert_eq!(client.stopped().text.as_deref(), Some("end of the capture"));
}

/// The launch configuration of the documentation, with this object and capture.
#[test]
fn the_documented_configuration_launches() {
    let folder = Folder::new("dap-launch-json");
    let text = include_str!("../../../docs/debug.md");
    let blocks = text.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let files: Vec<Value> = blocks.filter_map(|block| serde_json::from_str(block).ok()).collect();
    let extension = files.iter().find(|file| !file["contributes"].is_null()).unwrap();
    let debugger = &extension["contributes"]["debuggers"][0];
    assert_eq!(debugger["args"], json!(["debug", "--dap"]), "as `Client::start` has them");
    let file = files.iter().find(|file| !file["configurations"].is_null()).unwrap();
    let mut keys = file["configurations"][0].clone();
    assert_eq!(keys["type"], debugger["type"]);
    // The object has other names, and no variable to be set.
    keys["object"] = object("test/locals").into();
    keys["in"] = folder.capture("in.pcapng", &[udp([10, 1, 0, 2], 53)]).into();
    keys["source"] = folder.path().to_str().unwrap().into();
    keys["program"] = "locals_first".into();
    keys["set"] = json!(["runs=7"]);
    let mut client = Client::start();
    client.ask(Command::Initialize(InitializeArguments::default()));
    let response = client.ask(Command::Launch(launch(keys)));
    assert!(response.success, "{response:?}");
    assert!(matches!(client.next_event(), Event::Initialized));
    client.ask(Command::ConfigurationDone);
    assert!(matches!(client.stopped().reason, StoppedEventReason::Entry));
    assert_eq!(client.evaluate("runs"), "7");
}

/// Each frame has its variables, and expressions are of the frame that they name.
#[test]
fn each_frame_has_its_scopes() {
    let folder = Folder::new("dap-frames");
    let mut client = launched_with(&folder, ("test/frames", "frames_first"), 1);
    client.ask(Command::SetFunctionBreakpoints(SetFunctionBreakpointsArguments {
        breakpoints: vec![FunctionBreakpoint {
            name: "inspect".to_owned(),
            condition: Some("flags->rest != 0".to_owned()),
            ..FunctionBreakpoint::default()
        }],
    }));
    client.ask(Command::ConfigurationDone);
    client.stopped();
    client.ask(Command::Continue(ContinueArguments { thread_id: 1, single_thread: None }));
    client.stopped();
    let frames = client.frames();
    let names: Vec<_> = frames.iter().map(|frame| frame.name.as_str()).collect();
    assert_eq!(names, ["inspect", "fold", "describe", "frames_first"]);
    let mut locals = |frame_id: i64| {
        let scopes = client.ask(Command::Scopes(ScopesArguments { frame_id }));
        let Some(ResponseBody::Scopes(scopes)) = scopes.body else { panic!("{scopes:?}") };
        let locals = scopes.scopes.iter().find(|scope| scope.name == "Locals").unwrap();
        client.variables(locals.variables_reference)
    };
    let find = |all: &[Variable], name: &str| {
        all.iter().find(|one| one.name == name).map(|one| one.value.clone()).unwrap()
    };
    let fold = locals(frames[1].id);
    let describe = locals(frames[2].id);
    assert_eq!(find(&describe, "outer"), find(&fold, "value"));
    assert!(find(&describe, "span").contains("start: <optimized out>"), "{describe:?}");
    let outermost = locals(frames[3].id);
    assert_eq!(find(&outermost, "kind"), "KIND_OTHER");
    assert_eq!(client.evaluate_in("outer", frames[2].id), Ok(find(&describe, "outer")));
    assert_eq!(client.evaluate_in("flags.offset", frames[3].id), Ok("-9".to_owned()));
    let error = client.evaluate_in("outer", frames[3].id).unwrap_err();
    assert!(error.contains("there is no variable"), "{error}");
    for id in [0, 99, -1] {
        assert!(client.evaluate_in("1", id).is_err(), "{id}");
        assert!(!client.ask(Command::Scopes(ScopesArguments { frame_id: id })).success, "{id}");
    }
}

/// What is not supported is not announced, and refused.
#[test]
fn variables_are_not_set() {
    let folder = Folder::new("dap-set");
    let mut client = Client::start();
    let response = client.ask(Command::Initialize(InitializeArguments::default()));
    let Some(ResponseBody::Initialize(capabilities)) = response.body else { panic!() };
    assert!(capabilities.supports_set_variable != Some(true));
    assert!(capabilities.supports_set_expression != Some(true));
    assert!(capabilities.supports_restart_frame != Some(true));
    drop(client);
    let mut client = launched(&folder);
    let body = json!({"seq": 900, "type": "request", "command": "setVariable", "arguments": {
        "variablesReference": 1, "name": "total", "value": "3",
    }});
    client.send_message(&body.to_string());
    let refused = client.response_of(900);
    assert!(!refused.success && refused.message.is_some(), "{refused:?}");
}

/// Backward to the last write of a variable, under a condition.
#[test]
fn a_run_goes_back_to_a_write() {
    let folder = Folder::new("dap-back");
    let mut client = launched_over(&folder, 3);
    client.ask(Command::SetDataBreakpoints(SetDataBreakpointsArguments {
        breakpoints: vec![DataBreakpoint {
            data_id: "total".to_owned(),
            condition: Some("$packet == 2".to_owned()),
            ..DataBreakpoint::default()
        }],
    }));
    client.ask(Command::ConfigurationDone);
    client.stopped();
    client.ask(Command::Continue(ContinueArguments { thread_id: 1, single_thread: None }));
    assert_eq!(client.stopped().text.as_deref(), Some("total: 34 → 68"));
    client.ask(Command::SetDataBreakpoints(SetDataBreakpointsArguments {
        breakpoints: vec![DataBreakpoint {
            data_id: "map counts[3].bytes".to_owned(),
            ..DataBreakpoint::default()
        }],
    }));
    let back =
        || Command::ReverseContinue(ReverseContinueArguments { thread_id: 1, single_thread: None });
    client.ask(back());
    let start = client.stopped();
    assert_eq!(start.text.as_deref(), Some("start of the capture"), "no write changed an entry");
    client.ask(Command::Continue(ContinueArguments { thread_id: 1, single_thread: None }));
    assert_eq!(client.stopped().text.as_deref(), Some("map counts[3].bytes: 60 → 120"));
    assert_eq!(client.evaluate("$packet"), "2");
    client.ask(back());
    assert_eq!(client.stopped().text.as_deref(), Some("map counts[3].bytes: 120 → 60"));
    assert_eq!(client.evaluate("map counts[3].bytes"), "60");
}

/// Requests before a launch, wrong lengths and huge ones end the process or are refused; nothing
/// hangs, and the exit code is that of an error.
#[test]
fn hostile_streams_end() {
    let folder = Folder::new("dap-hostile");
    let endings: [&str; 8] = [
        "Content-Length: 18446744073709551615\r\n\r\n{}",
        "Content-Length: -5\r\n\r\n{}",
        "Content-Length: 10\r\n\r\n{}",
        "Content-Length: 4194305\r\n\r\n",
        "Content-Type: x\r\n\r\n{}",
        "{\"seq\": 1, \"command\": \"threads\"}\n\n",
        "\u{0}\u{1}\u{ffff}\n\n",
        "Content-Length: 2\r\n",
    ];
    for text in endings {
        for is_launched in [false, true] {
            let mut client = if is_launched { launched(&folder) } else { Client::start() };
            client.send_raw(text);
            assert_eq!(client.end(), Some(2), "{text:?}, launched: {is_launched}");
        }
    }
    // Before anything is launched, each request is refused by name.
    let mut client = Client::start();
    let early = ["stackTrace", "continue", "evaluate", "configurationDone", "pause", "nonsense"];
    for (seq, command) in (1..).zip(early) {
        client.send_message(&json!({"seq": seq, "command": command}).to_string());
        let refused = client.response_of(seq);
        assert!(!refused.success && refused.message.is_some(), "{refused:?}");
    }
    // Deeply nested JSON is a malformed message, not a full stack.
    let deep = "[".repeat(100_000);
    client.send_message(&deep);
    assert!(matches!(client.next_event(), Event::Output(_)));
    assert!(client.ask(Command::Disconnect(DisconnectArguments::default())).success);
    assert_eq!(client.end(), Some(0));
}

/// The client's pipe closes during a run over a long capture.
#[test]
fn a_client_that_vanishes_ends_a_run() {
    let folder = Folder::new("dap-vanish");
    let mut client = launched_over(&folder, MANY);
    client.ask(Command::ConfigurationDone);
    client.stopped();
    client.ask(Command::SetExceptionBreakpoints(SetExceptionBreakpointsArguments {
        filters: vec!["fault".to_owned()],
        ..SetExceptionBreakpointsArguments::default()
    }));
    client.ask(Command::Continue(ContinueArguments { thread_id: 1, single_thread: None }));
    assert_eq!(client.end(), Some(0));
}

/// The text of a file that only the object has.
#[test]
fn source_comes_from_the_object() {
    let folder = Folder::new("dap-source");
    let mut client = launched(&folder);
    client.ask(Command::ConfigurationDone);
    client.stopped();
    // The library does not read the reference: it expects `source_reference`.
    assert_eq!(client.frames()[0].source.as_ref().unwrap().name.as_deref(), Some("locals.bpf.c"));
    let text = client.ask(Command::Source(SourceArguments { source_reference: 1, source: None }));
    let Some(ResponseBody::Source(text)) = text.body else { panic!("{text:?}") };
    let line = numbered("runs += 1") as usize;
    assert_eq!(text.content.lines().nth(line - 1).unwrap().trim(), "runs += 1;");
    let threads = client.ask(Command::Threads);
    assert!(
        matches!(threads.body, Some(ResponseBody::Threads(threads)) if threads.threads.len() == 1)
    );
}

#[test]
fn malformed_input_is_an_error_and_no_panic() {
    let folder = Folder::new("dap-malformed");
    let mut client = Client::start();
    let refused = client.ask(Command::Launch(launch(json!({"in": "x"}))));
    assert!(!refused.success, "{refused:?}");
    let refused =
        client.ask(Command::Launch(launch(json!({"object": "x", "in": "y", "colour": 3}))));
    assert!(!refused.success, "{refused:?}");
    assert!(!client.ask(Command::Threads).success, "nothing was launched");
    for body in ["", "null", "[]", "{\"seq\": {}}", "\u{0}\u{0}"] {
        client.send_raw(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
        assert!(matches!(client.next_event(), Event::Output(_)));
    }
    let bodies = [
        json!({"seq": 1, "command": "setBreakpoints", "arguments": 3}),
        json!({"seq": 1, "command": "launch", "arguments": [[]]}),
        json!({"seq": 1, "command": "\u{1b}[0m"}),
    ];
    for body in bodies {
        let body = body.to_string();
        client.send_raw(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
        assert!(!client.response_of(1).success);
    }
    client.send_raw("Content-Length: 99999999999\r\n\r\n");
    assert_eq!(client.end(), Some(2));

    let mut client = launched(&folder);
    let wrong = [
        json!({"command": "setBreakpoints", "arguments": {}}),
        json!({"command": "evaluate", "arguments": {"expression": "((((((("}}),
        json!({"command": "disassemble", "arguments": {"memoryReference": "0xffffffffffff"}}),
        json!({"command": "variables", "arguments": {"variablesReference": -1}}),
        json!({"command": "source", "arguments": {"sourceReference": 77}}),
        json!({"command": "dataBreakpointInfo"}),
        json!({"command": "unknown"}),
    ];
    for (seq, mut request) in (1000..).zip(wrong) {
        request["seq"] = seq.into();
        let body = request.to_string();
        client.send_raw(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
        assert!(!client.response_of(seq).success, "{request}");
    }
}

/// The second of three hits stops, the other breakpoint writes each time.
#[test]
fn hit_conditions_and_messages() {
    let folder = Folder::new("dap-hits");
    let mut client = launched_over(&folder, 3);
    // The types of the client library lack the protocol's spelling of these keys.
    let body = json!({
        "seq": 900, "type": "request", "command": "setBreakpoints",
        "arguments": {"source": source(), "breakpoints": [
            {"line": numbered("data[11] ^= 0x55"), "hitCondition": "2"},
            {"line": numbered("runs += 1"), "logMessage": "packet {$packet}"},
            {"line": numbered("runs += 1"), "hitCondition": "never"},
        ]},
    });
    let body = body.to_string();
    client.send_raw(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
    let set = client.response_of(900);
    let Some(ResponseBody::SetBreakpoints(set)) = set.body else { panic!("{set:?}") };
    let verified: Vec<_> = set.breakpoints.iter().map(|point| point.verified).collect();
    assert_eq!(verified, [true, true, false]);
    client.ask(Command::ConfigurationDone);
    client.stopped();
    let mut written = Vec::new();
    for last in ["2", "3"] {
        client.ask(Command::Continue(ContinueArguments { thread_id: 1, single_thread: None }));
        loop {
            match client.next_event() {
                Event::Output(output) => written.push(output.output),
                Event::Stopped(_) => break,
                _ => {}
            }
        }
        assert_eq!(client.evaluate("$packet"), last);
    }
    assert_eq!(written, ["packet 1\n", "packet 2\n", "packet 3\n"]);
}

/// A request to pause ends a run over a long capture, also if it arrives before the run begins; the
/// position remains, and the session continues. Leaving ends a run, too.
#[test]
fn a_run_is_paused_where_it_began() {
    let folder = Folder::new("dap-pause");
    let mut client = launched_over(&folder, MANY);
    client.ask(Command::ConfigurationDone);
    client.stopped();
    client.ask(Command::Next(NextArguments { thread_id: 1, ..NextArguments::default() }));
    client.stopped();
    let line = client.frames()[0].line;
    for _ in 0..3 {
        // Both requests are sent together, so that the second one may come before the run.
        let run = Command::Continue(ContinueArguments { thread_id: 1, single_thread: None });
        let run = client.message(run);
        let pause = client.message(Command::Pause(PauseArguments { thread_id: 1 }));
        client.send_raw(&format!("{run}{pause}"));
        assert!(client.response_of(client.seq - 1).success);
        assert!(client.response_of(client.seq).success);
        let stopped = client.stopped();
        assert!(matches!(stopped.reason, StoppedEventReason::Pause), "{stopped:?}");
        assert_eq!(stopped.text, None, "not the end of the capture");
        assert_eq!(client.frames()[0].line, line);
    }
    assert_eq!(client.evaluate("$packet"), "1");
    // Nothing runs.
    assert!(client.ask(Command::Pause(PauseArguments { thread_id: 1 })).success);
    client.ask(Command::Continue(ContinueArguments { thread_id: 1, single_thread: None }));
    assert!(client.ask(Command::Disconnect(DisconnectArguments::default())).success);
    assert_eq!(client.end(), Some(0));
}

/// Launches the program of the tests over one packet.
fn launched(folder: &Folder) -> Client {
    launched_over(folder, 1)
}

fn launched_over(folder: &Folder, packets: usize) -> Client {
    launched_with(folder, ("test/locals", "locals_first"), packets)
}

fn launched_with(folder: &Folder, (file, program): (&str, &str), packets: usize) -> Client {
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

fn launch(keys: Value) -> LaunchRequestArguments {
    LaunchRequestArguments { additional_data: Some(keys), ..LaunchRequestArguments::default() }
}

/// The source file, where an editor would have it.
fn source() -> Source {
    let path = "/project/bpf/test/locals.bpf.c".to_owned();
    Source { path: Some(path), ..Source::default() }
}

fn numbered(text: &str) -> i64 {
    SOURCE.lines().position(|line| line.contains(text)).unwrap() as i64 + 1
}

/// A child that is killed when the test ends. Each message has a deadline.
struct Client {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<BaseMessage>,
    events: Vec<Event>,
    responses: Vec<Response>,
    seq: i64,
}

impl Client {
    fn start() -> Self {
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
    fn message(&mut self, command: Command) -> String {
        self.seq += 1;
        let body = serde_json::to_string(&Request { seq: self.seq, command }).unwrap();
        format!("Content-Length: {}\r\n\r\n{body}", body.len())
    }

    fn ask(&mut self, command: Command) -> Response {
        let message = self.message(command);
        self.send_raw(&message);
        self.response_of(self.seq)
    }

    fn send_raw(&mut self, text: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(text.as_bytes()).unwrap();
        input.flush().unwrap();
    }

    fn send_message(&mut self, body: &str) {
        self.send_raw(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
    }

    fn response_of(&mut self, seq: i64) -> Response {
        loop {
            if let Some(at) = self.responses.iter().position(|one| one.request_seq == seq) {
                return self.responses.remove(at);
            }
            self.take();
        }
    }

    fn next_event(&mut self) -> Event {
        while self.events.is_empty() {
            self.take();
        }
        self.events.remove(0)
    }

    fn stopped(&mut self) -> StoppedEventBody {
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

    fn frames(&mut self) -> Vec<StackFrame> {
        let arguments = StackTraceArguments { thread_id: 1, ..StackTraceArguments::default() };
        let response = self.ask(Command::StackTrace(arguments));
        let Some(ResponseBody::StackTrace(trace)) = response.body else { panic!("{response:?}") };
        trace.stack_frames
    }

    fn variables(&mut self, variables_reference: i64) -> Vec<Variable> {
        let arguments = VariablesArguments { variables_reference, ..VariablesArguments::default() };
        let response = self.ask(Command::Variables(arguments));
        let Some(ResponseBody::Variables(opened)) = response.body else { panic!("{response:?}") };
        opened.variables
    }

    /// The value of an expression in a frame, or why it has none.
    fn evaluate_in(&mut self, expression: &str, frame: i64) -> Result<String, String> {
        let (expression, frame_id) = (expression.to_owned(), Some(frame));
        let arguments = EvaluateArguments { expression, frame_id, ..EvaluateArguments::default() };
        let response = self.ask(Command::Evaluate(arguments));
        match response.body {
            Some(ResponseBody::Evaluate(value)) if response.success => Ok(value.result),
            _ => Err(format!("{:?}", response.message)),
        }
    }

    fn evaluate(&mut self, expression: &str) -> String {
        let expression = expression.to_owned();
        let arguments = EvaluateArguments { expression, ..EvaluateArguments::default() };
        let response = self.ask(Command::Evaluate(arguments));
        let Some(ResponseBody::Evaluate(value)) = response.body else { panic!("{response:?}") };
        value.result
    }

    /// Exit code of the child, once its output has ended.
    fn end(mut self) -> Option<i32> {
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
const MANY: usize = 300_000;
const DEADLINE: Duration = Duration::from_secs(60);
