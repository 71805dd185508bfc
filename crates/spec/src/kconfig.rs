//! Values of `extern … __kconfig` variables: the kernel's configuration as an object reads it.

use crate::btf::{Btf, Kind};
use crate::{Error, KconfigVar, Spec};

/// Name of the map that holds the values.
const MAP: &str = ".kconfig";

impl Spec {
    /// Gives a variable its value, written as in a kernel's configuration file (`y`, `250`,
    /// `"text"`). It is no longer in [`Spec::kconfig`] then, so no runtime looks for its value.
    ///
    /// # Errors
    /// [`Error::UnknownKconfig`] or [`Error::KconfigValue`]; the object is then unchanged.
    pub fn set_kconfig(&mut self, name: &str, text: &str) -> Result<(), Error> {
        let Some(number) = self.kconfig.iter().position(|var| var.name == name) else {
            let known = self.kconfig.iter().map(|var| var.name.clone()).collect();
            let (file, name) = (self.name.clone(), name.to_owned());
            return Err(Error::UnknownKconfig { file, name, known });
        };
        let var = &self.kconfig[number];
        let map = self.maps.iter_mut().find(|map| map.name == MAP);
        let contents = map.and_then(|map| map.contents.as_mut());
        let stored = contents.and_then(|bytes| put(bytes, var, text, self.btf.as_ref()));
        if stored.is_none() {
            let (file, name, text) = (self.name.clone(), name.to_owned(), text.to_owned());
            return Err(Error::KconfigValue { file, name, text, size: var.size });
        }
        self.kconfig.remove(number);
        Ok(())
    }
}

fn put(contents: &mut [u8], var: &KconfigVar, text: &str, btf: Option<&Btf>) -> Option<()> {
    let (from, size) = (var.offset as usize, var.size as usize);
    let place = contents.get_mut(from..from.checked_add(size)?)?;
    let number = match text {
        "y" | "n" | "m" if is_letter(var, btf) => u64::from(text.as_bytes()[0]),
        "n" => 0,
        "y" => 1,
        // `TRI_MODULE`; a bool knows no modules.
        "m" => 2,
        _ => match number(text) {
            Some(number) => number,
            None => return put_text(place, text),
        },
    };
    let fits = size <= 8
        && (size == 8 || number >> (size * 8) == 0 || number as i64 >> (size * 8 - 1) == -1);
    place.copy_from_slice(number.to_le_bytes().get(..size).filter(|_| fits)?);
    Some(())
}

/// Text is cut to fit and closed by a zero.
fn put_text(place: &mut [u8], text: &str) -> Option<()> {
    let text = text.strip_prefix('"')?.strip_suffix('"')?;
    let kept = text.len().min(place.len().saturating_sub(1));
    place.fill(0);
    place[..kept].copy_from_slice(&text.as_bytes()[..kept]);
    Some(())
}

/// Decimal, hexadecimal and negative numbers.
fn number(text: &str) -> Option<u64> {
    let (digits, negative) = match text.strip_prefix('-') {
        Some(digits) => (digits, true),
        None => (text, false),
    };
    let value = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => digits.parse(),
    };
    value.ok().map(|value| if negative { value.wrapping_neg() } else { value })
}

/// A `char` holds the letter itself; compilers mark it as a one-byte integer other than `bool`.
fn is_letter(var: &KconfigVar, btf: Option<&Btf>) -> bool {
    let ty = btf.and_then(|btf| btf.resolve(var.type_id));
    ty.is_some_and(|ty| ty.kind() == Kind::Int && ty.size() == 1 && !ty.is_bool())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn var(offset: u32, size: u32) -> KconfigVar {
        KconfigVar { name: "CONFIG_X".to_owned(), offset, size, type_id: 0, weak: false }
    }

    #[test]
    fn values_are_put_in_their_places() {
        let table: [(u32, &str, Option<&[u8]>); 11] = [
            (4, "250", Some(&[250, 0, 0, 0])),
            (4, "0xffffffff", Some(&[255; 4])),
            (2, "-2", Some(&[254, 255])),
            (1, "256", None),
            (1, "y", Some(&[1])),
            (4, "m", Some(&[2, 0, 0, 0])),
            (4, "n", Some(&[0; 4])),
            (4, "\"abcdef\"", Some(b"abc\0")),
            (4, "\"\"", Some(&[0; 4])),
            (4, "abc", None),
            (9, "1", None),
        ];
        for (size, text, expected) in table {
            let var = var(0, size);
            let mut contents = [0x55; 16];
            let done = put(&mut contents, &var, text, None);
            assert_eq!(done.map(|()| &contents[..size as usize]), expected, "{text}");
        }
        let outside = var(14, 4);
        assert_eq!(put(&mut [0; 16], &outside, "1", None), None);
    }
}
