//! Test runs of a case: the programs take turns in short batches.
//!
//! Rule: whatever disturbs a batch makes it slower, so the fastest quarter of each counts; each
//! batch is checked for its verdict and for what was sent.

use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use functions::balancer;
use kernel::{LoadOptions, Object, TestRun};
use spec::{Input, Spec, Verdict};

use super::case::Case;
use super::put_back::PutBack;
use super::site::Site;
use super::{BASE, OURS, PEER, katran, ours, row};
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
pub struct Ready {
    /// The name of the case in rows.
    pub name: &'static str,
    pub programs: Vec<Loaded>,
    pub run: TestRun,
    /// What all but the base return.
    pub verdict: Verdict,
    /// Length of the frame after them.
    pub length: usize,
}

pub struct Loaded {
    pub row: &'static str,
    pub object: Object,
    pub program: &'static str,
}

impl<'a> Alone<'a> {
    pub fn new(site: &'a Site, case: Case, peer: Option<&'a Spec>) -> Self {
        let peer = peer.filter(|_| case.is_compared());
        Self { site, case, peer }
    }

    /// The rows of the case.
    pub fn arm(self) -> Arm<'a> {
        let site = self.site;
        arm(site, self.case.name(), move || self.load())
    }

    fn load(&self) -> Result<Ready> {
        let frame = self.case.frame(self.site.macs)?;
        let put_back = PutBack { frame, varies: self.case.varies(), headers: 0 };
        let start = |spec: &Spec| self.start(&put_back, spec, OUR);
        let ours = ours::load(self.site, self.case, start)?;
        let mut programs = vec![Loaded { row: OURS, object: ours, program: OUR }];
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
        Ok(Ready {
            name: self.case.name(),
            programs,
            length: put_back.frame.len() + self.case.overhead(),
            run: test_run(self.site, put_back.frame)?,
            verdict: if self.case.is_sent() { Verdict::Tx } else { Verdict::Pass },
        })
    }

    /// Loads a program after the code that puts the frame back.
    fn start(&self, put_back: &PutBack, spec: &Spec, program: &str) -> Result<Object> {
        if self.case != Case::None {
            return put_back.load(spec, program, Vec::new());
        }
        let programs = Some(vec![program.to_owned()]);
        Ok(Object::load(spec, &LoadOptions { programs, ..LoadOptions::default() })?)
    }
}

/// The rows of a case, whose programs are loaded in the first turn.
pub fn arm<'a>(
    site: &'a Site,
    name: &'static str,
    load: impl Fn() -> Result<Ready> + 'a,
) -> Arm<'a> {
    let mut ready = None;
    Arm::wide(&format!("alone/{name}"), move |window| {
        let ready = match &mut ready {
            Some(ready) => ready,
            empty => empty.insert(load()?),
        };
        let times = site.near.run(|| ready.measure(site, window))??;
        let value = |(program, ns)| Value::new(row(name, program), "ns", ns);
        Ok(times.into_iter().map(value).collect())
    })
}

/// A batch of runs on a frame that comes in at the balancer.
pub fn test_run(site: &Site, packet: Vec<u8>) -> Result<TestRun> {
    let ingress_ifindex = site.near.ifindex()?.0;
    let input = Input { packet, ingress_ifindex, ..Input::default() };
    Ok(TestRun { input, repeat: BATCH, ..TestRun::default() })
}

impl Ready {
    fn measure(&self, site: &Site, window: Duration) -> Result<Vec<(&'static str, f64)>> {
        sys::cpu::set_affinity(&[site.cpu])?;
        let nothing = self.programs.iter().find(|loaded| loaded.row == BASE);
        // Only an interface with a program accepts test runs in its name.
        let attach = |loaded: &Loaded| {
            site.near.attach(loaded.object.program(loaded.program)?, kernel::Mode::Native)
        };
        let _attached = nothing.map(attach).transpose()?;
        let mut times = vec![Vec::new(); self.programs.len()];
        let start = Instant::now();
        while start.elapsed() < window || times[0].len() < FEWEST {
            for (loaded, times) in self.programs.iter().zip(&mut times) {
                times.push(self.batch(site, loaded)?);
            }
        }
        let rows = self.programs.iter().map(|loaded| loaded.row);
        Ok(rows.zip(times.into_iter().map(fastest)).collect())
    }

    fn batch(&self, site: &Site, loaded: &Loaded) -> Result<f64> {
        let outcome = loaded.object.program(loaded.program)?.run(&self.run)?;
        let row = row(self.name, loaded.row);
        let is_base = loaded.row == BASE;
        let expected = if is_base { Verdict::Pass } else { self.verdict };
        let (verdict, packet) = (outcome.verdict(), &outcome.packet);
        ensure!(verdict == expected, "{row}: {verdict} instead of {expected}");
        let is_sent = verdict == Verdict::Tx;
        let is_length = is_base || packet.len() == self.length;
        if !is_length || (is_sent && !packet.starts_with(&site.macs[0].0)) {
            bail!("{row}: {} bytes after it, {:02x?}", packet.len(), packet.get(..18));
        }
        Ok(f64::from(outcome.duration_ns))
    }
}

const OUR: &str = balancer::PROGRAM;
