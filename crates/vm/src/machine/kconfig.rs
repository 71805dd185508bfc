//! Values of `extern … __kconfig`: given by name, or the defaults of the kernel played here.

use spec::btf::{Btf, Kind};
use spec::{KconfigVar, Spec};

use super::Options;
use crate::error::{Error, Result};

/// Fills the places in the `.kconfig` map. What is weak and not given stays 0.
pub(super) fn fill(spec: &mut Spec, options: &Options) -> Result<()> {
    let Some(number) = spec.map_index(".kconfig") else { return Ok(()) };
    let mut contents = spec.maps[number].contents.take().unwrap_or_default();
    for var in &spec.kconfig {
        let needs = |why: &str| Error::Needs {
            object: spec.name.clone(),
            what: "configuration option",
            name: var.name.clone(),
            why: why.to_owned(),
        };
        let given = options.kconfig.get(&var.name).map(String::as_str);
        let Some(text) = given.or_else(|| known(&var.name)) else {
            if var.weak {
                continue;
            }
            return Err(needs("give its value, or declare it __weak if 0 will do"));
        };
        put(&mut contents, var, text, spec.btf.as_ref())
            .ok_or_else(|| needs(&format!("`{text}` does not fit its {} bytes", var.size)))?;
    }
    spec.maps[number].contents = Some(contents);
    Ok(())
}

/// Linux 6.18.0 on a 64-bit machine.
fn known(name: &str) -> Option<&'static str> {
    match name {
        "LINUX_KERNEL_VERSION" => Some("0x61200"),
        "LINUX_HAS_BPF_COOKIE" | "LINUX_HAS_SYSCALL_WRAPPER" => Some("1"),
        _ => None,
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

/// A `char` holds the letter itself; compilers mark it as a one-byte integer that is no `bool`.
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
