//! Confinement of commands that parse files and do not need the kernel.
//!
//! Rule: everything that needs rights, libraries or the network is done before; afterwards the
//! process can only open the files named on the command line, as the user who started it.
//! `docs/confinement.md` lists the commands.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use control::folder::Folder;
use control::text;
use sys::confine::{self, Files, KernelUse, Unprivileged};
use sys::stdio::is_stdio;

/// Files that a command names.
#[derive(Debug)]
pub struct Named {
    files: Files,
    privileges: Unprivileged,
}

/// Becomes the invoking user, without capabilities.
pub fn begin() -> Result<Named> {
    begin_with(KernelUse::None)
}

/// Becomes the invoking user, for a command that loads programs to test whether the kernel accepts
/// them.
pub fn begin_loading() -> Result<Named> {
    // They are opened by id, which needs CAP_SYS_ADMIN.
    kernel::open_module_types();
    // Only kernels before 5.11 have this limit.
    let _unprivileged = sys::cap::lift_memlock();
    let mut named = begin_with(KernelUse::LoadPrograms)?;
    LOADING_FILES.iter().for_each(|file| named.input(file));
    let release = sys::proc::kernel_release().unwrap_or_default();
    named.input(format!("/boot/config-{release}"));
    named.input(format!("/lib/modules/{release}/config"));
    Ok(named)
}

fn begin_with(kernel: KernelUse) -> Result<Named> {
    let privileges = confine::drop_privileges(kernel).context("privileges cannot be dropped")?;
    Ok(Named { files: Files::default(), privileges })
}

impl Named {
    /// An input: a file, or a directory with what is in it.
    pub fn input(&mut self, path: impl AsRef<Path>) {
        // Standard input is open already.
        if !is_stdio(path.as_ref()) {
            self.files.read(path.as_ref());
        }
    }

    /// A rule file with the files of its sets.
    pub fn rules(&mut self, path: &Path) {
        // Libraries for expressions cannot be opened after the process is confined.
        control::filter::source::prepare_expressions();
        named_files(path, "file").iter().for_each(|file| self.input(file));
        self.input(path);
    }

    /// A directory of declarations, with the rules and objects that they name.
    pub fn declarations(&mut self, dir: &Path) {
        self.input(dir);
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()).filter(|path| path.is_file()) {
            named_files(&path, "object").iter().for_each(|file| self.input(file));
            named_files(&path, "filter").iter().for_each(|file| self.rules(file));
        }
    }

    /// A directory for output, which is created now.
    pub fn output_dir(&mut self, path: &Path) -> Result<()> {
        Folder::make(path)?;
        self.files.write(path);
        Ok(())
    }

    /// A file for output: its directory, because the file gets its name when it is complete.
    pub fn output(&mut self, path: &Path) {
        if is_stdio(path) {
            return;
        }
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let is_device = path.starts_with("/dev");
        self.files.write(if is_device { path } else { parent.unwrap_or(Path::new(".")) });
    }

    /// Confines the process to these files.
    pub fn end(self) -> Result<()> {
        let Self { files, privileges } = self;
        privileges.confine(&files).context("this process cannot be confined")
    }
}

/// Existing files that a text names as `KEY = "PATH"`. The text is searched without the parser,
/// which runs only after the process is confined.
fn named_files(rules: &Path, key: &str) -> Vec<PathBuf> {
    // A pipe can be read once only, and that is the parser's.
    let text = rules.is_file().then(|| text::read(rules).ok()).flatten();
    let text = text.unwrap_or_default();
    let folder = rules.parent().unwrap_or(Path::new(""));
    let names = text.match_indices(key).filter_map(|(at, key)| quoted(&text[at + key.len()..]));
    names.map(|name| folder.join(name)).filter(|path| path.is_file()).take(FILES_MAX).collect()
}

/// `x` of ` = "x" …` or ` = 'x' …`, also after the quote that ends a key.
fn quoted(rest: &str) -> Option<&str> {
    let rest = rest.strip_prefix(['"', '\'']).unwrap_or(rest).trim_start();
    let value = rest.strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|c| "\"'".contains(*c))?;
    value[1..].lines().next()?.split(quote).next()
}

/// What loading reads of the kernel: types, symbols, configuration, version, memory.
const LOADING_FILES: [&str; 6] = [
    "/sys/kernel/btf",
    "/proc/kallsyms",
    "/proc/config.gz",
    "/proc/sys/kernel/osrelease",
    "/proc/meminfo",
    "/sys/fs/cgroup",
];
/// Files of sets that are allowed, at most.
const FILES_MAX: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn values_of_keys_are_found() {
        let table = [
            (" = \"a.txt\" }", Some("a.txt")),
            ("=   'b c'", Some("b c")),
            ("\" = \"x\"", Some("x")),
            (" = x", None),
            ("s = \"x\"", None),
            (" = \"open\nnext\"", Some("open")),
            ("", None),
        ];
        for (text, want) in table {
            assert_eq!(quoted(text), want, "{text}");
        }
    }
}
