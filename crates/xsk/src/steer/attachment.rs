//! `Attachment`: the redirect program on an interface, attached by this process or joined.
//!
//! Rule: other processes may attach and detach concurrently, so an observed state may be outdated
//! at the next step. Every step is atomic in the kernel, and if one fails for this reason,
//! everything is read again, a bounded number of times.

use kernel::list::{self, Attached, Interface};
use kernel::{Attach, Error as KernelError, Ifindex, Link, Map, ModeName, Replace};
use sys::errno::{EAGAIN, EBUSY, EEXIST, ENOENT};
use sys::mmap::Mapping;

use super::redirect::abi::State;
use super::redirect::{Form, Loaded, Purpose, STATE, VERSION, Work, XSKS};
use crate::error::{Error, InterfaceReason, Result};
use crate::limits::ATTACH_ATTEMPTS;

/// Where the program runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// In the driver if it supports XDP, otherwise in the stack.
    #[default]
    Auto,
    /// In the driver, or an error.
    Native,
    /// In the stack.
    Generic,
}

/// Options of the redirect program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Writes time, hash and VLAN tag before each packet that goes to a socket.
    pub rx_metadata: bool,
    /// Detaches a program that cannot be shared, and does not restore it. Without this option such
    /// a program is an error that names it.
    pub replace: bool,
}

/// The program on one interface, which remains as long as any process holds an attachment.
#[derive(Debug)]
pub(super) struct Attachment {
    pub interface: String,
    pub queues: u32,
    pub work: Work,
    pub form: Form,
    pub mode: kernel::Mode,
    /// Why it does not run in the driver.
    pub not_native: Option<String>,
    /// Another process or call attached it.
    pub joined: bool,
    pub xsks: Map,
    pub state: Mapping,
    link: Link,
}

impl Attachment {
    /// Whether the program is still attached to its interface.
    pub fn is_attached(&self) -> Result<bool> {
        Ok(self.link.ifindex()?.is_some())
    }
}

/// The requested attachment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub ifindex: Ifindex,
    pub mode: Mode,
    pub work: Work,
    pub replace: bool,
}

impl Wanted {
    /// Joins the attached program, or attaches one.
    pub fn attach(&self) -> Result<Attachment> {
        let mut last = None;
        for _ in 0..ATTACH_ATTEMPTS {
            match self.attempt() {
                Err(Failure::Overtaken(error)) => last = Some(error),
                Err(Failure::Final(error)) => return Err(error),
                Ok(attachment) => return Ok(attachment),
            }
        }
        Err(last.expect("at least one attempt was made, and all failed"))
    }

    fn attempt(&self) -> Result<Attachment, Failure> {
        let interface = list::interface(self.ifindex).map_err(Error::from)?;
        let Some(there) = interface.programs.first() else {
            return Ok(self.fresh(&interface)?);
        };
        let refused = match self.join(&interface, there)? {
            Ok(joined) => return Ok(joined),
            Err(refused) => refused,
        };
        if !self.replace {
            return Err(Failure::Final(refused));
        }
        kernel::detach_all(self.ifindex, None).map_err(Error::from)?;
        Ok(self.fresh(&interface)?)
    }

    /// Attaches the program to an interface without one.
    fn fresh(&self, interface: &Interface) -> Result<Attachment> {
        let modes: &[kernel::Mode] = match self.mode {
            Mode::Auto => &[kernel::Mode::Native, kernel::Mode::Generic],
            Mode::Native => &[kernel::Mode::Native],
            Mode::Generic => &[kernel::Mode::Generic],
        };
        let mut not_native = None;
        for (number, mode) in modes.iter().enumerate() {
            match self.fresh_in(interface, *mode) {
                Ok(made) => return Ok(Attachment { not_native, ..made }),
                Err(error) if number + 1 == modes.len() || !is_about_mode(&error) => {
                    return Err(error);
                }
                Err(error) => not_native = Some(error.to_string()),
            }
        }
        unreachable!("the last mode returns")
    }

    fn fresh_in(&self, interface: &Interface, mode: kernel::Mode) -> Result<Attachment> {
        let purpose = Purpose { queues: interface.link.rx_queues.max(1), work: self.work };
        let asks_device = self.work.has_metadata() && mode == kernel::Mode::Native;
        let forms = [Form::Device, Form::Frags, Form::Plain];
        let forms = if asks_device { &forms[..] } else { &forms[1..] };
        for form in &forms[..forms.len() - 1] {
            // An older kernel or another device: the next form requires less.
            match self.put(interface, mode, *form, &purpose) {
                Err(error) if !is_final(&error) => {}
                other => return other,
            }
        }
        self.put(interface, mode, Form::Plain, &purpose)
    }

    fn put(
        &self,
        interface: &Interface,
        mode: kernel::Mode,
        form: Form,
        purpose: &Purpose,
    ) -> Result<Attachment> {
        let Wanted { ifindex, .. } = *self;
        let Loaded { program, xsks, state } = purpose.load(form, ifindex)?;
        let attach = Attach { ifindex, program: &program, mode, replace: Replace::No };
        let link = kernel::attach(&attach)?;
        let name = interface.link.name.clone();
        if !link.is_bpf_link() {
            return Err(no_link(&name).into());
        }
        Ok(Attachment {
            interface: name,
            queues: purpose.queues,
            work: self.work,
            form,
            mode,
            not_native: None,
            joined: false,
            xsks,
            state,
            link,
        })
    }

    /// Joins the attached program. The inner error means that it cannot be shared.
    fn join(&self, interface: &Interface, there: &Attached) -> Result<Result<Attachment>> {
        let foreign = || Ok(Err(self.occupied(interface, there)));
        let Some(form) = Form::of(&there.program.name) else { return foreign() };
        // Its last holder may be releasing it; then another attempt finds no program.
        let Some(link_id) = there.link_id else { return Err(self.occupied(interface, there)) };
        let link = Link::from_id(link_id)?;
        if link.ifindex()? != Some(self.ifindex) {
            return Err(Error::Kernel(Box::new(gone())));
        }
        let maps: Vec<Map> =
            there.program.map_ids.iter().map(|id| Map::from_id(*id)).collect::<Result<_, _>>()?;
        let find = |name: &str| maps.iter().find(|map| map.name() == name);
        let (Some(xsks), Some(state)) = (find(XSKS), find(STATE)) else { return foreign() };
        if state.info().value_size as usize != State::SIZE {
            return foreign();
        }
        let state = state.mapping(true)?;
        let work = Work::from_number(state.load_u64(8)).filter(|_| state.load_u64(0) == VERSION);
        let Some(work) = work else { return foreign() };
        if let Some(difference) = self.difference(work, there.mode) {
            let (difference, holders) = (difference.to_string(), holders(xsks.id()).to_string());
            let reason = InterfaceReason::OtherOptions { difference, holders };
            return Ok(Err(Error::interface(&interface.link.name, reason)));
        }
        Ok(Ok(Attachment {
            interface: interface.link.name.clone(),
            queues: state.load_u64(16) as u32,
            work,
            form,
            mode: there.mode,
            not_native: None,
            joined: true,
            xsks: xsks.duplicate()?,
            state,
            link,
        }))
    }

    /// How the attached program differs from the request.
    fn difference(&self, work: Work, mode: kernel::Mode) -> Option<String> {
        let what = |rules| if rules { "by rules" } else { "all traffic, by queue" };
        if work.has_rules() != self.work.has_rules() {
            let (present, requested) = (what(work.has_rules()), what(self.work.has_rules()));
            return Some(format!("sockets get its packets {present}, not {requested}"));
        }
        if self.work.has_metadata() && !work.has_metadata() {
            return Some("sockets get its packets without metadata".to_owned());
        }
        let same = match self.mode {
            Mode::Auto => true,
            Mode::Native => mode == kernel::Mode::Native,
            Mode::Generic => mode == kernel::Mode::Generic,
        };
        (!same).then(|| format!("its program runs in {} mode", ModeName(mode)))
    }

    fn occupied(&self, interface: &Interface, there: &Attached) -> Error {
        let program = kernel::ProgramRef {
            id: there.program.id,
            name: there.program.name.clone(),
            tag: kernel::tag_text(&there.program.tag),
            holders: list::Owners::now()
                .of_program(there.program.id)
                .iter()
                .map(ToString::to_string)
                .collect(),
        };
        Error::from(KernelError::Occupied {
            interface: interface.link.name.clone(),
            mode: ModeName(there.mode),
            program,
        })
    }
}

/// Other processes that hold a map, for a message.
pub(super) fn holders(map: u32) -> String {
    let own = std::process::id();
    let owners = list::Owners::now();
    let mut names: Vec<_> = owners
        .of_map(map)
        .iter()
        .filter(|owner| owner.pid != own)
        .map(ToString::to_string)
        .collect();
    names.sort();
    names.dedup();
    if names.is_empty() { "its holder in this process".to_owned() } else { names.join(", ") }
}

/// Also returned where a link was refused because of a program that was detached since; then the
/// next attempt succeeds.
fn no_link(interface: &str) -> KernelError {
    KernelError::Unsupported {
        what: format!("steering {interface}"),
        why: "this kernel attaches XDP programs without a link, so that the program would remain \
              after its users have ended; links require Linux 5.9"
            .to_owned(),
    }
}

/// The error of a link that has just been removed.
fn gone() -> KernelError {
    KernelError::System(sys::Error::new("bpf(LINK_GET_FD_BY_ID)", "link", ENOENT))
}

/// Why an attempt failed.
#[derive(Debug)]
enum Failure {
    /// The observed state changed meanwhile.
    Overtaken(Error),
    /// Another attempt would fail, too.
    Final(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        if is_overtaken(&error) { Self::Overtaken(error) } else { Self::Final(error) }
    }
}

fn is_overtaken(error: &Error) -> bool {
    let Error::Kernel(error) = error else { return false };
    use KernelError::{Occupied, Overtaken, Unsupported};
    matches!(**error, Overtaken { .. } | Occupied { .. } | Unsupported { .. })
        || error.errno().is_some_and(|errno| [ENOENT, EAGAIN, EBUSY, EEXIST].contains(&errno))
}

/// Whether another form of the program would fail, too.
fn is_final(error: &Error) -> bool {
    let denied = |error: &KernelError| matches!(error, KernelError::Denied { .. });
    !matches!(error, Error::Kernel(inner) if !denied(inner)) || is_overtaken(error)
}

/// Whether the stack may accept a program that the driver rejected.
fn is_about_mode(error: &Error) -> bool {
    !is_final(error)
}
