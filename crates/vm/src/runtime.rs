//! The engine as a [`spec::Runtime`], for conformance tests and `--runtime vm`.

use std::sync::Arc;

use spec::{Input, Outcome, Runtime, Spec, Verdict};

use crate::error::{Error, Result};
use crate::machine::{Machine, Options};
use crate::maps::Map;
use crate::worker::Worker;

/// Runs programs on processor 0 of a machine. As in a test run of the kernel, a run ends with the
/// verdict: programs after a redirect do not run, and a packet may be in several buffers whether or
/// not the program is `xdp.frags`.
#[derive(Debug, Default)]
pub struct VmRuntime {
    options: Options,
    loaded: Option<Loaded>,
}

#[derive(Debug)]
struct Loaded {
    machine: Machine,
    worker: Worker,
    maps: Vec<Arc<Map>>,
}

impl VmRuntime {
    /// A runtime without an object.
    pub fn new(options: Options) -> Self {
        Self { options, loaded: None }
    }

    /// The loaded machine.
    pub fn machine(&self) -> Option<&Machine> {
        self.loaded.as_ref().map(|loaded| &loaded.machine)
    }
}

impl Runtime for VmRuntime {
    type Error = Error;
    type Map = Map;

    fn load(&mut self, spec: &Spec) -> Result<()> {
        let machine = Machine::load(spec, &self.options)?;
        let (worker, maps) = (machine.worker(0), machine.maps());
        self.loaded = Some(Loaded { machine, worker, maps });
        Ok(())
    }

    fn map(&self, name: &str) -> Option<&Map> {
        let maps = &self.loaded.as_ref()?.maps;
        maps.iter().find(|map| map.attributes().name == name).map(|map| &**map)
    }

    fn run(&mut self, program: &str, input: &Input) -> Result<Outcome> {
        let Some(Loaded { machine, worker, .. }) = &mut self.loaded else {
            return Err(Error::Unknown {
                object: "virtual runtime".to_owned(),
                what: "program",
                name: program.to_owned(),
                known: Vec::new(),
            });
        };
        let number = machine.program(program)?;
        worker.put(input)?;
        let verdict = Verdict::from_code(worker.execute(number)?);
        let redirect_ifindex = worker.redirect_ifindex();
        Ok(Outcome {
            verdict,
            packet: worker.packet().into_owned(),
            metadata: worker.metadata().to_vec(),
            redirect_ifindex: redirect_ifindex.filter(|_| verdict == Verdict::Redirect),
        })
    }
}
