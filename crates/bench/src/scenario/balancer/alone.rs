//! Test runs of a case: the programs take turns in short batches.
//!
//! Rule: whatever disturbs a batch makes it slower, so the fastest quarter of each counts; each
//! batch is checked for its verdict and for what was sent.

use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use functions::balancer::{self, Maps, TX};
use kernel::{LoadOptions, Object, TestRun};
use spec::{Expect, Input, Map as _, Spec, Verdict};

use super::case::Case;
use super::put_back::PutBack;
use super::site::Site;
use super::{BASE, OURS, PEER, katran, row};
use crate::harness::{Arm, Value};
use crate::scenario::test_run::{BATCH, FEWEST, NOTHING, fastest, nothing};

/// A case, and what it is measured with.
#[derive(Debug)]
pub struct Alone<'a> {
    site: &'a Site,
    case: Case,
    peer: Option<&'a Spec>,
}

/// Programs that are ready to run.
struct Ready {
    programs: Vec<Loaded>,
    run: TestRun,
}

struct Loaded {
    row: &'static str,
    object: Object,
    program: &'static str,
}

impl<'a> Alone<'a> {
    pub fn new(site: &'a Site, case: Case, peer: Option<&'a Spec>) -> Self {
        let peer = peer.filter(|_| case.is_compared());
        Self { site, case, peer }
    }

    /// The rows of the case.
    pub fn arm(self) -> Arm<'a> {
        let mut ready = None;
        Arm::wide(&format!("alone/{}", self.case.name()), move |window| {
            let ready = match &mut ready {
                Some(ready) => ready,
                empty => empty.insert(self.load()?),
            };
            let times = self.site.near.run(|| self.measure(ready, window))??;
            let value = |(row, ns)| Value::new(super::row(self.case, row), "ns", ns);
            Ok(times.into_iter().map(value).collect())
        })
    }

    fn load(&self) -> Result<Ready> {
        let put_back =
            PutBack { frame: self.case.frame(self.site.macs)?, varies: self.case.varies() };
        let mut programs = vec![Loaded { row: OURS, object: self.ours(&put_back)?, program: OUR }];
        programs.push(Loaded {
            row: BASE,
            object: self.start(&put_back, &nothing()?, NOTHING)?,
            program: NOTHING,
        });
        if let Some(spec) = self.peer {
            let object = self.start(&put_back, spec, katran::PROGRAM)?;
            katran::fill(&object, self.site, self.case)?;
            programs.push(Loaded { row: PEER, object, program: katran::PROGRAM });
        }
        let input = Input {
            packet: put_back.frame,
            ingress_ifindex: self.site.near.ifindex()?.0,
            ..Input::default()
        };
        Ok(Ready { programs, run: TestRun { input, repeat: BATCH, ..TestRun::default() } })
    }

    /// Loads a program after the code that puts the frame back.
    fn start(&self, put_back: &PutBack, spec: &Spec, program: &str) -> Result<Object> {
        let programs = Some(vec![program.to_owned()]);
        let options = LoadOptions { programs, ..LoadOptions::default() };
        if self.case == Case::None {
            return Ok(Object::load(spec, &options)?);
        }
        let object = Object::load(&put_back.before(spec, program)?, &options)?;
        put_back.reset(&object)?;
        Ok(object)
    }

    fn ours(&self, put_back: &PutBack) -> Result<Object> {
        let config = self.case.config(false)?;
        let mut spec = Spec::parse("balancer", balancer::OBJECT)?;
        config.apply(&mut spec)?;
        let object = self.start(put_back, &spec, OUR)?;
        let maps = Maps::find(|name| object.map(name))?;
        if self.case == Case::Moved {
            balancer::update(&self.case.config(true)?, &maps)?;
        }
        balancer::update(&config, &maps)?;
        let port = self.site.near.ifindex()?.0.to_ne_bytes();
        // The kernel resolves the number in the namespace of the writing thread.
        self.site.near.run(|| object.map(TX)?.update(&port, &port, Expect::Any))??;
        Ok(object)
    }

    fn measure(&self, ready: &Ready, window: Duration) -> Result<Vec<(&'static str, f64)>> {
        sys::cpu::set_affinity(&[self.site.cpu])?;
        let nothing = ready.programs.iter().find(|loaded| loaded.row == BASE);
        // Only an interface with a program accepts test runs in its name.
        let attach = |loaded: &Loaded| {
            self.site.near.attach(loaded.object.program(loaded.program)?, kernel::Mode::Native)
        };
        let _attached = nothing.map(attach).transpose()?;
        let mut times = vec![Vec::new(); ready.programs.len()];
        let start = Instant::now();
        while start.elapsed() < window || times[0].len() < FEWEST {
            for (loaded, times) in ready.programs.iter().zip(&mut times) {
                times.push(self.batch(loaded, &ready.run)?);
            }
        }
        let rows = ready.programs.iter().map(|loaded| loaded.row);
        Ok(rows.zip(times.into_iter().map(fastest)).collect())
    }

    fn batch(&self, loaded: &Loaded, run: &TestRun) -> Result<f64> {
        let outcome = loaded.object.program(loaded.program)?.run(run)?;
        let row = row(self.case, loaded.row);
        let is_sent = loaded.row != BASE && self.case.is_sent();
        let expected = if is_sent { Verdict::Tx } else { Verdict::Pass };
        let verdict = outcome.verdict();
        ensure!(verdict == expected, "{row}: {verdict} instead of {expected}");
        if !is_sent {
            return Ok(f64::from(outcome.duration_ns));
        }
        let length = run.input.packet.len() + self.case.overhead();
        if outcome.packet.len() != length || !outcome.packet.starts_with(&self.site.macs[0].0) {
            bail!("{row}: sent {} bytes, {:02x?}", outcome.packet.len(), outcome.packet.get(..18));
        }
        Ok(f64::from(outcome.duration_ns))
    }
}

const OUR: &str = balancer::PROGRAM;
