//! Programs alone, on a frame that they drop and one that they pass.

use std::rc::Rc;

use anyhow::Result;
use functions::drop;
use kernel::Object;
use lab::frame::{Flow, Side};
use spec::Verdict;

use super::line::End;
use super::xdp_filter::Peer;
use super::{Cell, other, shared, spoofed, xdp_filter};
use crate::field::FRAME;
use crate::harness::Arm;
use crate::hook::{limit, xdp};
use crate::micro::drop_cost::Case;

/// The arms of all programs.
pub fn arms<'a>(cells: &[(Cell, Rc<Object>)], peers: &[Peer], end: End) -> Result<Vec<Arm<'a>>> {
    let mut arms = Vec::new();
    for (cell, object) in cells {
        both(&mut arms, &cell.name(), object, filter::PROGRAM, end)?;
    }
    for Peer { cell, object, .. } in peers {
        let name = format!("xdp-filter-{}", cell.name());
        both(&mut arms, &name, object, xdp_filter::PROGRAM, end)?;
    }
    let rule = format!("{} udp {}", end.dest, end.port);
    arms.push(arm("drop", &Rc::new(xdp::object(&[rule])?), drop::PROGRAM, end, Verdict::Drop)?);
    arms.push(arm("nothing", &Rc::new(limit::object()?), limit::NAME, end, Verdict::Drop)?);
    arms.extend(spoofed::arms(frame(end)?)?);
    arms.extend(shared::arms()?);
    Ok(arms)
}

fn both(
    arms: &mut Vec<Arm<'_>>,
    name: &str,
    object: &Rc<Object>,
    program: &'static str,
    end: End,
) -> Result<()> {
    arms.push(arm(name, object, program, end, Verdict::Drop)?);
    arms.push(arm(&format!("{name}-pass"), object, program, other(end), Verdict::Pass)?);
    Ok(())
}

fn arm<'a>(
    name: &str,
    object: &Rc<Object>,
    program: &'static str,
    end: End,
    verdict: Verdict,
) -> Result<Arm<'a>> {
    let case = Case { object: Rc::clone(object), program, frame: frame(end)?, verdict };
    Ok(Arm::new(name, "ns", move |window| case.measure(window)))
}

/// The frame that all programs run on.
pub fn frame(end: End) -> Result<Vec<u8>> {
    let from = Side::new("02:00:00:00:00:01", &end.source.to_string(), end.port)?;
    let to = Side::new("02:00:00:00:00:02", &end.dest.to_string(), end.port)?;
    Ok(Flow::new(from, to).udp_of_length(FRAME)?)
}
