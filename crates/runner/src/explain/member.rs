//! The name of a byte inside a value: `.packets`, `[2].first.port`.

use spec::btf::{Btf, Kind};

/// As C writes what follows a variable's name to reach the byte; `+8` where the type ends.
pub fn path(btf: &Btf, type_id: u32, byte: u64) -> String {
    let mut path = String::new();
    let (mut type_id, mut byte) = (type_id, byte);
    // Types of types end; a damaged blob's may not.
    for _ in 0..DEEPEST {
        let Some((name, inner, rest)) = step(btf, type_id, byte) else { break };
        path.push_str(&name);
        (type_id, byte) = (inner, rest);
    }
    if byte > 0 {
        path.push_str(&format!("+{byte}"));
    }
    path
}

/// One step inwards: what to write, the type there, and the byte in it.
fn step(btf: &Btf, type_id: u32, byte: u64) -> Option<(String, u32, u64)> {
    let ty = btf.resolve(type_id)?;
    match ty.kind() {
        Kind::Struct | Kind::Union => {
            let starts = |bits: u32| u64::from(bits / 8);
            let members: Vec<_> = ty.members().collect();
            let holds = members.iter().rev().find(|member| {
                let size = btf.size_of(member.type_id).unwrap_or_default();
                let start = starts(member.bit_offset);
                (start..start + size.max(1)).contains(&byte)
            })?;
            let name = match holds.name {
                "" => String::new(),
                name => format!(".{name}"),
            };
            Some((name, holds.type_id, byte - starts(holds.bit_offset)))
        }
        Kind::Array => {
            let array = ty.array()?;
            let size = btf.size_of(array.element).filter(|size| *size > 0)?;
            (byte / size < array.count.into())
                .then(|| (format!("[{}]", byte / size), array.element, byte % size))
        }
        _ => None,
    }
}

/// Structs inside structs.
const DEEPEST: usize = 16;

#[cfg(test)]
mod tests {
    use spec::btf::Builder;

    use super::*;

    #[test]
    fn bytes_have_names() {
        let mut builder = Builder::new();
        let long = builder.int("long", 64, false);
        let half = builder.int("short", 16, false);
        let halves = builder.array(half, long, 4);
        let inner = builder.structure("", 16, &[("packets", long, 0), ("parts", halves, 64)]);
        let outer = builder.structure("outer", 24, &[("id", long, 0), ("", inner, 64)]);
        let btf = Btf::parse(builder.build().unwrap().raw()).unwrap();
        let table =
            [(0, ".id"), (8, ".packets"), (12, ".packets+4"), (20, ".parts[2]"), (99, "+99")];
        for (byte, want) in table {
            assert_eq!(path(&btf, outer, byte), want, "byte {byte}");
        }
        assert_eq!(path(&btf, 77, 0), "", "no such type");
    }
}
