//! Queries that involve several types: sizes, resolved typedefs, type names in C.
//!
//! Rule: every walk is bounded by [`MAX_DEPTH`], since a damaged blob may hold cycles.

use super::{Btf, EnumValue, Kind, Type, VarPlace};

/// Deeper chains of typedefs, arrays and pointers do not occur (the kernel allows 32).
pub(crate) const MAX_DEPTH: usize = 32;

impl Btf {
    /// The type without typedefs and modifiers; `None` for `void` and in a cycle.
    pub fn resolve(&self, id: u32) -> Option<Type<'_>> {
        let mut ty = self.ty(id)?;
        for _ in 0..MAX_DEPTH {
            match ty.kind() {
                Kind::Typedef | Kind::Var | Kind::DeclTag => ty = self.ty(ty.target())?,
                kind if kind.is_modifier() => ty = self.ty(ty.target())?,
                _ => return Some(ty),
            }
        }
        None
    }

    /// Bytes of a value; `None` for functions, `void` and what has no size.
    pub fn size_of(&self, id: u32) -> Option<u64> {
        let mut count = 1u64;
        let mut ty = self.resolve(id)?;
        for _ in 0..MAX_DEPTH {
            let size = match ty.kind() {
                Kind::Ptr => 8,
                Kind::Array => {
                    let array = ty.array()?;
                    count = count.checked_mul(u64::from(array.count))?;
                    ty = self.resolve(array.element)?;
                    continue;
                }
                Kind::Func | Kind::FuncProto | Kind::Fwd => return None,
                _ => u64::from(ty.size()),
            };
            return count.checked_mul(size);
        }
        None
    }

    /// Natural alignment in bytes of a scalar or of an array of them; 8 for all else.
    pub fn align_of(&self, id: u32) -> u64 {
        let mut id = id;
        for _ in 0..MAX_DEPTH {
            let Some(ty) = self.resolve(id) else { break };
            match ty.kind() {
                Kind::Array => id = ty.array().map_or(0, |array| array.element),
                Kind::Int | Kind::Enum | Kind::Enum64 | Kind::Float => {
                    return u64::from(ty.size()).clamp(1, 8);
                }
                _ => break,
            }
        }
        8
    }

    /// Names and numbers of an enum or of a typedef of one; `None` when there is none so named.
    pub fn enum_values(&self, name: &str) -> Option<Vec<EnumValue<'_>>> {
        let named = [Kind::Enum, Kind::Enum64, Kind::Typedef]
            .into_iter()
            .find_map(|kind| self.resolve(self.find(kind, name)?))?;
        named.kind().is_enum().then(|| named.values().collect())
    }

    /// Variables of a section such as `.rodata`: its `VAR`s with their places.
    pub fn datasec(&self, section: &str) -> Option<Vec<(Type<'_>, VarPlace)>> {
        let datasec = self.ty(self.find(Kind::Datasec, section)?)?;
        Some(datasec.vars().filter_map(|place| Some((self.ty(place.type_id)?, place))).collect())
    }

    /// A type as C writes it without a name: `unsigned int`, `struct flow *`, `__u8[6]`.
    pub fn type_text(&self, id: u32) -> String {
        self.text_within(id, MAX_DEPTH)
    }

    fn text_within(&self, id: u32, depth: usize) -> String {
        let Some(depth) = depth.checked_sub(1) else { return "…".to_owned() };
        let Some(ty) = self.ty(id) else { return "void".to_owned() };
        let named = |word: &str| match ty.name() {
            "" => format!("{word} {{…}}"),
            name => format!("{word} {name}"),
        };
        let target = || self.text_within(ty.target(), depth);
        match ty.kind() {
            Kind::Struct => named("struct"),
            Kind::Union => named("union"),
            Kind::Enum | Kind::Enum64 => named("enum"),
            Kind::Fwd => named(if ty.flag() { "union" } else { "struct" }),
            Kind::Ptr => format!("{} *", target()),
            Kind::Const => format!("const {}", target()),
            Kind::Volatile => format!("volatile {}", target()),
            Kind::Restrict | Kind::TypeTag | Kind::Var | Kind::DeclTag => target(),
            Kind::Array => self.array_text(ty, depth),
            // Parameters are left out: a damaged blob could nest them without end.
            Kind::FuncProto => format!("{} (…)", target()),
            Kind::Int | Kind::Float | Kind::Typedef | Kind::Func | Kind::Datasec => {
                ty.name().to_owned()
            }
        }
    }

    fn array_text(&self, ty: Type<'_>, depth: usize) -> String {
        let mut counts = String::new();
        let mut element = ty.id();
        for _ in 0..MAX_DEPTH {
            let Some(array) = self.ty(element).and_then(Type::array) else { break };
            counts.push_str(&format!("[{}]", array.count));
            element = array.element;
        }
        format!("{}{counts}", self.text_within(element, depth))
    }
}
