//! `Attachment`: the redirect program on an interface, put there or found there.
//!
//! Rule: processes come and go while this looks, so what it saw may be gone when it acts. Every
//! step is one that the kernel does whole or refuses, and after a refusal for that reason all is
//! looked at again, a bounded number of times.

use kernel::list::{self, Attached, Interface};
use kernel::{Attach, Error as KernelError, Ifindex, Link, Map, ModeName, Replace};
use sys::errno::{EAGAIN, EBUSY, EEXIST, ENOENT};
use sys::mmap::Mapping;

use super::redirect::abi::State;
use super::redirect::{Form, Loaded, Purpose, STATE, VERSION, Work, XSKS};
use crate::error::{Error, Result};
use crate::limits::ATTACH_ATTEMPTS;

/// Where in the interface the program runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// In the driver if it can, else in the stack.
    #[default]
    Auto,
    Native,
    Generic,
}

/// How a program is attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Time, hash and VLAN tag are written in front of each packet that goes to a socket.
    pub rx_metadata: bool,
    /// Takes off a program that cannot be shared, whoever's it is; it is not put back. Without
    /// this it is an error that names it.
    pub replace: bool,
}

/// The program on one interface; it stays as long as any process holds such a thing.
#[derive(Debug)]
pub(super) struct Attachment {
    pub interface: String,
    pub queues: u32,
    pub work: Work,
    pub form: Form,
    pub mode: kernel::Mode,
    /// Why the driver did not take it.
    pub not_native: Option<String>,
    /// Somebody else put it there.
    pub joined: bool,
    pub xsks: Map,
    pub state: Mapping,
    link: Link,
}

impl Attachment {
    /// Whether the program is still on its interface.
    pub fn is_there(&self) -> Result<bool> {
        Ok(self.link.ifindex()?.is_some())
    }
}

/// What was asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub ifindex: Ifindex,
    pub mode: Mode,
    pub work: Work,
    pub replace: bool,
}

impl Wanted {
    /// Joins the program that is there, or attaches one.
    pub fn attach(&self) -> Result<Attachment> {
        let mut last = None;
        for _ in 0..ATTACH_ATTEMPTS {
            match self.attempt() {
                Err(Failure::Overtaken(error)) => last = Some(error),
                Err(Failure::Final(error)) => return Err(error),
                Ok(attachment) => return Ok(attachment),
            }
        }
        Err(last.expect("every attempt failed, and there was one at least"))
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

    /// Puts a program on an interface without any.
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
            // An older kernel or another device: the next form asks for less.
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

    /// Takes a share of the program that is there. The inner error: it cannot be shared.
    fn join(&self, interface: &Interface, there: &Attached) -> Result<Result<Attachment>> {
        let foreign = || Ok(Err(self.occupied(interface, there)));
        let Some(form) = Form::of(&there.program.name) else { return foreign() };
        // Its last holder may just be leaving: if that is all, another look finds it gone.
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
        if let Some(why) = self.disagreement(work, there.mode) {
            let holders = holders(xsks.id());
            let why = format!("{why}; ask for the same, or end {holders} first");
            return Ok(Err(Error::Interface { interface: interface.link.name.clone(), why }));
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

    /// Why what runs is not what was asked for.
    fn disagreement(&self, work: Work, mode: kernel::Mode) -> Option<String> {
        let what = |rules| if rules { "by rules" } else { "all traffic, by queue" };
        if work.has_rules() != self.work.has_rules() {
            let (now, then) = (what(work.has_rules()), what(self.work.has_rules()));
            return Some(format!("sockets get its packets {now}, not {then}"));
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

/// Also where a link was refused for a program that has just gone: then the next attempt has one.
fn no_link(interface: &str) -> KernelError {
    KernelError::Unsupported {
        what: format!("steering {interface}"),
        why: "this kernel attaches XDP programs without a link, and the program would stay when \
              its users are gone; Linux 5.9 or newer has links"
            .to_owned(),
    }
}

/// As if the link had been asked for a moment later.
fn gone() -> KernelError {
    KernelError::System(sys::Error::new("bpf(LINK_GET_FD_BY_ID)", "link", ENOENT))
}

/// What ended an attempt.
#[derive(Debug)]
enum Failure {
    /// What was looked at is gone, or something else came.
    Overtaken(Error),
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

/// Another form of the program would fail, too.
fn is_final(error: &Error) -> bool {
    let denied = |error: &KernelError| matches!(error, KernelError::Denied { .. });
    !matches!(error, Error::Kernel(inner) if !denied(inner)) || is_overtaken(error)
}

/// The driver may not want it, where the stack does.
fn is_about_mode(error: &Error) -> bool {
    !is_final(error)
}
