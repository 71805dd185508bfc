//! `Prepared`: a declaration with everything that it names read: rules, objects.
//!
//! Rule: preparing needs no rights and touches no interface, so that `apply --check` and `apply`
//! refuse the same files for the same reasons.

use filter::{Environment, File};

use crate::attach::AttachOptions;
use crate::declaration::table::pairs;
use crate::declaration::{Declaration, DeclarationError, Kind, Program, Reason, protected};
use crate::detection::AutoOptions;
use crate::drop::DropOptions;
use crate::error::{Error, Result};
use crate::filter::{ApplyOptions, FilterPlacement, ruleset, source};
use crate::forward::ForwardOptions;
use crate::object::{self, Opened};
use crate::target::Placement;

/// A declaration, ready to be compared with what runs.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub declaration: Declaration,
    /// `None` if no program may run.
    pub request: Option<Request>,
}

/// The request to a library function that a declaration amounts to.
#[derive(Clone, Debug)]
pub enum Request {
    Filter(Box<File>, Box<ApplyOptions>),
    Drop(DropOptions),
    Forward(ForwardOptions),
    Object(Box<Opened>, AttachOptions),
}

impl Prepared {
    /// Reads what a declaration names.
    ///
    /// # Errors
    /// Rules or an object cannot be read, or are not valid.
    pub fn new(declaration: Declaration) -> Result<Self, DeclarationError> {
        if let Some(file) = declaration.program.as_ref().and_then(|program| program.kind.file()) {
            protected(file).map_err(|reason| declaration.error(reason))?;
        }
        let request = declaration.program.as_ref().map(|program| request(&declaration, program));
        match request.transpose() {
            Ok(request) => Ok(Self { declaration, request }),
            Err(error) => Err(declaration.error(Reason::Invalid(Box::new(error)))),
        }
    }

    /// How floods are detected on the interface; `None` if they are not.
    pub fn detection(&self) -> Option<&AutoOptions> {
        match &self.declaration.program.as_ref()?.kind {
            Kind::Filter { detect, .. } => detect.as_deref(),
            _ => None,
        }
    }

    /// Compiles rules, and finds the program of an object, as loading does.
    ///
    /// # Errors
    /// The program could not be made.
    pub fn check(&self) -> Result<(), DeclarationError> {
        let checked = match &self.request {
            Some(Request::Filter(file, _)) => check_rules(file),
            _ => Ok(()),
        };
        checked.map_err(|error| self.declaration.error(Reason::Invalid(Box::new(error))))
    }
}

fn check_rules(file: &File) -> Result<()> {
    // Interfaces that rules name need not exist yet.
    let names = ruleset::interface_names(&file.ruleset).cloned();
    let environment =
        Environment { interfaces: names.zip(1..).collect(), ..Environment::default() };
    filter::compile(&file.ruleset, &environment).map(drop).map_err(Error::from)
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
        Kind::Forward(config) => Request::Forward(ForwardOptions {
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
