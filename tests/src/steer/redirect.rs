//! The redirect program on its own, with one socket: which packets it would give to the socket.

use std::os::fd::{AsFd, AsRawFd};

use spec::{Expect, Input, Map, Verdict};
use sys::net::xsk::XskSocket;
use xsk::steer::Rule;
use xsk::steer::redirect::{Form, Purpose, STATE, Work, XSKS, abi};

use crate::bpf::Arm;

/// The program with a socket that anything may go to.
#[derive(Debug)]
pub struct Redirect<R: Arm> {
    pub runtime: R,
    form: Form,
    socket: XskSocket,
    pub state: abi::State,
}

impl<R: Arm> Redirect<R> {
    pub fn load(form: Form, work: Work) -> Self {
        let mut runtime = R::start(Some(form.program()));
        let spec = Purpose { queues: QUEUES, work }.prepare().unwrap();
        runtime.load(&spec).unwrap_or_else(|error| panic!("{error}"));
        let socket = XskSocket::open().unwrap();
        Self { runtime, form, socket, state: abi::State::default() }
    }

    /// Group 0 with these rules and a socket on queue 0.
    pub fn with_rules(rules: &[Rule]) -> Self {
        let mut redirect = Self::load(Form::Plain, Work::Rules);
        redirect.write(0, rules);
        redirect.put(0);
        redirect
    }

    pub fn write(&mut self, group: usize, rules: &[Rule]) {
        self.state.rules[group] = rules.len() as u64;
        for (place, rule) in self.state.groups[group].rules.iter_mut().zip(rules) {
            *place = rule.compiled();
        }
        let state = self.runtime.map(STATE).unwrap();
        state.update(&0u32.to_ne_bytes(), &self.state.to_bytes(), Expect::Any).unwrap();
    }

    /// Puts the socket into a slot.
    pub fn put(&self, slot: u32) {
        let value = self.socket.as_fd().as_raw_fd().to_ne_bytes();
        let xsks = self.runtime.map(XSKS).unwrap();
        xsks.update(&slot.to_ne_bytes(), &value, Expect::Absent).unwrap();
    }

    pub fn take_out(&self, slot: u32) {
        assert!(self.runtime.map(XSKS).unwrap().delete(&slot.to_ne_bytes()).unwrap());
    }

    pub fn run(&mut self, packet: &[u8]) -> spec::Outcome {
        let input = Input { packet: packet.to_vec(), ..Input::default() };
        let outcome = self.runtime.run(self.form.program(), &input).unwrap();
        assert_eq!(outcome.packet, packet, "the packet itself stays as it is");
        outcome
    }

    /// Whether the packet goes to a socket; else it must go to the stack.
    pub fn takes(&mut self, packet: &[u8]) -> bool {
        let verdict = self.run(packet).verdict;
        assert!([Verdict::Redirect, Verdict::Pass].contains(&verdict), "{verdict}");
        verdict == Verdict::Redirect
    }
}

/// Receive queues of the interface.
pub const QUEUES: u32 = 4;

/// Rules from their texts.
pub fn rules(texts: &[&str]) -> Vec<Rule> {
    texts.iter().map(|text| text.parse().unwrap_or_else(|error| panic!("{error}"))).collect()
}
