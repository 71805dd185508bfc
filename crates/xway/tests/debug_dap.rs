//! `xway debug --dap` as an editor drives it, with the types of a client library.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]
#![forbid(unsafe_code)]

mod dap_client;
mod support;

use dap::events::Event;
use dap::requests::*;
use dap::responses::ResponseBody;
use dap::types::{
    DataBreakpoint, FunctionBreakpoint, InstructionBreakpoint, SourceBreakpoint,
    SteppingGranularity, StoppedEventReason,
};
use dap_client::{Client, MANY, launch, launched, launched_over, numbered, source};
use serde_json::json;
use support::Folder;

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
