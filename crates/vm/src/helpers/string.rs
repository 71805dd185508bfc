//! Kfuncs on strings: they read any memory, byte by byte, and return errors for missing memory.

use super::{KfuncRow, int, kfunc_row};
use crate::errno::Errno;
use crate::fault::Fault;
use crate::memory::{Memory, RegionId};
use crate::processor::Processor;

pub(super) const KFUNCS: &[KfuncRow] = &[
    kfunc_row("bpf_strcmp", |processor, args| {
        answer(processor, |text| text.compare(args, |byte| byte))
    }),
    kfunc_row("bpf_strcasecmp", |processor, args| {
        answer(processor, |text| text.compare(args, |byte| byte.to_ascii_lowercase()))
    }),
    kfunc_row("bpf_strnchr", |processor, args| {
        answer(processor, |text| text.find(args[0], args[1], args[2]))
    }),
    kfunc_row("bpf_strchr", |processor, args| {
        answer(processor, |text| text.find(args[0], LONGEST, args[1]))
    }),
    kfunc_row("bpf_strchrnul", |processor, args| answer(processor, |text| text.find_or_end(args))),
    kfunc_row("bpf_strrchr", |processor, args| answer(processor, |text| text.find_last(args))),
    kfunc_row("bpf_strnlen", |processor, args| {
        answer(processor, |text| text.length(args[0], args[1]))
    }),
    kfunc_row("bpf_strlen", |processor, args| {
        answer(processor, |text| text.length(args[0], LONGEST))
    }),
    kfunc_row("bpf_strspn", |processor, args| answer(processor, |text| text.span(args, true))),
    kfunc_row("bpf_strcspn", |processor, args| answer(processor, |text| text.span(args, false))),
    kfunc_row("bpf_strnstr", |processor, args| {
        answer(processor, |text| text.search(args[0], args[1], args[2]))
    }),
    kfunc_row("bpf_strstr", |processor, args| {
        answer(processor, |text| text.search(args[0], args[1], LONGEST))
    }),
];

/// The result of a function that returns an `int`; each byte that it reads counts as work.
fn answer(
    processor: &mut Processor,
    read: impl FnOnce(&mut Text<'_>) -> Result<i32, Errno>,
) -> Result<u64, Box<Fault>> {
    let mut text = Text { memory: &processor.memory, read: 0 };
    let result = read(&mut text);
    let bytes = text.read;
    processor.charge(bytes)?;
    Ok(result.map_or_else(int, |value| u64::from(value as u32)))
}

/// Strings in memory, and the number of bytes that were read.
struct Text<'a> {
    memory: &'a Memory,
    read: u64,
}

impl Text<'_> {
    fn byte(&mut self, address: u64, at: u64) -> Result<u8, Errno> {
        self.read += 1;
        let byte = self.memory.load8(address.wrapping_add(at));
        byte.map(|byte| byte as u8).map_err(|_| Errno::EFAULT)
    }

    fn compare(&mut self, args: &[u64; 5], folded: fn(u8) -> u8) -> Result<i32, Errno> {
        check(args[0])?;
        check(args[1])?;
        for at in 0..LONGEST {
            let (a, b) = (folded(self.byte(args[0], at)?), folded(self.byte(args[1], at)?));
            if a != b {
                return Ok(if a < b { -1 } else { 1 });
            }
            if a == 0 {
                return Ok(0);
            }
        }
        Err(Errno::E2BIG)
    }

    fn find(&mut self, text: u64, count: u64, wanted: u64) -> Result<i32, Errno> {
        check(text)?;
        for at in 0..count.min(LONGEST) {
            match self.byte(text, at)? {
                byte if byte == wanted as u8 => return Ok(at as i32),
                0 => return Err(Errno::ENOENT),
                _ => {}
            }
        }
        Err(if count >= LONGEST { Errno::E2BIG } else { Errno::ENOENT })
    }

    fn find_or_end(&mut self, args: &[u64; 5]) -> Result<i32, Errno> {
        check(args[0])?;
        for at in 0..LONGEST {
            let byte = self.byte(args[0], at)?;
            if byte == 0 || byte == args[1] as u8 {
                return Ok(at as i32);
            }
        }
        Err(Errno::E2BIG)
    }

    fn find_last(&mut self, args: &[u64; 5]) -> Result<i32, Errno> {
        check(args[0])?;
        let mut last = Err(Errno::ENOENT);
        for at in 0..LONGEST {
            let byte = self.byte(args[0], at)?;
            if u32::from(byte) == args[1] as u32 {
                last = Ok(at as i32);
            }
            if byte == 0 {
                return last;
            }
        }
        Err(Errno::E2BIG)
    }

    fn length(&mut self, text: u64, count: u64) -> Result<i32, Errno> {
        check(text)?;
        for at in 0..count.min(LONGEST) {
            if self.byte(text, at)? == 0 {
                return Ok(at as i32);
            }
        }
        if count >= LONGEST { Err(Errno::E2BIG) } else { Ok(count as i32) }
    }

    /// Number of leading bytes that are all in the set (or all not).
    fn span(&mut self, args: &[u64; 5], inside: bool) -> Result<i32, Errno> {
        check(args[0])?;
        check(args[1])?;
        for at in 0..LONGEST {
            let byte = self.byte(args[0], at)?;
            if byte == 0 || self.is_one_of(byte, args[1])? != inside {
                return Ok(at as i32);
            }
        }
        Err(Errno::E2BIG)
    }

    fn is_one_of(&mut self, byte: u8, set: u64) -> Result<bool, Errno> {
        for at in 0..LONGEST {
            match self.byte(set, at)? {
                member if member == byte => return Ok(true),
                0 => return Ok(false),
                _ => {}
            }
        }
        Err(Errno::E2BIG)
    }

    /// Position of `part` within the first `len` bytes of `text`.
    fn search(&mut self, text: u64, part: u64, len: u64) -> Result<i32, Errno> {
        check(text)?;
        check(part)?;
        for start in 0..LONGEST {
            match self.starts_with((text, start), part, len)? {
                Some(true) => return Ok(start as i32),
                Some(false) => {}
                None => return Err(Errno::ENOENT),
            }
        }
        Err(Errno::E2BIG)
    }

    /// Whether `part` is at `start`; `None` if the text ends before `part` does.
    fn starts_with(
        &mut self,
        (text, start): (u64, u64),
        part: u64,
        len: u64,
    ) -> Result<Option<bool>, Errno> {
        for at in 0..LONGEST {
            if start + at > len {
                return Ok(Some(false));
            }
            let wanted = self.byte(part, at)?;
            if wanted == 0 {
                return Ok(Some(true));
            }
            if start + at == len {
                return Ok(None);
            }
            let byte = self.byte(text, start + at)?;
            if byte == 0 {
                return Ok(None);
            }
            if byte != wanted {
                return Ok(Some(false));
            }
        }
        Err(Errno::E2BIG)
    }
}

/// The kernel refuses an address that is not a kernel address before it reads.
fn check(address: u64) -> Result<(), Errno> {
    if RegionId::of(address) == RegionId::NULL { Err(Errno::ERANGE) } else { Ok(()) }
}

/// The kernel's `XATTR_SIZE_MAX`.
const LONGEST: u64 = 65536;
