//! `Prepared`: a declaration with everything that it names read: rules, objects.
//!
//! Rule: preparing needs no rights and touches no interface, so that `apply --check` and `apply`
//! refuse the same files for the same reasons.

use std::time::Duration;

use filter::{Environment, File};

use super::change::Action;
use crate::Control;
use crate::attach::{self, AttachOptions};
use crate::balance::{self, BalanceOptions};
use crate::declaration::table::pairs;
use crate::declaration::{Declaration, DeclarationError, Kind, Program, Reason, protected};
use crate::detection::AutoOptions;
use crate::drop::{self, DropOptions};
use crate::error::{Error, Result};
use crate::filter::update::Update;
use crate::filter::{ApplyOptions, FilterPlacement, ruleset, source, temporary};
use crate::lockout::Lockout;
use crate::object::{self, Opened};
use crate::route::{self, RouteOptions};
use crate::target::{Place, Placement};

/// A declaration, ready to be compared with what runs.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub declaration: Declaration,
    /// One for each program of the declaration.
    pub requests: Vec<Request>,
}

/// The request to a library function that a declaration amounts to.
#[derive(Clone, Debug)]
pub enum Request {
    Filter(Box<File>, Box<ApplyOptions>),
    Drop(DropOptions),
    Balance(Box<BalanceOptions>),
    Forward(RouteOptions),
    Object(Box<Opened>, AttachOptions),
}

impl Request {
    /// Whether its code is another one in another mode, where it sees VLAN tags in another way.
    pub fn depends_on_mode(&self) -> bool {
        matches!(self, Self::Filter(..) | Self::Forward(_))
    }

    /// The request with what depends on what runs.
    pub fn placed(mut self, options: &ApplyPlacement) -> Self {
        let ApplyPlacement { confirm, lockout, replace, place } = options.clone();
        let all = |one: &mut Placement| {
            (one.confirm, one.lockout, one.replace) = (confirm, lockout, replace);
            one.place.clone_from(&place);
        };
        match &mut self {
            Self::Filter(_, asked) => {
                let one = &mut asked.placement;
                (one.confirm, one.lockout, one.replace) = (confirm, lockout, replace);
                one.place.clone_from(&place);
            }
            Self::Drop(asked) => all(&mut asked.placement),
            Self::Balance(asked) => all(&mut asked.placement),
            Self::Forward(asked) => all(&mut asked.placement),
            Self::Object(_, asked) => all(&mut asked.placement),
        }
        self
    }

    /// Makes the call of the library, on the first of these interfaces or, where the program is for
    /// several, on all of them.
    ///
    /// # Errors
    /// Those of the call.
    pub fn make(self, control: &Control, interfaces: &[String]) -> Result<()> {
        let first = &interfaces[0];
        match self {
            Self::Filter(mut file, mut asked) => {
                let update = Update::begin(control, first)?;
                asked.temporary = temporary::keep(update.active(), &mut file)?;
                update.apply(&file, &asked)?;
            }
            Self::Drop(asked) => {
                drop::configure(control, first, &asked)?;
            }
            Self::Balance(asked) => {
                balance::load(control, first, &asked)?;
            }
            Self::Forward(asked) => {
                route::configure(control, interfaces, &asked)?;
            }
            Self::Object(mut opened, asked) => {
                attach::attach(control, first, &mut opened, &asked)?;
            }
        }
        Ok(())
    }
}

/// How a prepared program is placed on what runs.
#[derive(Clone, Debug, Default)]
pub struct ApplyPlacement {
    pub confirm: Option<Duration>,
    pub lockout: Lockout,
    pub replace: bool,
    pub place: Option<Place>,
}

impl Prepared {
    /// Reads what a declaration names.
    ///
    /// # Errors
    /// Rules or an object cannot be read, or are not valid.
    pub fn new(declaration: Declaration) -> Result<Self, DeclarationError> {
        for file in declaration.programs.iter().filter_map(|program| program.kind.file()) {
            protected(file).map_err(|reason| declaration.error(reason))?;
        }
        let programs = declaration.programs.iter();
        match programs.map(|program| request(&declaration, program)).collect::<Result<Vec<_>>>() {
            Ok(requests) => {
                let mut declaration = declaration;
                for (program, request) in declaration.programs.iter_mut().zip(&requests) {
                    if let Request::Balance(asked) = request
                        && asked.config.translates()
                    {
                        program.further.clone_from(&asked.out);
                    }
                }
                Ok(Self { declaration, requests })
            }
            Err(error) => Err(declaration.error(Reason::Invalid(Box::new(error)))),
        }
    }

    /// The programs, each with its request.
    pub fn all(&self) -> impl Iterator<Item = (&Program, &Request)> {
        self.declaration.programs.iter().zip(&self.requests)
    }

    /// The programs for one of the interfaces: all for the declared one, `own`, and for others
    /// those that run there as well.
    pub fn on<'s>(
        &'s self,
        own: &'s str,
        interface: &'s str,
    ) -> impl Iterator<Item = (&'s Program, &'s Request)> {
        self.all().filter(move |(program, _)| program.runs_on(own, interface))
    }

    /// Whether the change of a program on another interface is one of a program that is declared
    /// for several.
    pub fn spans(&self, program: &str, action: Action) -> bool {
        let is_meant = |one: &Program| one.name() == program && one.spans();
        action != Action::Detach && self.declaration.programs.iter().any(is_meant)
    }

    /// How floods are detected on the interface; `None` if they are not.
    pub fn detection(&self) -> Option<&AutoOptions> {
        self.declaration.programs.iter().find_map(|program| match &program.kind {
            Kind::Filter { detect, .. } => detect.as_deref(),
            _ => None,
        })
    }

    /// Compiles rules, and finds the program of an object, as loading does.
    ///
    /// # Errors
    /// The program could not be made.
    pub fn check(&self) -> Result<(), DeclarationError> {
        let check = |request: &Request| match request {
            Request::Filter(file, _) => check_rules(file),
            _ => Ok(()),
        };
        let checked = self.requests.iter().try_for_each(check);
        checked.map_err(|error| self.declaration.error(Reason::Invalid(Box::new(error))))
    }
}

fn check_rules(file: &File) -> Result<()> {
    // Interfaces that rules name need not exist yet.
    let names = ruleset::interface_names(&file.ruleset).cloned();
    let environment =
        Environment { interfaces: names.zip(1..).collect(), ..Environment::default() };
    filter::compile(&file.ruleset, &environment).map(std::mem::drop).map_err(Error::from)
}

fn request(declaration: &Declaration, program: &Program) -> Result<Request> {
    let table = &program.table;
    let placement = Placement {
        mode: declaration.mode,
        replace: declaration.replace,
        set: pairs(&table.set),
        declaration: Some(declaration.path.clone()),
        ..Placement::default()
    };
    Ok(match &program.kind {
        Kind::Filter { rules, memory, detect } => {
            let placement = FilterPlacement {
                mode: Some(placement.mode),
                replace: placement.replace,
                set: placement.set,
                memory: *memory,
                ignore_stripped_tags: table.ignore_stripped_tags,
                declaration: placement.declaration,
                ..FilterPlacement::default()
            };
            let options = ApplyOptions { placement, reset: true, ..ApplyOptions::default() };
            let file = source::read(rules)?;
            if let Some(auto) = detect {
                auto.detect.settings(&file.scope)?;
            }
            Request::Filter(Box::new(file), Box::new(options))
        }
        Kind::Drop => {
            let set = table.drop.as_ref().map(|table| table.rules.clone());
            Request::Drop(DropOptions { set, placement, ..DropOptions::default() })
        }
        Kind::Balance { services } => {
            let (config, out) = (balance::read(services)?, table.out.clone());
            Request::Balance(Box::new(BalanceOptions {
                config,
                out,
                wait_sync: balance::WAIT_SYNC,
                placement,
            }))
        }
        Kind::Forward(config) => Request::Forward(RouteOptions {
            config: (**config).clone(),
            ignore_stripped_tags: table.ignore_stripped_tags,
            placement,
        }),
        Kind::Object { path } => {
            let mut opened = object::open(path)?;
            opened.set_kind(table.program.as_deref(), table.kind.as_deref())?;
            let sizes: Vec<_> = table.map_size.clone().into_iter().collect();
            opened.complete(&sizes, &pairs(&table.kconfig))?;
            opened.choose(table.program.as_deref())?;
            let (program, count) = (table.program.clone(), table.count.unwrap_or(true));
            Request::Object(Box::new(opened), AttachOptions { program, count, placement })
        }
    })
}
