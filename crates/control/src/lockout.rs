//! Lockouts: changes that would end the SSH session through which they are made.
//!
//! Rule: rules are judged by their model, other programs by running them in the engine on sample
//! packets of the session and of ARP or neighbor discovery. A program that the engine cannot run is
//! not judged. Not here: how a change is undone without a confirmation (`confirmation`).

use std::net::IpAddr;

use filter::Ruleset;
use filter::language::lint::Warning;
use filter::model::cut_off::{self, Session, Surroundings};
use packet::Mac;
use spec::{Input, Runtime as _, Spec, Verdict};
use sys::net::Ifindex;
use vm::VmRuntime;

use crate::Control;
use crate::error::{Error, Result};
use crate::notice::Notice;
use crate::session;

/// Whether a change may end the SSH session of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lockout {
    /// Such a change is refused.
    #[default]
    Refuse,
    /// Such a change is made, with a notice.
    Allow,
}

/// The interface on which something changes.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    pub interface: &'a str,
    pub ifindex: Ifindex,
    /// `None` for an interface without a six-byte address.
    pub mac: Option<Mac>,
}

/// Warnings for rules that may be loaded on any interface, also on the one of the session of this
/// process.
pub fn warnings(rules: &Ruleset, session: Option<Session>) -> Vec<Warning> {
    cut_off::cut_off(rules, &Surroundings { interface: None, session })
}

/// The SSH session of this process, on whatever interface.
pub fn session() -> Option<Session> {
    session::connection().as_deref().and_then(Session::parse)
}

/// Reports what rules on an interface cut off.
///
/// # Errors
/// They end the session of this process, and that is to be refused.
pub fn check_rules(
    control: &Control,
    rules: &Ruleset,
    place: Place<'_>,
    lockout: Lockout,
) -> Result<()> {
    let session = own_session(place.interface);
    let surroundings = Surroundings { interface: Some(place.interface.to_owned()), session };
    let warnings = cut_off::cut_off(rules, &surroundings);
    let mut texts: Vec<_> = warnings.into_iter().map(|warning| warning.text).collect();
    if let (Some(session), Some(reason)) = (session, cut_off::session_end(rules, &surroundings)) {
        if !texts.contains(&reason) {
            texts.insert(0, reason);
        }
        return conclude(control, place.interface, session.client.ip(), texts, lockout);
    }
    texts.into_iter().for_each(|text| control.notify(&Notice::CutOff(text)));
    Ok(())
}

/// Reports whether a program on an interface drops packets that the session of this process needs.
/// `fill` sets the contents of maps.
///
/// # Errors
/// It does, and that is to be refused.
pub fn check_program(
    control: &Control,
    (spec, program): (&Spec, &str),
    place: Place<'_>,
    lockout: Lockout,
    fill: impl FnOnce(&VmRuntime),
) -> Result<()> {
    let Some(session) = own_session(place.interface) else { return Ok(()) };
    let Some(dropped) = dropped((spec, program), &session, place, fill) else { return Ok(()) };
    let text = format!("program `{program}` drops {dropped}");
    conclude(control, place.interface, session.client.ip(), vec![text], lockout)
}

fn conclude(
    control: &Control,
    interface: &str,
    client: IpAddr,
    texts: Vec<String>,
    lockout: Lockout,
) -> Result<()> {
    if lockout == Lockout::Refuse {
        let interface = interface.to_owned();
        return Err(Error::Lockout { interface, client, reasons: texts });
    }
    texts.into_iter().for_each(|text| control.notify(&Notice::CutOff(text)));
    Ok(())
}

/// The session of this process, if the interface carries it.
fn own_session(interface: &str) -> Option<Session> {
    let session = session()?;
    let is_carried = session::client_on(interface).is_ok_and(|client| client.is_some());
    is_carried.then_some(session)
}

/// The first kind of packet that a session needs and the program drops.
fn dropped(
    (spec, program): (&Spec, &str),
    session: &Session,
    place: Place<'_>,
    fill: impl FnOnce(&VmRuntime),
) -> Option<String> {
    let world = crate::host::snapshot().ok()?.world;
    let programs = Some(vec![program.to_owned()]);
    let mut engine = VmRuntime::new(vm::Options { world, programs, ..vm::Options::default() });
    engine.load(spec).ok()?;
    fill(&engine);
    let mac = place.mac.map_or([0; 6], |mac| mac.0);
    let mut frames = cut_off::session_frames(session, mac).into_iter();
    let is_dropped = |packet: Vec<u8>, engine: &mut VmRuntime| {
        let input = Input { packet, ingress_ifindex: place.ifindex.0, ..Input::default() };
        let verdict = engine.run(program, &input).map(|outcome| outcome.verdict);
        verdict.is_ok_and(|verdict| matches!(verdict, Verdict::Drop | Verdict::Aborted))
    };
    frames.find(|(_, packet)| is_dropped(packet.clone(), &mut engine)).map(|(what, _)| what)
}
