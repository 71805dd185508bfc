//! A loaded program's instructions, after the verifier's rewriting and as machine code, with the
//! source lines that they came from.

use std::os::fd::AsFd;

use spec::Insn;
use spec::btf::Btf;
use sys::bpf::{self, ProgListing};

use super::Program;
use crate::error::{Result, named};
use crate::verifier::Source;

/// Everything that the kernel shows of a program's code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dump {
    /// As the kernel interprets or compiles it; helpers and maps are kernel numbers.
    pub translated: Vec<Insn>,
    /// The functions of the program, main first.
    pub functions: Vec<DumpFunction>,
    /// Sorted by slot.
    pub lines: Vec<DumpLine>,
    /// The machine code of all functions, end to end; empty without JIT.
    pub machine: Vec<u8>,
}

/// A function of a dumped program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DumpFunction {
    /// Name of the function; empty if it has no type.
    pub name: String,
    /// First slot.
    pub slot: usize,
    /// Kernel address, 0 when hidden.
    pub address: u64,
    /// First byte in [`Dump::machine`].
    pub machine_at: usize,
    /// Length of the machine code in bytes.
    pub machine_len: usize,
}

/// A source line of a dumped program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DumpLine {
    /// First slot of the line.
    pub slot: usize,
    /// First byte of the line in [`Dump::machine`], if the kernel reports it.
    pub machine_at: Option<usize>,
    /// File, line number and text.
    pub source: Source,
    /// Column in the source line, from 1.
    pub column: u32,
}

impl Program {
    /// Needs `CAP_SYS_ADMIN` or `CAP_BPF` and `CAP_PERFMON`.
    pub fn dump(&self) -> Result<Dump> {
        let listing = bpf::prog_listing(self.as_fd()).map_err(named(&self.name))?;
        let btf = self.btf()?;
        let functions = functions(&listing, btf.as_ref(), &self.name);
        let lines = listing
            .lines
            .iter()
            .enumerate()
            .map(|(at, record)| {
                let address = listing.line_addresses.get(at).copied();
                line(record, btf.as_ref(), address.and_then(|at| place(at, &functions)))
            })
            .collect();
        let translated = listing
            .xlated
            .chunks_exact(Insn::SIZE)
            .map(|raw| Insn::from_bytes(raw.try_into().unwrap_or_default()))
            .collect();
        Ok(Dump { translated, functions, lines, machine: listing.jited })
    }

    /// The types that the program was loaded with, `None` without.
    pub fn btf(&self) -> Result<Option<Btf>> {
        let id = self.info()?.btf_id;
        if id == 0 {
            return Ok(None);
        }
        let fd = bpf::fd_by_id(bpf::Kind::Btf, id).map_err(named(&self.name))?;
        let info = bpf::btf_info(fd.as_fd(), true).map_err(named(&self.name))?;
        Ok(Some(Btf::parse(&info.raw)?))
    }
}

fn functions(listing: &ProgListing, btf: Option<&Btf>, fallback: &str) -> Vec<DumpFunction> {
    let count = listing.functions.len().max(listing.function_addresses.len()).max(1);
    let mut machine_at = 0;
    let mut all = Vec::with_capacity(count);
    for number in 0..count {
        let (slot, type_id) = listing.functions.get(number).copied().unwrap_or_default();
        let name = btf.and_then(|btf| btf.ty(type_id)).map(|ty| ty.name().to_owned());
        let machine_len = listing.function_lens.get(number).copied().unwrap_or_default() as usize;
        all.push(DumpFunction {
            name: name.unwrap_or_else(|| fallback.to_owned()),
            slot: slot as usize,
            address: listing.function_addresses.get(number).copied().unwrap_or_default(),
            machine_at,
            machine_len,
        });
        machine_at += machine_len;
    }
    all
}

/// The four words of `struct bpf_line_info`: slot, file, text, line above ten bits of column.
fn line(record: &[u32; 4], btf: Option<&Btf>, machine_at: Option<usize>) -> DumpLine {
    let [slot, file, text, place] = *record;
    let string = |at| {
        btf.and_then(|btf| btf.string(at)).map(|text| text.trim().to_owned()).unwrap_or_default()
    };
    DumpLine {
        slot: slot as usize,
        machine_at,
        source: Source { text: string(text), file: string(file), line: place >> 10 },
        column: place & 0x3ff,
    }
}

/// From a kernel address to a place in the machine code as it was copied out.
fn place(address: u64, functions: &[DumpFunction]) -> Option<usize> {
    functions.iter().find_map(|function| {
        let inside = usize::try_from(address.checked_sub(function.address)?).ok()?;
        (function.address != 0 && inside < function.machine_len)
            .then_some(function.machine_at + inside)
    })
}
