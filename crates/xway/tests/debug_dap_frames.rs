//! `xway debug --dap`: frames of the stack, runs backward, the documented configuration, and
//! clients that break the protocol.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]
#![forbid(unsafe_code)]

mod dap_client;
mod support;

use dap::events::Event;
use dap::requests::*;
use dap::responses::ResponseBody;
use dap::types::{DataBreakpoint, FunctionBreakpoint, StoppedEventReason, Variable};
use dap_client::{Client, MANY, launch, launched, launched_over, launched_with};
use serde_json::{Value, json};
use support::{Folder, object, udp};

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
