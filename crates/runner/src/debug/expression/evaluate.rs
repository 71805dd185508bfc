//! Evaluates expressions at a position.

use std::sync::Arc;

use control::inventory::parse_bytes;
use packet::dissect::{Dissection, Layer, dissect};
use spec::btf::{Btf, Kind};

use super::super::scene::Scene;
use super::super::stack::PRESERVED;
use super::super::value::Value;
use super::node::{Area, Binary, Counter, Key, Node, Unary};
use crate::error::Unavailable;

type Result<T = Value> = std::result::Result<T, Unavailable>;

pub fn evaluate(node: &Node, scene: &Scene<'_>) -> Result {
    match node {
        Node::Number(number) => Ok(Value::Number(*number)),
        Node::Bytes(raw) => Ok(Value::Bytes { raw: raw.clone(), shown: None }),
        Node::Register(number) => register(*number, scene),
        Node::Counter(counter) => Ok(Value::Number(count(*counter, scene))),
        Node::Bytewise { area, range } => {
            let range = range.as_ref().map(|(start, len)| (&**start, len.as_deref()));
            bytes(*area, range, scene)
        }
        Node::Length(area) => Ok(Value::Number(memory(*area, scene).len() as i128)),
        Node::Element { map, key } => element(map, key, scene),
        Node::Name(name) => self::name(name, scene),
        Node::Member(node, member) => self::member(node, member, scene),
        Node::Arrow(node, member) => {
            let value = dereference(&evaluate(node, scene)?, 0, scene)?;
            inside(&value, member)
        }
        Node::Index(node, index) => {
            let index = integer(&evaluate(index, scene)?, "an index")?;
            self::index(&evaluate(node, scene)?, index, scene)
        }
        Node::Deref(node) => dereference(&evaluate(node, scene)?, 0, scene),
        Node::Cast { type_name, value } => cast(type_name, &evaluate(value, scene)?, scene),
        Node::Unary(operator, node) => unary(*operator, &evaluate(node, scene)?),
        Node::Binary(operator, left, right) => binary(*operator, (left, right), scene),
    }
}

fn unavailable<T>(why: impl Into<String>) -> Result<T> {
    Err(Unavailable(why.into()))
}

fn integer(value: &Value, what: &str) -> Result<i128> {
    value.number().ok_or_else(|| Unavailable(format!("{what} must be an integer")))
}

fn register(number: usize, scene: &Scene<'_>) -> Result {
    let Some(chosen) = scene.chosen().filter(|_| scene.step.is_some()) else {
        return unavailable("no program runs here, so there are no registers");
    };
    match chosen.register(number) {
        Some(value) => Ok(Value::Word(value)),
        None if !chosen.runs && number < PRESERVED => unavailable(format!(
            "the function has called another, which does not preserve r{number}"
        )),
        None => unavailable(format!("r{number} is not set")),
    }
}

fn count(counter: Counter, scene: &Scene<'_>) -> i128 {
    match counter {
        Counter::Packet => scene.position.packet.into(),
        Counter::Step => scene.position.step.into(),
        Counter::Depth => scene.frames().len() as i128,
    }
}

fn memory(area: Area, scene: &Scene<'_>) -> Vec<u8> {
    match area {
        Area::Packet => scene.packet(),
        Area::Metadata => scene.metadata().to_vec(),
    }
}

fn bytes(area: Area, range: Option<(&Node, Option<&Node>)>, scene: &Scene<'_>) -> Result {
    let memory = memory(area, scene);
    let Some((start, len)) = range else { return Ok(Value::Bytes { raw: memory, shown: None }) };
    let start = integer(&evaluate(start, scene)?, "an offset")?;
    let len = match len {
        Some(len) => integer(&evaluate(len, scene)?, "a length")?,
        None => 1,
    };
    let part = usize::try_from(start).ok().zip(usize::try_from(len).ok());
    let part = part.and_then(|(start, len)| memory.get(start..start.checked_add(len)?));
    match part {
        Some(raw) => Ok(Value::Bytes { raw: raw.to_vec(), shown: None }),
        None => unavailable(format!("bytes {start}:{len} are not among {}", memory.len())),
    }
}

fn element(name: &str, key: &Key, scene: &Scene<'_>) -> Result {
    let Some((map, def)) = scene.map(name) else {
        return unavailable(format!("there is no map `{name}`"));
    };
    if let Some(why) = map.why_absent() {
        return unavailable(format!("map `{name}` was not created: {why}"));
    }
    let raw = self::key(key, map.attributes().key_size as usize, scene)?;
    match scene.value(map, &raw) {
        Some(value) => Ok(match scene.object.types.as_ref().filter(|_| def.value_type != 0) {
            Some(types) => Value::typed(value, types, def.value_type),
            None => Value::Bytes { raw: value, shown: None },
        }),
        None => unavailable(format!("map `{name}` has no element with key {}", key.text)),
    }
}

/// The bytes of a key: as `xway map lookup` reads it, else the value of an expression.
fn key(key: &Key, size: usize, scene: &Scene<'_>) -> Result<Vec<u8>> {
    let parsed = parse_bytes(&key.text, size);
    let error = match (parsed, &key.node) {
        (Ok(bytes), _) => return Ok(bytes),
        (Err(error), None) => return unavailable(format!("key `{}`: {error}", key.text)),
        (Err(error), Some(node)) => match &**node {
            Node::Number(_) | Node::Bytes(_) => error,
            node => {
                let value = evaluate(node, scene)?;
                if let Some(raw) = value.raw().filter(|raw| raw.len() == size) {
                    return Ok(raw.to_vec());
                }
                let number = integer(&value, "a key")?.to_le_bytes();
                return match number.get(..size) {
                    Some(bytes) => Ok(bytes.to_vec()),
                    None => unavailable(format!("key `{}` has not {size} bytes", key.text)),
                };
            }
        },
    };
    unavailable(format!("key `{}`: {error}", key.text))
}

fn name(name: &str, scene: &Scene<'_>) -> Result {
    if let Some(local) = scene.local(name) {
        return local;
    }
    if let Some(global) = scene.object.globals.get(name) {
        return self::global(global, scene);
    }
    if let Some(constant) = scene.object.constants.get(name) {
        return Ok(Value::Number(*constant));
    }
    let packet = scene.packet();
    if let Some(layer) = layer(&dissect(&packet), name) {
        let fields = layer.fields.iter().map(|field| format!("{} {}", field.name, field.value));
        let shown = Some(fields.collect::<Vec<_>>().join(", "));
        return Ok(Value::Bytes { raw: packet[layer.range.clone()].to_vec(), shown });
    }
    unavailable(format!("there is no variable or header `{name}` here"))
}

fn global(global: &spec::Global, scene: &Scene<'_>) -> Result {
    let section = scene.map(&global.section).and_then(|(map, _)| scene.value(map, &[0; 4]));
    let (start, size) = (global.offset as usize, global.size as usize);
    let raw = section.as_ref().and_then(|raw| raw.get(start..start.checked_add(size)?));
    let Some(raw) = raw else {
        return unavailable(format!("`{}` was not loaded: no program uses it", global.name));
    };
    Ok(match scene.object.types.as_ref().filter(|_| global.type_id != 0) {
        Some(types) => Value::typed(raw.to_vec(), types, global.type_id),
        None => Value::Bytes { raw: raw.to_vec(), shown: None },
    })
}

/// A header by its name; `ip` is either version.
fn layer(dissection: &Dissection, name: &str) -> Option<Layer> {
    let is_meant = |layer: &&Layer| match name {
        "ip" => matches!(layer.name.as_str(), "ipv4" | "ipv6"),
        _ => layer.name == name,
    };
    dissection.layers.iter().find(is_meant).cloned()
}

/// A member of a variable, else a field of the header of that name.
fn member(node: &Node, member: &str, scene: &Scene<'_>) -> Result {
    let own = || inside(&evaluate(node, scene)?, member);
    let Node::Name(name) = node else { return own() };
    if !scene.is_variable(name) {
        return field(name, member, scene);
    }
    own().or_else(|error| field(name, member, scene).map_err(|_| error))
}

/// A field of the packet.
fn field(name: &str, member: &str, scene: &Scene<'_>) -> Result {
    let packet = scene.packet();
    let Some(layer) = layer(&dissect(&packet), name) else {
        return unavailable(format!("there is no variable or header `{name}` here"));
    };
    match layer.fields.iter().find(|field| field.name == member) {
        Some(field) => Ok(Value::Bytes {
            raw: packet[field.range.clone()].to_vec(),
            shown: Some(field.value.clone()),
        }),
        None => {
            let known: Vec<_> = layer.fields.iter().map(|field| field.name).collect();
            unavailable(format!("`{name}` has no field `{member}`; it has {}", known.join(", ")))
        }
    }
}

/// A member of a struct, also of an anonymous one inside.
fn inside(value: &Value, member: &str) -> Result {
    let Value::Typed { types, type_id, .. } = value else {
        return unavailable(format!("what has no members cannot have `{member}`"));
    };
    let none = || Unavailable(format!("`{}` has no member `{member}`", types.type_text(*type_id)));
    let (start, bits, type_id) = find(types, *type_id, member, 0).ok_or_else(none)?;
    let part = match bits {
        0 => {
            let size = types.size_of(type_id).and_then(|size| usize::try_from(size).ok());
            let start = start as usize / 8;
            size.and_then(|size| value.part(start..start.checked_add(size)?, type_id))
        }
        bits => value.bit_field(start, bits, type_id),
    };
    known(part.ok_or_else(none)?, member)
}

/// A part of a value, unless the compiler keeps it nowhere.
fn known(part: Value, name: &str) -> Result {
    match part.is_missing() {
        true => unavailable(format!("`{name}` is optimized out here")),
        false => Ok(part),
    }
}

/// Bit offset, width of a bit field, and type of a member.
fn find(types: &Btf, type_id: u32, member: &str, depth: usize) -> Option<(u32, u32, u32)> {
    let ty = types.resolve(type_id).filter(|_| depth < DEEPEST)?;
    if !matches!(ty.kind(), Kind::Struct | Kind::Union) {
        return None;
    }
    ty.members().find_map(|one| match one.name {
        "" => {
            let (start, bits, type_id) = find(types, one.type_id, member, depth + 1)?;
            Some((one.bit_offset.checked_add(start)?, bits, type_id))
        }
        name => (name == member).then_some((one.bit_offset, one.bit_size, one.type_id)),
    })
}

/// The value at an address, or an element after it.
fn dereference(value: &Value, index: i128, scene: &Scene<'_>) -> Result {
    let Value::Pointer { address, types, target } = value else {
        return unavailable("only a pointer with a type leads to a value: write (struct NAME *)r1");
    };
    let Some(step) = scene.step else { return unavailable("no program runs here") };
    let Some(size) = types.size_of(*target).filter(|size| *size <= LARGEST) else {
        return unavailable(format!("`{}` has no size", types.type_text(*target)));
    };
    let start = i128::from(*address) + index.saturating_mul(size.into());
    let read = u64::try_from(start).ok().and_then(|start| step.read(start, size as usize));
    match read {
        Some(raw) => Ok(Value::typed(raw, types, *target)),
        None => unavailable(format!("{} cannot be read", step.describe(*address))),
    }
}

fn index(value: &Value, index: i128, scene: &Scene<'_>) -> Result {
    match value {
        Value::Pointer { .. } => dereference(value, index, scene),
        Value::Bytes { raw, .. } => match usize::try_from(index).ok().and_then(|at| raw.get(at)) {
            Some(byte) => Ok(Value::Bytes { raw: vec![*byte], shown: None }),
            None => unavailable(format!("byte {index} is not among {}", raw.len())),
        },
        Value::Typed { types, type_id, .. } => {
            let array = types.resolve(*type_id).and_then(|ty| ty.array());
            let Some(array) = array else { return unavailable("only arrays have elements") };
            let size = types.size_of(array.element).and_then(|size| usize::try_from(size).ok());
            let start = usize::try_from(index).ok().zip(size);
            let range = start.and_then(|(index, size)| {
                let start = index.checked_mul(size)?;
                Some(start..start.checked_add(size)?)
            });
            match range.and_then(|range| value.part(range, array.element)) {
                Some(part) => known(part, &format!("[{index}]")),
                None => unavailable(format!("element {index} is not among {}", array.count)),
            }
        }
        Value::Number(_) | Value::Word(_) => unavailable("a number has no elements"),
    }
}

/// A number as a pointer to a type of the object.
fn cast(type_name: &str, value: &Value, scene: &Scene<'_>) -> Result {
    let kinds = [Kind::Struct, Kind::Union, Kind::Typedef, Kind::Int, Kind::Enum];
    let none = || Unavailable(format!("the object has no type `{type_name}`"));
    let all = scene.object.types.iter().chain([&scene.object.local_types]);
    let found = all.filter_map(|types| {
        let target = kinds.into_iter().find_map(|kind| types.find(kind, type_name))?;
        // A declaration alone has no size.
        types.size_of(target).map(|_| (types, target))
    });
    let (types, target) = found.into_iter().next().ok_or_else(none)?;
    let address = integer(value, "a pointer")? as u64;
    Ok(Value::Pointer { address, types: Arc::clone(types), target })
}

fn unary(operator: Unary, value: &Value) -> Result {
    Ok(Value::Number(match operator {
        Unary::Not => i128::from(!value.is_true()),
        Unary::Complement => !integer(value, "an operand")?,
        Unary::Minus => integer(value, "an operand")?.saturating_neg(),
    }))
}

fn binary(operator: Binary, (left, right): (&Node, &Node), scene: &Scene<'_>) -> Result {
    let left = evaluate(left, scene)?;
    match operator {
        Binary::Or if left.is_true() => return Ok(Value::Number(1)),
        Binary::And if !left.is_true() => return Ok(Value::Number(0)),
        _ => {}
    }
    let right = evaluate(right, scene)?;
    let truth = match operator {
        Binary::Or | Binary::And => right.is_true(),
        Binary::Equal => compare(&left, &right)?.is_eq(),
        Binary::Unequal => compare(&left, &right)?.is_ne(),
        Binary::Less => compare(&left, &right)?.is_lt(),
        Binary::LessEqual => compare(&left, &right)?.is_le(),
        Binary::Greater => compare(&left, &right)?.is_gt(),
        Binary::GreaterEqual => compare(&left, &right)?.is_ge(),
        _ => return arithmetic(operator, &left, &right).map(Value::Number),
    };
    Ok(Value::Number(truth.into()))
}

/// Compares bytes in network order with bytes, and all else as numbers.
fn compare(left: &Value, right: &Value) -> Result<std::cmp::Ordering> {
    let is_bytes = |value: &Value| matches!(value, Value::Bytes { .. });
    if (is_bytes(left) || is_bytes(right))
        && let (Some(one), Some(other)) = (left.raw(), right.raw())
        && one.len() == other.len()
    {
        return Ok(one.cmp(other));
    }
    Ok(integer(left, "an operand")?.cmp(&integer(right, "an operand")?))
}

fn arithmetic(operator: Binary, left: &Value, right: &Value) -> Result<i128> {
    let (left, right) = (integer(left, "an operand")?, integer(right, "an operand")?);
    let shift = u32::try_from(right).ok().filter(|shift| *shift < 64);
    let result = match operator {
        Binary::BitOr => Some(left | right),
        Binary::BitXor => Some(left ^ right),
        Binary::BitAnd => Some(left & right),
        Binary::Left => shift.and_then(|shift| left.checked_mul(1 << shift)),
        Binary::Right => shift.map(|shift| left >> shift),
        Binary::Add => left.checked_add(right),
        Binary::Subtract => left.checked_sub(right),
        Binary::Multiply => left.checked_mul(right),
        Binary::Divide => left.checked_div(right),
        _ => left.checked_rem(right),
    };
    result.ok_or_else(|| Unavailable("the result of the arithmetic is undefined".to_owned()))
}

/// Anonymous structs inside structs.
const DEEPEST: usize = 16;
/// Bytes of a value that is read through a pointer.
const LARGEST: u64 = 1 << 20;
