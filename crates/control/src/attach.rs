//! Attaching any XDP object, with its verdicts counted, and detaching what runs on an interface.

use std::time::Duration;

use kernel::Mode;
use serde::Serialize;
use spec::Spec;
use spec::compose::{self, VerdictSet};
use sys::errno::E2BIG;

use crate::Control;
use crate::balance::{self, announce, nat};
use crate::chain::{self, ChainReport};
use crate::composition;
use crate::counters::VERDICT_SLOTS;
pub use crate::detach::Detached;
use crate::detach::detach_all;
use crate::error::{Error, Result, full};
use crate::lockout;
use crate::notice::Notice;
use crate::object::{Opened, Source, called};
use crate::record::Record;
use crate::target::{Loaded, Placement, Target};

/// Which program of an object to attach, and how.
#[derive(Clone, Debug)]
pub struct AttachOptions {
    /// Name of the program; `None` for the only one that an interface can run.
    pub program: Option<String>,
    /// Count the verdicts of a program that does not count them.
    pub count: bool,
    pub placement: Placement,
}

impl Default for AttachOptions {
    fn default() -> Self {
        Self { program: None, count: true, placement: Placement::default() }
    }
}

impl AttachOptions {
    /// The record of a program that is attached with these options.
    pub(crate) fn record(&self, source: &Source) -> Record {
        Record::of_object(source, self.program.as_deref(), self.count, &self.placement)
    }
}

/// A program that was attached.
#[derive(Clone, Debug, Serialize)]
pub struct Attached {
    /// Name of the interface.
    pub interface: String,
    /// Name of the object: that of the file without folder and ending, or of the built-in program.
    pub object: String,
    /// Name of the program.
    pub program: String,
    /// Id of the program.
    pub program_id: u32,
    /// `native`, `generic` or `offload`.
    pub mode: &'static str,
    /// `false` when `status` cannot count the verdicts of this program: with `--no-count`, or where
    /// the counting code does not fit; standard error has the reason.
    pub counted: bool,
}

/// Attaches a program of an object and keeps it attached. With [`Placement::replace`], a program
/// that runs on the interface is replaced in one step; without it, the new one joins the programs
/// of this project in a chain.
///
/// # Errors
/// The kernel rejects the program, the programs cannot be composed, or another owner's program runs
/// on the interface and is not to be replaced; then nothing has changed.
pub fn attach(
    control: &Control,
    interface: &str,
    opened: &mut Opened,
    options: &AttachOptions,
) -> Result<Attached> {
    opened.set(&options.placement.set)?;
    let program = opened.choose(options.program.as_deref())?.name.clone();
    let target = Target::open(control, interface)?;
    let lockout = options.placement.lockout();
    lockout::check_program(control, (&opened.spec, &program), target.place(), lockout, |_| {})?;
    if composition::joins(&target, &options.placement)? {
        let counted = options.count || compose::counts_itself(&opened.spec, &program);
        let (record, placement) = (options.record(&opened.source), &options.placement);
        let program_id = chain::join(&target, (opened, &program), &record, placement)?;
        return Ok(Attached {
            interface: target.interface,
            object: opened.name.clone(),
            program,
            program_id,
            mode: options.placement.mode.name(),
            counted,
        });
    }
    let loaded = load(opened, &program, &target, options)?;
    let name = options.placement.member(&opened.name, &program).name;
    target.install(&name, &loaded.object, &program, &options.placement)?.commit()?;
    Ok(Attached {
        interface: target.interface,
        object: opened.name.clone(),
        program_id: loaded.object.program(&program)?.id(),
        program,
        mode: options.placement.mode.name(),
        counted: loaded.counted,
    })
}

/// Detaches the programs of an interface; with `force` also programs of other owners.
///
/// # Errors
/// A program of another owner runs on the interface and `force` is not set; then nothing has
/// changed.
pub fn detach(control: &Control, interface: &str, force: bool) -> Result<Detached> {
    let mut target = Target::open(control, interface)?;
    let withdrawn = announce::withdraw(control, &target)?;
    let also = nat::detach_others(control, &mut target);
    let detached = also.and_then(|also| Ok((detach_all(&target, force)?, also)));
    let name = target.interface.clone();
    if withdrawn && detached.is_err() {
        drop(target);
        announce::follow(control);
    }
    let (programs, also) = detached?;
    Ok(Detached { interface: name, programs, also })
}

/// Removes a member of a chain, as [`balance::remove`] does, after the withdrawal of what it
/// announces.
///
/// # Errors
/// Those of [`balance::remove`], or the withdrawal failed. Then nothing has changed.
pub fn remove_member(
    control: &Control,
    interface: &str,
    name: &str,
    confirm: Option<Duration>,
) -> Result<ChainReport> {
    let withdrawn =
        name == balance::NAME && announce::withdraw(control, &Target::open(control, interface)?)?;
    let removed = balance::remove(control, interface, name, confirm);
    if withdrawn && removed.is_err() {
        announce::follow(control);
    }
    removed
}

#[derive(Debug)]
struct Counted {
    object: Loaded,
    counted: bool,
}

/// Loads the program composed with its counters, or unchanged where it cannot be composed.
fn load(
    opened: &Opened,
    program: &str,
    target: &Target,
    options: &AttachOptions,
) -> Result<Counted> {
    let mode = options.placement.mode;
    let called = called(&opened.spec, program);
    let load = |spec: &Spec| target.load(spec, (program, &called), &options.placement, Vec::new());
    let own = compose::counts_itself(&opened.spec, program);
    let mut with_record = opened.spec.clone();
    options.record(&opened.source).add_to(&mut with_record, mode);
    if mode != Mode::Offload {
        with_record.maps.extend(opened.kept_map());
    }
    let plain = own || !options.count || mode == Mode::Offload;
    if plain {
        let object = load(&with_record)?;
        return Ok(Counted { object, counted: own });
    }
    let link = compose::Link { spec: &with_record, program, go_on: VerdictSet::EMPTY };
    let counters = compose::Counters { slots: VERDICT_SLOTS, ..compose::Counters::in_order(1) };
    let composed =
        compose::compose(&[link], &counters, compose::Form::Inline, None).map_err(Error::from);
    match composed.and_then(|composed| load(&composed.spec)) {
        Ok(object) => Ok(Counted { object, counted: true }),
        Err(refused) if is_about_program(&refused) => {
            // If the program alone is refused too, its error is the one to report.
            let object = load(&with_record)?;
            target.slot.notify(&Notice::NotCounted(full(&refused)));
            Ok(Counted { object, counted: false })
        }
        Err(failed) => Err(failed),
    }
}

/// Whether the composed program was refused, by the composer or by the verifier, because of its
/// code. Other failures, such as a lack of memory, do not depend on the code.
fn is_about_program(error: &Error) -> bool {
    match error.innermost() {
        Error::Kernel(kernel::Error::Verifier { .. }) => true,
        // The kernel's error for programs with too many instructions.
        Error::Kernel(other) => other.errno() == Some(E2BIG),
        other => !matches!(other, Error::System(_)),
    }
}
