//! Opening an object by name: a file, or a built-in program.
//!
//! Rule: a built-in name takes precedence over a file of the same name (`./drop` is the file), and
//! opening does not query the kernel. Not here: loading.

use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

use spec::{Initial, MapDef, Program, ProgramKind, Spec};
use sys::stdio::{is_stdio, open_input};

use crate::error::{Context as _, Error, ObjectError, Result};
use crate::map_names::OBJECT;
use crate::text_map::bytes_map;

/// An object that was read, not loaded.
#[derive(Clone, Debug)]
pub struct Opened {
    pub spec: Spec,
    /// Whether it is built into this program.
    pub builtin: bool,
    /// Short name: the built-in name, or the name of the file without directory and extension.
    pub name: String,
    /// Where it comes from, and what was set.
    pub source: Source,
    /// The file; empty for a built-in object.
    bytes: Arc<[u8]>,
}

/// Where an object comes from, and what was set before it was loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// Absolute path of the file, or name of a built-in program.
    pub path: String,
    /// Number by which a changed file is recognized; `None` for a built-in program.
    pub digest: Option<u64>,
    pub kind: Option<String>,
    pub map_sizes: Vec<(String, u32)>,
    pub kconfig: Vec<(String, String)>,
}

/// Reads a built-in object, an object file, or assembly source in a file whose name ends with
/// `.s`; `-` is an object on standard input.
///
/// # Errors
/// Neither exists under this name, the file cannot be read, or it is malformed.
pub fn open(name: &str) -> Result<Opened> {
    if let Some((name, bytes)) = BUILTIN.iter().find(|(known, _)| *known == name) {
        let spec = Spec::parse(name, bytes)?;
        let source = Source { path: (*name).to_owned(), ..Source::default() };
        let (name, bytes) = ((*name).to_owned(), Arc::default());
        return Ok(Opened { spec, builtin: true, name, source, bytes });
    }
    if Path::new(name).extension().is_some_and(|ending| ending == "s") {
        return assemble(name);
    }
    let bytes = read(name)?;
    parse(if is_stdio(Path::new(name)) { "stdin" } else { name }, bytes)
}

/// Reads assembly source and makes an object of it; `-` is standard input.
///
/// # Errors
/// The file cannot be read, or it has a mistake.
pub fn assemble(name: &str) -> Result<Opened> {
    let text = read(name)?;
    let text = String::from_utf8_lossy(&text);
    let file = if is_stdio(Path::new(name)) { "stdin" } else { name };
    let bytes = spec::asm::source::assemble(file, &text);
    let mistake = |mistake| Error::Assembly { file: file.to_owned(), mistake: Box::new(mistake) };
    parse(file, bytes.map_err(mistake)?)
}

/// Parses the bytes of an object file with this path.
///
/// # Errors
/// They are malformed.
pub fn parse(name: &str, bytes: Vec<u8>) -> Result<Opened> {
    let spec = Spec::parse(name, &bytes)?;
    let path = std::path::absolute(name)
        .map_or_else(|_| name.to_owned(), |path| path.display().to_string());
    let source = Source { path, digest: Some(digest(&bytes)), ..Source::default() };
    let (name, bytes) = (stem(name).to_owned(), bytes.into());
    Ok(Opened { spec, builtin: false, name, source, bytes })
}

/// FNV-1a, which recognizes a changed file. It is not meant to resist a deliberate collision.
fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(FNV_BASIS, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(FNV_PRIME))
}

/// Offset basis and prime of 64-bit FNV-1a.
const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x100_0000_01b3;

/// Bytes of the largest value of a map (`KMALLOC_MAX_SIZE`).
const VALUE_MAX: usize = 4 << 20;
/// Bytes of the largest object that is read.
const OBJECT_MAX: u64 = 256 << 20;

fn read(path: &str) -> Result<Vec<u8>> {
    let bytes = open_input(Path::new(path)).and_then(|file| {
        let mut bytes = Vec::new();
        file.take(OBJECT_MAX + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > OBJECT_MAX {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "larger than 256 MiB"));
        }
        Ok(bytes)
    });
    match bytes {
        // A word without these characters was meant as the name of a built-in program.
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.contains(['/', '.']) => {
            let built_in = BUILTIN.iter().map(|(name, _)| *name).collect();
            Err(ObjectError::NotFound { name: path.to_owned(), built_in }.into())
        }
        other => other.with_context(|| format!("cannot read {path}")),
    }
}

impl Opened {
    /// The file; empty for a built-in object.
    pub fn bytes(&self) -> Arc<[u8]> {
        Arc::clone(&self.bytes)
    }

    /// The map that keeps the object file beside a program, so that it can be composed with others
    /// later; `None` for a built-in object, and for a file that is larger than a value can be.
    pub(crate) fn kept_map(&self) -> Option<MapDef> {
        let is_kept = !self.builtin && self.bytes.len() <= VALUE_MAX;
        is_kept.then(|| bytes_map(OBJECT, &self.bytes))
    }

    /// Sets global variables, each written as text.
    pub fn set(&mut self, values: &[(String, String)]) -> Result<()> {
        values.iter().try_for_each(|(name, value)| Ok(self.spec.set_global_text(name, value)?))
    }

    /// Sets sizes of maps, in entries or in bytes of a ring buffer, and values of kernel
    /// configuration options that the object reads, both by name.
    pub fn complete(
        &mut self,
        map_sizes: &[(String, u32)],
        kconfig: &[(String, String)],
    ) -> Result<()> {
        for (name, entries) in map_sizes {
            self.spec.set_map_entries(name, *entries)?;
        }
        self.source.map_sizes = map_sizes.to_vec();
        self.source.kconfig = kconfig.to_vec();
        let mut values = kconfig.iter();
        values.try_for_each(|(name, value)| Ok(self.spec.set_kconfig(name, value)?))
    }

    /// The program to attach: the named one, or the only one that an interface can run.
    ///
    /// # Errors
    /// There is no program of this name, or not exactly one that an interface can run.
    pub fn choose(&self, wanted: Option<&str>) -> Result<&Program, ObjectError> {
        let (object, programs) = (self.name.clone(), &self.spec.programs);
        if let Some(wanted) = wanted {
            return self.spec.program(wanted).ok_or_else(|| ObjectError::NoSuchProgram {
                object,
                program: wanted.to_owned(),
                known: names(programs),
            });
        }
        Err(match self.entries().as_slice() {
            [only] => return Ok(only),
            [] if programs.is_empty() => ObjectError::Empty { object },
            [] => ObjectError::NoXdpProgram { object, known: names(programs) },
            several => {
                let known = names(several.iter().copied());
                ObjectError::SeveralPrograms { object, known }
            }
        })
    }

    /// Sets the type of the named program and of those that program arrays of the object hold,
    /// since the programs of an array agree on their type; or that of all programs, regardless of
    /// their sections.
    ///
    /// # Errors
    /// The word is not the name of a program type.
    pub fn set_kind(
        &mut self,
        program: Option<&str>,
        kind: Option<&str>,
    ) -> Result<(), ObjectError> {
        self.source.kind = kind.map(str::to_owned);
        let Some(kind) = kind.map(parse_kind).transpose()? else { return Ok(()) };
        let held = program.map(|program| called(&self.spec, program)).unwrap_or_default();
        let all = self.spec.programs.iter_mut();
        let chosen = all.filter(|one| {
            program.is_none_or(|wanted| one.name == wanted || held.contains(&one.name))
        });
        chosen.for_each(|one| one.kind = kind);
        Ok(())
    }

    /// Programs that an interface can run and that no program array of the object holds; if there
    /// are none, those that program arrays hold.
    fn entries(&self) -> Vec<&Program> {
        let runs = |program: &&Program| {
            program.kind == ProgramKind::XDP
                || program.kind == ProgramKind::XDP_FRAGS
                || program.kind.is_unknown()
        };
        let (held, free): (Vec<_>, Vec<_>) = self
            .spec
            .programs
            .iter()
            .enumerate()
            .filter(|(_, program)| program.autoload && runs(program))
            .partition(|(number, _)| self.is_tail_call(*number));
        let chosen = if free.is_empty() { held } else { free };
        chosen.into_iter().map(|(_, program)| program).collect()
    }

    fn is_tail_call(&self, number: usize) -> bool {
        let mut initial = self.spec.maps.iter().flat_map(|map| &map.initial);
        initial.any(|one| matches!(one, Initial::Program { program, .. } if *program == number))
    }
}

/// Parses the name of a program type, as section names of objects spell it.
pub fn parse_kind(name: &str) -> Result<ProgramKind, ObjectError> {
    ProgramKind::from_name(name).ok_or_else(|| ObjectError::UnknownType(name.to_owned()))
}

/// The name of a file without directory and extension: `count` for `build/count.bpf.o`.
pub(crate) fn stem(path: &str) -> &str {
    let file = path.rsplit('/').next().unwrap_or(path);
    match file.split('.').next() {
        Some(stem) if !stem.is_empty() => stem,
        _ => file,
    }
}

/// Whether the word names a built-in program.
pub(crate) fn is_built_in(name: &str) -> bool {
    BUILTIN.iter().any(|(known, _)| *known == name)
}

/// Names of the other programs to load: those that program arrays of the object hold.
pub fn called(spec: &Spec, program: &str) -> Vec<String> {
    let initial = spec.maps.iter().flat_map(|map| &map.initial);
    let held = initial.filter_map(|one| match one {
        Initial::Program { program, .. } => spec.programs.get(*program),
        Initial::Map { .. } => None,
    });
    let mut names: Vec<_> = held.map(|one| one.name.clone()).collect();
    names.retain(|name| name != program);
    names.sort();
    names.dedup();
    names
}

fn names<'a>(programs: impl IntoIterator<Item = &'a Program>) -> Vec<String> {
    programs.into_iter().map(|program| program.name.clone()).collect()
}

/// The built-in objects, by reference: the value of another crate's static would be a copy.
static BUILTIN: &[(&str, &&[u8])] =
    &[("drop", &functions::drop::OBJECT), ("forward", &functions::route::OBJECT)];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::full;

    #[test]
    fn programs_of_one_array_have_one_type() {
        let bytes = include_bytes!("../../../bpf/prebuilt/test/locals.o");
        let mut opened = parse("locals.o", bytes.to_vec()).unwrap();
        opened.set_kind(Some("locals_first"), Some("xdp.frags")).unwrap();
        for name in ["locals_first", "locals_last"] {
            let program = opened.spec.program(name).unwrap();
            assert_eq!(program.kind, ProgramKind::XDP_FRAGS, "{name}");
        }
    }

    fn opened(programs: &[(&str, ProgramKind)]) -> Opened {
        let program = |(name, kind): &(&str, ProgramKind)| Program {
            name: (*name).to_owned(),
            kind: *kind,
            autoload: true,
            ..Program::default()
        };
        let spec = Spec { programs: programs.iter().map(program).collect(), ..Spec::default() };
        let (name, source) = ("x".to_owned(), Source::default());
        Opened { spec, builtin: false, name, source, bytes: Arc::default() }
    }

    #[test]
    fn built_in_programs_are_read() {
        for (name, _) in BUILTIN {
            let opened = open(name).unwrap();
            assert!(opened.builtin && opened.name == *name);
            assert!(opened.choose(None).unwrap().kind.is_xdp(), "{name}");
        }
    }

    #[test]
    fn wrong_words_say_what_would_be_right() {
        let table = [
            ("dorp", "built in are drop, forward"),
            ("./dorp", "cannot read ./dorp"),
            ("dorp.o", "cannot read dorp.o"),
            ("/etc/hostname", "not an ELF file"),
            ("/tmp", "cannot read /tmp"),
        ];
        for (word, part) in table {
            let text = full(&open(word).unwrap_err());
            assert!(text.contains(part), "{word}: {text}");
        }
    }

    #[test]
    fn the_only_entry_is_the_default() {
        let (xdp, devmap, tc) = (ProgramKind::XDP, ProgramKind::XDP_DEVMAP, ProgramKind::TC);
        let name = |opened: &Opened| opened.choose(None).map(|program| program.name.clone());
        assert_eq!(name(&opened(&[("a", xdp)])).unwrap(), "a");
        assert_eq!(name(&opened(&[("a", tc), ("b", xdp), ("c", devmap)])).unwrap(), "b");
        assert_eq!(name(&opened(&[("a", ProgramKind::default())])).unwrap(), "a");
        let mut tails = opened(&[("a", xdp), ("b", xdp)]);
        let text = name(&tails).unwrap_err().to_string();
        assert!(text.contains("--program: a, b"), "{text}");
        let initial = vec![Initial::Program { index: 0, program: 1 }];
        tails.spec.maps.push(spec::MapDef { initial, ..Default::default() });
        assert_eq!(name(&tails).unwrap(), "a", "b is only ever called by a");
        assert!(name(&opened(&[("a", tc)])).unwrap_err().to_string().contains("no XDP"));
        assert!(name(&opened(&[])).is_err());
        let two = opened(&[("a", xdp), ("b", xdp)]);
        assert_eq!(two.choose(Some("b")).unwrap().name, "b");
        assert!(two.choose(Some("c")).unwrap_err().to_string().contains("it has a, b"));
    }

    #[test]
    fn types_are_said_for_one_or_all() {
        let mut two = opened(&[("a", ProgramKind::default()), ("b", ProgramKind::default())]);
        two.set_kind(Some("b"), Some("xdp.frags")).unwrap();
        assert_eq!(two.spec.programs[1].kind, ProgramKind::XDP_FRAGS);
        assert!(two.spec.programs[0].kind.is_unknown());
        two.set_kind(None, Some("tc")).unwrap();
        assert!(two.spec.programs.iter().all(|program| program.kind == ProgramKind::TC));
        assert!(two.set_kind(None, Some("nonsense")).is_err());
    }

    #[test]
    fn names_come_from_files() {
        let table =
            [("build/count.bpf.o", "count"), ("x.o", "x"), ("/a/.o", ".o"), ("plain", "plain")];
        for (path, name) in table {
            assert_eq!(stem(path), name);
        }
    }
}
