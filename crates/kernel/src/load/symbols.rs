//! The running kernel's symbols and types, read only when something asks for them.
//!
//! Rule: the kernel's own types are the same as long as it runs, so a process reads and indexes
//! these megabytes once; symbols and modules may change, so each load reads them anew.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::OnceLock;

use spec::btf::{Btf, Kind};
use sys::errno::ENOENT;

use super::module::{self, Module};
use crate::error::Result;

/// Where a kernel variable or function is described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Type id of the symbol.
    pub type_id: u32,
    /// `None` for the kernel itself, else a number for [`Host::module_fd`].
    pub module: Option<usize>,
}

#[derive(Debug, Default)]
pub(crate) struct Host {
    symbols: Option<String>,
    modules: Option<Vec<Module>>,
}

impl Host {
    /// Creates a host of which nothing has been read.
    pub fn new() -> Self {
        Self::default()
    }

    /// The kernel's own types, `None` when it has none.
    pub fn types(&self) -> Result<Option<&'static Btf>> {
        if let Some(known) = TYPES.get() {
            return Ok(known.as_ref());
        }
        let read = match sys::proc::kernel_btf() {
            Ok(raw) => Some(Btf::parse(&raw)?),
            Err(error) if error.is(ENOENT) => None,
            Err(error) => return Err(error.into()),
        };
        Ok(TYPES.get_or_init(|| read).as_ref())
    }

    /// The address of a symbol, `None` when there is none or it is hidden.
    pub fn address(&mut self, name: &str) -> Result<Option<u64>> {
        if self.symbols.is_none() {
            self.symbols = Some(sys::proc::kallsyms()?);
        }
        let text = self.symbols.as_deref().unwrap_or_default();
        Ok(find_symbol(text, name).filter(|address| *address != 0))
    }

    /// Finds a variable of the kernel or of a module.
    pub fn variable(&mut self, name: &str) -> Result<Option<Place>> {
        self.place(Kind::Var, name)
    }

    /// Finds a function of the kernel or of a module.
    pub fn function(&mut self, name: &str) -> Result<Option<Place>> {
        // A suffix after `___` distinguishes declarations of one function in the source.
        let name = name.split("___").next().unwrap_or(name);
        self.place(Kind::Func, name)
    }

    /// Descriptor of a module's BTF.
    pub fn module_fd(&self, module: usize) -> BorrowedFd<'_> {
        let modules = self.modules.as_deref().unwrap_or_default();
        modules[module].fd.as_fd()
    }

    /// Descriptors in the order that instructions number them; empty when none is needed. Index
    /// 0, which stands for vmlinux, is never read and repeats the first.
    pub fn fd_array(&self, modules: Vec<usize>) -> Vec<BorrowedFd<'_>> {
        let first = modules.first().copied();
        first.into_iter().chain(modules).map(|module| self.module_fd(module)).collect()
    }

    fn place(&mut self, kind: Kind, name: &str) -> Result<Option<Place>> {
        let Some(types) = self.types()? else { return Ok(None) };
        if let Some(type_id) = types.find(kind, name) {
            return Ok(Some(Place { type_id, module: None }));
        }
        if self.modules.is_none() {
            self.modules = Some(module::all(types));
        }
        let modules = self.modules.as_deref().unwrap_or_default();
        Ok(modules.iter().enumerate().find_map(|(number, module)| {
            let type_id = module.btf.find(kind, name)?;
            Some(Place { type_id, module: Some(number) })
        }))
    }
}

/// Types of the running kernel, read at their first use; `None` if it publishes none.
static TYPES: OnceLock<Option<Btf>> = OnceLock::new();

/// Lines are `address type name`, with the module's name after a tab.
fn find_symbol(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let address = words.next()?;
        let found = words.nth(1)? == name;
        found.then(|| u64::from_str_radix(address, 16).ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_found_by_their_whole_name() {
        let text = "ffffffff81000000 T _stext\nffffffff81000040 D jiffies\n\
                    ffffffffc0000010 t nf_ct\t[nf_conntrack]\n";
        assert_eq!(find_symbol(text, "jiffies"), Some(0xffff_ffff_8100_0040));
        assert_eq!(find_symbol(text, "nf_ct"), Some(0xffff_ffff_c000_0010));
        assert_eq!(find_symbol(text, "jiff"), None);
    }
}
