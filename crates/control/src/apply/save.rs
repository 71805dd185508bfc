//! `save`: writes what runs as declarations.
//!
//! Rule: applying what was saved changes nothing. Rules that a detection added for a time are not
//! saved. Existing files with other contents are not
//! replaced unless that is requested.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use sys::net::Netlink;
use sys::netns::NetNs;

use super::current::{Current, RunningMember};
use crate::Control;
use crate::balance;
use crate::declaration::table::{
    DeclarationTable, DropTable, ForwardTable, OnStop, ProgramTable, table_of,
};
use crate::drop::RunningDrop;
use crate::error::{Context as _, Error, Result};
use crate::filter::active::ActiveFilter;
use crate::folder::Folder;
use crate::member::Member;
use crate::object;
use crate::state::State;

/// What to save.
#[derive(Clone, Debug, Default)]
pub struct SaveOptions {
    /// Interfaces to save; all with programs of this project if none is named.
    pub interfaces: Vec<String>,
    /// Replace files with other contents.
    pub force: bool,
}

/// Files that were written.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Saved {
    /// Paths of written files.
    pub written: Vec<PathBuf>,
    /// Paths of files that had the same contents already.
    pub unchanged: Vec<PathBuf>,
    /// Programs that cannot be saved, with the reason.
    pub skipped: Vec<Skipped>,
}

/// A program that cannot be saved.
#[derive(Clone, Debug, Serialize)]
pub struct Skipped {
    /// Name of the interface.
    pub interface: String,
    /// Why it is not saved.
    pub reason: String,
}

/// A declaration, with the files that it names.
type Files = (DeclarationTable, Vec<NewText>);

/// A file to be written.
struct NewText {
    /// Path below the directory.
    path: PathBuf,
    text: String,
    /// Whether it has a key.
    is_secret: bool,
}

/// Writes declarations of what runs into a directory, which is created if it is missing.
///
/// # Errors
/// The state directory cannot be read, or a file exists with other contents; then nothing is
/// written.
pub fn save(control: &Control, dir: &Path, options: &SaveOptions) -> Result<Saved> {
    let (state, netns) = (State::read(control)?, NetNs::current()?.id()?);
    let (mut saved, mut texts) = (Saved::default(), Vec::new());
    // Interfaces whose router is in the file of another one.
    let mut routed = BTreeSet::new();
    for link in Netlink::open()?.links()? {
        let is_wanted = options.interfaces.is_empty() || options.interfaces.contains(&link.name);
        if link.xdp.is_empty() || !is_wanted {
            continue;
        }
        let current = Current::read(&state, netns, &link)?;
        match declaration(control, &current, routed.contains(&link.name))? {
            Ok((table, _)) if table.programs.is_empty() => {}
            Ok((table, files)) => {
                let forward = table.programs.iter().filter_map(|one| one.forward.as_ref());
                routed.extend(forward.flat_map(|one| one.interfaces.clone()));
                texts.extend(files);
                texts.push(NewText {
                    path: PathBuf::from(format!("{}.toml", link.name)),
                    text: toml::to_string(&table).unwrap_or_default(),
                    is_secret: false,
                });
            }
            Err(reason) => saved.skipped.push(Skipped { interface: link.name, reason }),
        }
    }
    let texts = to_write(dir, texts, options.force, &mut saved)?;
    for NewText { path, text, is_secret } in texts {
        let whole = dir.join(&path);
        let folder = Folder::make(whole.parent().unwrap_or(dir))?;
        let name = whole.file_name().unwrap_or_default().to_string_lossy().into_owned();
        saved.written.push(match is_secret {
            true => folder.put_secret(&name, &text)?,
            false => folder.put(&name, &text)?,
        });
    }
    Ok(saved)
}

/// Texts that are not in the directory yet.
fn to_write(
    dir: &Path,
    texts: Vec<NewText>,
    force: bool,
    saved: &mut Saved,
) -> Result<Vec<NewText>> {
    let mut new = Vec::new();
    for one in texts {
        let path = dir.join(&one.path);
        match std::fs::read_to_string(&path) {
            Ok(old) if old == one.text => saved.unchanged.push(path),
            Ok(_) if !force => return Err(Error::FileExists { path }),
            Err(error) if error.kind() != io::ErrorKind::NotFound && !force => {
                return Err(error).with_context(|| format!("cannot read {}", path.display()));
            }
            _ => new.push(one),
        }
    }
    Ok(new)
}

/// The declaration of what runs on an interface, with the files that it names, or why there is
/// none. The router of an interface that is routed is left out, and so is the balancer that
/// translates on several interfaces, but on one of them.
fn declaration(
    control: &Control,
    current: &Current,
    is_routed: bool,
) -> Result<std::result::Result<Files, String>> {
    let [running] = current.running.as_slice() else {
        return Ok(Err("it runs programs in several modes".to_owned()));
    };
    if running.members.is_empty() {
        return Ok(Err(format!("its program `{}` was attached by another tool", running.name())));
    }
    let (mut files, mut programs) = (Vec::new(), Vec::new());
    for member in &running.members {
        let table = match member.name() {
            "filter" => {
                let (table, file) = filter(current)?;
                files.push(file);
                table
            }
            "drop" if is_function(member) => drop_table(current, member)?,
            "balance" if is_function(member) => {
                let (table, file) = balancer(current, member);
                if is_arm(control, current, &table)? {
                    continue;
                }
                files.push(file);
                table
            }
            name => match member.record.as_ref() {
                Some(record) if is_routed && record.program.forward.is_some() => continue,
                Some(record) => without_own(current, record.program.clone()),
                None => {
                    return Ok(Err(format!("an earlier version of xway attached `{name}`")));
                }
            },
        };
        programs.push(placed(member, table));
    }
    let table = DeclarationTable {
        interface: current.name.clone(),
        mode: running.mode.into(),
        on_stop: OnStop::default(),
        replace: false,
        programs,
    };
    Ok(Ok((table, files)))
}

/// The table with the place of the member, where it is not the default.
fn placed(member: &RunningMember, table: ProgramTable) -> ProgramTable {
    let own = table.object.as_deref().map(object::stem);
    let name = own.filter(|own| *own != member.name()).map(|_| member.name().to_owned());
    let Some(place) = &member.place else { return ProgramTable { name, ..table } };
    let default = Member::new(member.name(), "");
    let priority = (place.priority != default.priority).then_some(place.priority);
    let continue_on = (place.continue_on != default.continue_on).then(|| place.continue_on.clone());
    ProgramTable { name, priority, continue_on, ..table }
}

fn filter(current: &Current) -> Result<(ProgramTable, NewText)> {
    let active = ActiveFilter::find(&current.slot, current.link.ifindex)?;
    let interface = || current.name.clone();
    let active = active.ok_or_else(|| Error::NoFilter { interface: interface() })?;
    let path = PathBuf::from(format!("rules/{}.toml", current.name));
    let table = ProgramTable {
        filter: Some(path.display().to_string()),
        set: table_of(active.globals()?.pairs()),
        ..ProgramTable::default()
    };
    Ok((table, NewText { path, text: active.permanent_text()?, is_secret: false }))
}

/// A balancer, with the file of its services.
fn balancer(current: &Current, running: &RunningMember) -> (ProgramTable, NewText) {
    let record = running.record.clone().unwrap_or_default();
    let path = PathBuf::from(format!("services/{}.toml", current.name));
    let balance = Some(path.display().to_string());
    let config = record.balance.unwrap_or_default();
    let file =
        NewText { path, text: balance::text(&config), is_secret: balance::is_secret(&config) };
    (ProgramTable { balance, ..record.program }, file)
}

/// Whether the balancer of an interface is in the file of another one.
fn is_arm(control: &Control, current: &Current, table: &ProgramTable) -> Result<bool> {
    let owner = balance::owner(control, &current.slot, (current.link.ifindex, &table.out))?;
    Ok(owner.is_some_and(|owner| owner != current.name))
}

/// Whether the program is the function of its name, and not the object of this name.
fn is_function(running: &RunningMember) -> bool {
    running.record.as_ref().is_some_and(|record| record.program.object.is_none())
}

fn drop_table(current: &Current, running: &RunningMember) -> Result<ProgramTable> {
    let drop = RunningDrop::find(&current.slot, current.link.ifindex)?;
    let rules = drop.map_or_else(|| Ok(Vec::new()), |drop| drop.rules())?;
    let record = running.record.clone().unwrap_or_default();
    Ok(ProgramTable { drop: Some(DropTable { rules }), ..record.program })
}

/// `forward` lists the other interfaces.
fn without_own(current: &Current, mut table: ProgramTable) -> ProgramTable {
    if let Some(ForwardTable { interfaces, .. }) = &mut table.forward {
        interfaces.retain(|name| *name != current.name);
    }
    table
}
