//! `UserProgram`: the caller's program, which processes every frame after the generator's program.
//!
//! Both are composed into one program; where that is not possible, the generator's program
//! tail-calls it. In both cases its verdicts are counted.

use std::sync::OnceLock;

use kernel::{LoadOptions, Map, Object};
use spec::asm::{self, Assembler, Helper, Reg};
use spec::compose::{self, Link, SlotTotals, VERDICTS_MAP, VerdictSet, slots};
use spec::{MapDef, MapKind, ProgramKind, Spec, Verdict};

use super::config::Completion;
use crate::error::{ConfigError, Result};
use crate::program::abi;

/// An XDP program of an object.
#[derive(Debug)]
pub(super) struct UserProgram {
    spec: Spec,
    program: String,
    /// The global variable that gets the number of the thread. Such a program is always composed.
    thread: Option<String>,
    /// The loaded program, if it is called instead of composed: once for all threads.
    called: OnceLock<Object>,
}

impl UserProgram {
    /// Reads the program named `name`, or the only XDP program of the object.
    pub fn read(object: &[u8], name: Option<&str>) -> Result<Self> {
        let spec = Spec::parse("program", object)?;
        let names = spec.programs.iter().filter(|program| program.kind.is_xdp());
        let names: Vec<&str> = names.map(|program| program.name.as_str()).collect();
        let program = match (name, names.as_slice()) {
            (Some(name), names) if names.contains(&name) => name.to_owned(),
            (None, [only]) => (*only).to_owned(),
            _ => {
                return Err(ConfigError::ProgramName { names: names.join(", ") }.into());
            }
        };
        Ok(Self { spec, program, thread: None, called: OnceLock::new() })
    }

    /// A program that completes frames.
    pub fn completing(completion: &Completion) -> Self {
        let Completion { spec, program, thread } = completion.clone();
        Self { spec, program, thread: Some(thread), called: OnceLock::new() }
    }

    /// Loads the generator's program of a thread, followed by this one.
    pub fn load(
        &self,
        front: &Spec,
        place: usize,
        mut reuse: Vec<(String, Map)>,
    ) -> Result<Object> {
        let programs = Some(vec![abi::PROGRAM.to_owned()]);
        if let Some(thread) = &self.thread {
            // Constants differ by thread.
            reuse.retain(|(name, _)| !name.contains(".rodata"));
            let options = LoadOptions { programs, reuse, ..LoadOptions::default() };
            let mut spec = self.spec.clone();
            spec.set_global(thread, &(place as u32).to_le_bytes())?;
            let whole = self.compose(front, &spec).map_err(ConfigError::Compose)?;
            return Ok(Object::load(&whole, &options)?);
        }
        let options = LoadOptions { programs, reuse, ..LoadOptions::default() };
        if self.called.get().is_none()
            && let Ok(whole) = self.compose(front, &self.spec)
        {
            match Object::load(&whole, &options) {
                // The composed program is too large; other errors appear when the program is loaded
                // alone.
                Err(kernel::Error::Verifier { .. }) => {}
                other => return Ok(other?),
            }
        }
        self.call(front, &options)
    }

    /// The maps of the caller's program: the `shared` ones if it was composed.
    pub fn maps<'a>(&'a self, shared: &'a [Map]) -> &'a [Map] {
        self.called.get().map_or(shared, Object::maps)
    }

    fn compose(&self, front: &Spec, spec: &Spec) -> Result<Spec, compose::Error> {
        let go_on = VerdictSet::default();
        let first = Link { spec: front, program: abi::PROGRAM, go_on };
        compose::chain(&[first, Link { spec, program: &self.program, go_on }])
    }

    fn call(&self, front: &Spec, options: &LoadOptions) -> Result<Object> {
        let kind = self.kind();
        let mut front = front.clone();
        front.programs.iter_mut().for_each(|program| program.kind = kind);
        let stub = stub(kind)?;
        let go_on = VerdictSet::default();
        let first = Link { spec: &front, program: abi::PROGRAM, go_on };
        let whole = compose::chain(&[first, Link { spec: &stub, program: STUB, go_on }])
            .map_err(ConfigError::Compose)?;
        let object = Object::load(&whole, options)?;
        let called = self.called()?;
        object.map(NEXT)?.put_program(0, called.program(&self.program)?)?;
        Ok(object)
    }

    fn called(&self) -> Result<&Object> {
        if self.called.get().is_none() {
            let counted = compose::counted(&self.spec, &self.program);
            let spec = counted.as_ref().unwrap_or(&self.spec);
            let programs = Some(vec![self.program.clone()]);
            let object = Object::load(spec, &LoadOptions { programs, ..LoadOptions::default() })?;
            let _first = self.called.set(object);
        }
        Ok(self.called.get().expect("it was set above"))
    }

    fn kind(&self) -> ProgramKind {
        self.spec.program(&self.program).map_or(ProgramKind::XDP, |program| program.kind)
    }
}

/// Counts of the verdicts of a program, from its maps.
pub(super) fn verdicts(maps: &[Map]) -> Result<Vec<(Verdict, u64)>> {
    let Some(map) = maps.iter().find(|map| map.name() == VERDICTS_MAP) else {
        return Ok(Vec::new());
    };
    let values = map.lookup_per_cpu(&[0; 4])?;
    let mut verdicts: Vec<(Verdict, u64)> = Verdict::ALL.map(|verdict| (verdict, 0)).to_vec();
    // Composed with the generator's programs, the program is the last of them.
    let slots = slots(map.info().value_size as usize).unwrap_or_default();
    let values = values.iter().flat_map(|all| all.values());
    let totals = SlotTotals::read(values, slots.saturating_sub(1));
    for ([packets, _], entry) in totals.unwrap_or_default().counts.iter().zip(0..) {
        verdicts[Verdict::from_code(entry) as usize].1 += packets;
    }
    Ok(verdicts)
}

/// A program that tail-calls the program in [`NEXT`].
fn stub(kind: ProgramKind) -> Result<Spec> {
    let mut object = asm::Object::new(STUB, "Dual MIT/GPL");
    object.map(MapDef {
        name: NEXT.into(),
        kind: MapKind::PROG_ARRAY,
        key_size: 4,
        value_size: 4,
        max_entries: 1,
        ..MapDef::default()
    });
    let mut a = Assembler::new(STUB, kind);
    a.note("continue with the caller's program").load_map(Reg::R2, NEXT).mov(Reg::R3, 0);
    a.call(Helper::TAIL_CALL).verdict(Verdict::Aborted);
    object.program(a);
    Ok(object.finish()?)
}

const STUB: &str = "gen_call";
const NEXT: &str = "gen_next";
