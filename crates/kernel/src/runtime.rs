//! The kernel as a [`Runtime`], used by conformance tests and `--runtime kernel`.

use spec::{Input, Outcome, Runtime, Spec};

use crate::error::{Error, Result};
use crate::load::{LoadOptions, Object};
use crate::map::Map;
use crate::program::TestRun;

/// Runs programs through `BPF_PROG_TEST_RUN`, without an interface.
#[derive(Debug, Default)]
pub struct KernelRuntime {
    options: LoadOptions,
    object: Option<Object>,
}

impl KernelRuntime {
    /// Creates a runtime that loads with these options.
    pub fn new(options: LoadOptions) -> Self {
        Self { options, object: None }
    }

    /// What is loaded now.
    pub fn object(&self) -> Option<&Object> {
        self.object.as_ref()
    }
}

impl Runtime for KernelRuntime {
    type Error = Error;
    type Map = Map;

    fn load(&mut self, spec: &Spec) -> Result<()> {
        self.object = Some(Object::load(spec, &self.options)?);
        Ok(())
    }

    fn map(&self, name: &str) -> Option<&Map> {
        self.object.as_ref()?.map(name).ok()
    }

    fn run(&mut self, program: &str, input: &Input) -> Result<Outcome> {
        let Some(object) = &self.object else {
            return Err(Error::UnknownProgram {
                object: "kernel runtime".to_owned(),
                name: program.to_owned(),
                known: Vec::new(),
            });
        };
        let run = TestRun { input: input.clone(), repeat: 1, cpu: None };
        let outcome = object.program(program)?.run(&run)?;
        Ok(Outcome {
            verdict: outcome.verdict(),
            packet: outcome.packet,
            metadata: outcome.metadata,
            // A test run ends with the verdict; the kernel does not report the redirect's target.
            redirect_ifindex: None,
        })
    }
}
