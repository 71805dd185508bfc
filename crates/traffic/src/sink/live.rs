//! The sink's program on an interface.

use kernel::{Attach, Error as KernelError, Link, LoadOptions, Map, Mode, Object, Replace};
use spec::Spec;
use sys::net::{Link as Interface, Netlink};

use super::config::SinkConfig;
use super::program::{self, Maps, candidates};
use super::report::SinkReport;
use crate::error::Result;

/// An attached sink program; dropping it detaches the program.
#[derive(Debug)]
pub(super) struct Live {
    config: SinkConfig,
    maps: Vec<Map>,
    link: Link,
}

impl Live {
    /// Attaches the first program and mode that the kernel accepts. If all fail, the first error is
    /// returned.
    pub fn start(config: &SinkConfig, mode: Option<Mode>) -> Result<Self> {
        let mut spec = program::prepare(config)?;
        let interface = Netlink::open()?.link(&config.interface)?;
        program::set_mac(&mut spec, interface.mac)?;
        let mut first = None;
        for (mode, program) in candidates(mode, interface.mtu) {
            match attach(&spec, program, mode, &interface) {
                Ok((maps, link)) => return Ok(Self { config: config.clone(), maps, link }),
                Err(refused) if is_final(&refused) => return Err(refused.into()),
                Err(refused) => {
                    first.get_or_insert(refused);
                }
            }
        }
        let none = || KernelError::Unsupported {
            what: format!("a sink on {}", config.interface),
            why: "it supports native and generic mode".to_owned(),
        };
        Err(first.unwrap_or_else(none).into())
    }

    pub fn mode(&self) -> Option<Mode> {
        self.link.mode()
    }

    pub fn report(&self) -> Result<SinkReport> {
        Ok(maps(&self.maps)?.report(&self.config)?)
    }

    pub fn all_ended(&self) -> Result<bool> {
        Ok(maps(&self.maps)?.all_ended(&self.config)?)
    }

    /// Detaches the program, and returns the final counters.
    pub fn stop(self) -> Result<SinkReport> {
        self.link.detach()?;
        Ok(maps(&self.maps)?.report(&self.config)?)
    }
}

fn attach(
    spec: &Spec,
    program: &str,
    mode: Mode,
    interface: &Interface,
) -> Result<(Vec<Map>, Link), KernelError> {
    let programs = Some(vec![program.to_owned()]);
    let object = Object::load(spec, &LoadOptions { programs, ..LoadOptions::default() })?;
    let ifindex = interface.ifindex;
    let program = object.program(program)?;
    let link = kernel::attach(&Attach { ifindex, program, mode, replace: Replace::No })?;
    Ok((object.into_parts().1, link))
}

/// Whether another mode would fail, too.
fn is_final(error: &KernelError) -> bool {
    matches!(error, KernelError::Occupied { .. } | KernelError::Denied { .. })
}

fn maps(all: &[Map]) -> Result<Maps<'_, Map>, KernelError> {
    Maps::find(|name| {
        all.iter().find(|map| map.name() == name).ok_or_else(|| KernelError::UnknownMap {
            object: "sink".to_owned(),
            name: name.to_owned(),
            known: all.iter().map(|map| map.name().to_owned()).collect(),
        })
    })
}
