//! `.BTF.ext`: which function, source line and field access each instruction belongs to.
//!
//! Records are grouped by section; offsets are bytes from the section's start. Rule: a damaged
//! table is an error, since a field access that is not relocated would read the wrong bytes.

use std::collections::HashMap;

use super::file::File;
use crate::btf::Btf;
use crate::error::{Error, Place};
use crate::insn::Insn;
use crate::model::FieldRelocation;
use crate::model::Line;

/// Records of one section, by slot of the section.
#[derive(Default)]
pub(super) struct SectionInfo {
    /// Slot and BTF `FUNC`.
    pub functions: HashMap<usize, u32>,
    /// Sorted by slot, at most one a slot.
    pub lines: Vec<Line>,
    /// Sorted by slot.
    pub fields: Vec<(usize, FieldRelocation)>,
}

/// By section name.
pub(super) type Info = HashMap<String, SectionInfo>;

const NAME: &str = ".BTF.ext";
const MAGIC: u32 = 0xeb9f;
/// Bytes of a section's name and of an access path, of which the kernel follows 64 steps; records
/// may share one.
const LONGEST: usize = 1024;

pub(super) fn read(file: &File<'_>, btf: &Btf) -> Result<Info, Error> {
    let Some(section) = file.find(NAME) else { return Ok(Info::new()) };
    let reader = Reader { file: file.name, btf, bytes: file.sections[section].data };
    let header_len = reader.word(4)? as usize;
    if reader.word(0)? & 0xffff != MAGIC {
        return Err(reader.damaged(0, "is not what `.BTF.ext` starts with"));
    }
    let mut info = Info::new();
    reader.table(header_len, 8, 8, |name, record| {
        let section = info.entry(name.to_owned()).or_default();
        section.functions.insert(record.slot()?, record.word(4)?);
        Ok(())
    })?;
    reader.table(header_len, 16, 16, |name, record| {
        let line = record.line()?;
        info.entry(name.to_owned()).or_default().lines.push(line);
        Ok(())
    })?;
    if header_len >= 32 {
        reader.table(header_len, 24, 16, |name, record| {
            let field = (record.slot()?, record.field()?);
            info.entry(name.to_owned()).or_default().fields.push(field);
            Ok(())
        })?;
    }
    for section in info.values_mut() {
        section.lines.sort_by_key(|line| line.slot);
        section.lines.dedup_by_key(|line| line.slot);
        section.fields.sort_by_key(|(slot, _)| *slot);
        section.fields.dedup_by_key(|(slot, _)| *slot);
    }
    Ok(info)
}

struct Reader<'a> {
    file: &'a str,
    btf: &'a Btf,
    bytes: &'a [u8],
}

struct Record<'a> {
    reader: &'a Reader<'a>,
    start: usize,
}

impl Reader<'_> {
    /// Calls `each` with section name and record for all records of the table whose place the
    /// header holds at `field`; records are at least `min` bytes.
    fn table(
        &self,
        header_len: usize,
        field: usize,
        min: usize,
        mut each: impl FnMut(&str, Record<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let start = header_len.saturating_add(self.word(field)? as usize);
        let end = start.saturating_add(self.word(field + 4)? as usize);
        if end > self.bytes.len() {
            return Err(self.damaged(field, "places a table outside the section"));
        }
        if start == end {
            return Ok(());
        }
        let record_len = self.word(start)? as usize;
        if record_len < min {
            return Err(self.damaged(start, "is too short a record"));
        }
        let mut at = start + 4;
        while at < end {
            let name = self.btf.string_within(self.word(at)?, LONGEST);
            let name = name.ok_or_else(|| self.damaged(at, "names no section"))?;
            let count = self.word(at + 4)? as usize;
            at += 8;
            let size = count.checked_mul(record_len).filter(|size| *size <= end - at.min(end));
            let size = size.ok_or_else(|| self.damaged(at - 4, "counts too many records"))?;
            for start in (at..at + size).step_by(record_len) {
                each(name, Record { reader: self, start })?;
            }
            at += size;
        }
        Ok(())
    }

    fn word(&self, at: usize) -> Result<u32, Error> {
        let bytes = self.bytes.get(at..).and_then(<[u8]>::first_chunk);
        bytes.map(|bytes| u32::from_le_bytes(*bytes)).ok_or_else(|| self.damaged(at, "is missing"))
    }

    fn damaged(&self, offset: usize, what: &str) -> Error {
        let at = Place::new(self.file).section(NAME).offset(offset as u64);
        Error::malformed(at, format!("what stands here {what}"))
    }
}

impl Record<'_> {
    fn word(&self, at: usize) -> Result<u32, Error> {
        self.reader.word(self.start + at)
    }

    fn slot(&self) -> Result<usize, Error> {
        let offset = self.word(0)? as usize;
        if !offset.is_multiple_of(Insn::SIZE) {
            return Err(self.reader.damaged(self.start, "is inside an instruction"));
        }
        Ok(offset / Insn::SIZE)
    }

    fn line(&self) -> Result<Line, Error> {
        let position = self.word(12)?;
        Ok(Line {
            slot: self.slot()?,
            file: self.word(4)?,
            text: self.word(8)?,
            line: position >> 10,
            column: position & 0x3ff,
        })
    }

    fn field(&self) -> Result<FieldRelocation, Error> {
        let access = self.reader.btf.string_within(self.word(8)?, LONGEST);
        let access = access.map(|text| text.split(':').map(str::parse).collect());
        match access {
            Some(Ok(access)) => {
                Ok(FieldRelocation { kind: self.word(12)?, type_id: self.word(4)?, access })
            }
            _ => Err(self.reader.damaged(self.start + 8, "is not an access path")),
        }
    }
}
