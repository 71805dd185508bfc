//! Where the value of a variable is: DWARF expressions, which are evaluated at a position.
//!
//! Rule: total on any expression; the work is bounded, and what cannot be read is missing.

use std::ops::Range;

use gimli::{
    Encoding, EndianSlice, Evaluation, EvaluationResult, Expression, LittleEndian, Operation,
    Piece, Value, ValueType,
};

use super::Reader;

/// Where the value of a variable is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location(Form);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    Constant(i64),
    Expression {
        code: Vec<u8>,
        encoding: Encoding,
        /// Integer types that the expression converts to, by their offsets in the unit.
        types: Vec<(usize, ValueType)>,
    },
}

/// The state that expressions read.
pub trait Machine {
    /// r0 to r9 of the function; `None` if the value is not known.
    fn register(&self, number: u8) -> Option<u64>;
    /// A register as it was before the function's first instruction.
    fn register_at_entry(&self, number: u8) -> Option<u64>;
    /// The lowest byte of the stack that the function uses.
    fn stack(&self) -> u64;
    /// Memory at an address.
    fn read(&self, address: u64, size: usize) -> Option<Vec<u8>>;
}

/// The bytes of a variable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// All bytes; those that are missing are zero.
    pub bytes: Vec<u8>,
    /// Bytes that the compiler keeps nowhere.
    pub missing: Vec<Range<usize>>,
}

impl Location {
    pub(super) fn constant(value: i64) -> Self {
        Self(Form::Constant(value))
    }

    /// An expression; `find` returns the integer type at an offset of the unit.
    pub(super) fn expression(
        expression: Expression<Reader<'_>>,
        encoding: Encoding,
        find: impl Fn(usize) -> Option<ValueType>,
    ) -> Option<Self> {
        let code = expression.0.slice();
        if code.is_empty() || code.len() > LONGEST {
            return None;
        }
        let mut types = Vec::new();
        let mut operations = expression.operations(encoding);
        while let Some(operation) = operations.next().ok()? {
            let base = match operation {
                Operation::Convert { base_type } | Operation::Reinterpret { base_type } => {
                    base_type
                }
                Operation::TypedLiteral { base_type, .. } => base_type,
                Operation::RegisterOffset { base_type, .. } => base_type,
                Operation::Deref { base_type, .. } => base_type,
                _ => continue,
            };
            if base.0 != 0 && types.iter().all(|(known, _)| *known != base.0) {
                types.push((base.0, find(base.0)?));
            }
        }
        Some(Self(Form::Expression { code: code.to_vec(), encoding, types }))
    }

    /// The offset of a value in memory from the lowest byte of the function's stack.
    pub(super) fn stack_offset(&self) -> Option<i64> {
        let Form::Expression { code, encoding, .. } = &self.0 else { return None };
        let mut operations = expression(code).operations(*encoding);
        match (operations.next().ok()??, operations.next().ok()?) {
            (Operation::FrameOffset { offset }, None) => Some(offset),
            _ => None,
        }
    }

    /// Reads a value of `size` bytes; `None` if no byte of it is known.
    ///
    /// `struct xdp_md` has 32 bits for each address of the packet, and a program loads 64. LLVM
    /// converts such a pointer to 32 bits in its expression; so conversions of pointers are
    /// ignored.
    pub fn read(&self, size: usize, is_pointer: bool, machine: &impl Machine) -> Option<Content> {
        let (code, encoding, types) = match &self.0 {
            Form::Constant(value) => {
                let bytes = word(value.cast_unsigned(), size);
                return Some(Content { bytes, missing: Vec::new() });
            }
            Form::Expression { code, encoding, types } => (code, *encoding, types),
        };
        let find = |offset: usize| match is_pointer {
            true => Some(ValueType::Generic),
            false => types.iter().find(|(known, _)| *known == offset).map(|(_, found)| *found),
        };
        let pieces = pieces(expression(code), encoding, find, machine)?;
        let content = assembled(&pieces, size, machine);
        (size == 0 || !content.is_missing()).then_some(content)
    }
}

fn expression(code: &[u8]) -> Expression<Reader<'_>> {
    Expression(EndianSlice::new(code, LittleEndian))
}

/// Evaluates an expression.
fn pieces<'a>(
    expression: Expression<Reader<'a>>,
    encoding: Encoding,
    find: impl Fn(usize) -> Option<ValueType>,
    machine: &impl Machine,
) -> Option<Vec<Piece<Reader<'a>>>> {
    let mut evaluation: Evaluation<Reader<'a>> = expression.evaluation(encoding);
    evaluation.set_max_iterations(OPERATIONS);
    let typed = |base: usize, value: u64| match base {
        0 => Some(Value::Generic(value)),
        base => Value::from_u64(find(base)?, value).ok(),
    };
    let mut result = evaluation.evaluate();
    for _ in 0..OPERATIONS {
        result = match result.ok()? {
            EvaluationResult::Complete => return Some(evaluation.result()),
            EvaluationResult::RequiresRegister { register, base_type } => {
                let value = match register.0 {
                    // LLVM counts from the lowest byte here, too.
                    FRAME => machine.stack(),
                    number => machine.register(u8::try_from(number).ok()?)?,
                };
                evaluation.resume_with_register(typed(base_type.0, value)?)
            }
            EvaluationResult::RequiresFrameBase => {
                evaluation.resume_with_frame_base(machine.stack())
            }
            EvaluationResult::RequiresMemory { address, size, base_type, .. } => {
                let bytes = machine.read(address, usize::from(size).min(WORD))?;
                evaluation.resume_with_memory(typed(base_type.0, number(&bytes))?)
            }
            EvaluationResult::RequiresEntryValue(entry) => {
                let mut operations = entry.operations(encoding);
                let Operation::Register { register } = operations.next().ok()?? else {
                    return None;
                };
                let value = machine.register_at_entry(u8::try_from(register.0).ok()?)?;
                evaluation.resume_with_entry_value(Value::Generic(value))
            }
            EvaluationResult::RequiresBaseType(offset) => {
                evaluation.resume_with_base_type(find(offset.0)?)
            }
            _ => return None,
        };
    }
    None
}

/// Puts pieces together.
fn assembled(pieces: &[Piece<Reader<'_>>], size: usize, machine: &impl Machine) -> Content {
    let mut content = Content::default();
    for piece in pieces {
        let left = size - content.bytes.len();
        let len = piece.size_in_bits.map_or(left as u64, |bits| bits.div_ceil(8));
        let len = usize::try_from(len).unwrap_or(left).min(left);
        let is_whole = piece.size_in_bits.is_none_or(|bits| bits % 8 == 0)
            && piece.bit_offset.is_none_or(|offset| offset == 0);
        match bytes(&piece.location, len, machine).filter(|_| is_whole) {
            Some(bytes) => content.bytes.extend(bytes),
            None => content.skip(len),
        }
    }
    content.skip(size - content.bytes.len());
    content
}

/// The bytes at a location.
fn bytes(
    location: &gimli::Location<Reader<'_>>,
    len: usize,
    machine: &impl Machine,
) -> Option<Vec<u8>> {
    match location {
        gimli::Location::Register { register } => {
            let value = machine.register(u8::try_from(register.0).ok()?)?;
            (len <= WORD).then(|| word(value, len))
        }
        gimli::Location::Address { address } => machine.read(*address, len),
        gimli::Location::Value { value } => {
            (len <= WORD).then_some(word(value.to_u64(u64::MAX).ok()?, len))
        }
        gimli::Location::Bytes { value } => value.slice().get(..len).map(<[u8]>::to_vec),
        gimli::Location::Empty | gimli::Location::ImplicitPointer { .. } => None,
    }
}

impl Content {
    /// A value that the compiler keeps nowhere.
    pub fn missing(size: usize) -> Self {
        let mut content = Self::default();
        content.skip(size);
        content
    }

    /// Whether all bytes are missing.
    pub fn is_missing(&self) -> bool {
        let missing: usize = self.missing.iter().map(Range::len).sum();
        missing > 0 && missing == self.bytes.len()
    }

    /// Adds bytes that are missing.
    fn skip(&mut self, len: usize) {
        let start = self.bytes.len();
        self.bytes.resize(start + len, 0);
        match self.missing.last_mut().filter(|last| last.end == start) {
            _ if len == 0 => {}
            Some(last) => last.end += len,
            None => self.missing.push(start..start + len),
        }
    }
}

fn word(value: u64, size: usize) -> Vec<u8> {
    let mut bytes = value.to_le_bytes().to_vec();
    bytes.resize(size, if value.cast_signed() < 0 { 0xff } else { 0 });
    bytes
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The register that holds the end of the stack.
const FRAME: u16 = 10;
/// Bytes of a register.
const WORD: usize = 8;
/// Bytes of an expression.
const LONGEST: usize = 256;
/// Operations of one evaluation.
const OPERATIONS: u32 = 256;

#[cfg(test)]
mod tests {
    use gimli::{Format, constants};

    use super::*;

    /// Register N is N * 0x10, and was N * 0x100 at entry; memory repeats the address.
    struct Fixed;

    impl Machine for Fixed {
        fn register(&self, number: u8) -> Option<u64> {
            (number < 10).then(|| u64::from(number) * 0x10)
        }

        fn register_at_entry(&self, number: u8) -> Option<u64> {
            (number < 10).then(|| u64::from(number) * 0x100)
        }

        fn stack(&self) -> u64 {
            0x1000
        }

        fn read(&self, address: u64, size: usize) -> Option<Vec<u8>> {
            Some(vec![address as u8; size])
        }
    }

    fn read(code: &[u8], size: usize) -> Option<Content> {
        let encoding = Encoding { address_size: 8, format: Format::Dwarf32, version: 5 };
        let find = |offset| (offset == 4).then_some(ValueType::U8);
        Location::expression(expression(code), encoding, find)?.read(size, false, &Fixed)
    }

    fn op(op: gimli::DwOp) -> u8 {
        op.0
    }

    #[test]
    fn each_form_has_its_bytes() {
        use constants::*;
        let value = op(DW_OP_stack_value);
        let table: [(&[u8], usize, &[u8]); 10] = [
            (&[op(DW_OP_reg3)], 4, &[0x30, 0, 0, 0]),
            (&[op(DW_OP_breg3), 2], 2, &[0x32, 0x32]),
            (&[op(DW_OP_breg3), 2, value], 2, &[0x32, 0]),
            (&[op(DW_OP_fbreg), 8], 2, &[8, 8]),
            (&[op(DW_OP_breg10), 8, value], 2, &[8, 0x10]),
            (&[op(DW_OP_lit7), op(DW_OP_neg), value], 2, &[0xf9, 0xff]),
            (&[op(DW_OP_entry_value), 1, op(DW_OP_reg2), value], 2, &[0, 2]),
            (&[op(DW_OP_breg2), 1, op(DW_OP_deref), value], 2, &[0x21, 0x21]),
            (&[op(DW_OP_implicit_value), 2, 5, 6], 2, &[5, 6]),
            (&[op(DW_OP_const2u), 1, 2, op(DW_OP_convert), 4, value], 2, &[1, 0]),
        ];
        for (code, size, expected) in table {
            let content = read(code, size).unwrap_or_else(|| panic!("{code:x?}"));
            assert_eq!(
                (content.bytes.as_slice(), content.missing),
                (expected, vec![]),
                "{code:x?}"
            );
        }
    }

    #[test]
    fn pieces_are_put_together() {
        use constants::*;
        let p = op(DW_OP_piece);
        let code = [op(DW_OP_reg1), p, 4, p, 4, op(DW_OP_reg2), p, 2];
        let content = read(&code, 12).unwrap();
        assert_eq!(content.bytes, [0x10, 0, 0, 0, 0, 0, 0, 0, 0x20, 0, 0, 0]);
        assert_eq!(content.missing, vec![4..8, 10..12]);
        assert_eq!(read(&[p, 8], 8), None, "no byte is known");
        // More than the variable has.
        assert_eq!(read(&[op(DW_OP_reg1), p, 0xff, 0x7f], 2).unwrap().bytes, [16, 0]);
    }

    #[test]
    fn expressions_end() {
        use constants::*;
        let forever = [op(DW_OP_lit1), op(DW_OP_skip), 0xfc, 0xff];
        assert_eq!(read(&forever, 4), None);
        for code in [&[op(DW_OP_reg12)][..], &[], &[op(DW_OP_plus)], &[op(DW_OP_addr), 1], &[0xff]]
        {
            assert_eq!(read(code, 4), None, "{code:x?}");
        }
        let zero = [op(DW_OP_lit1), op(DW_OP_lit0), op(DW_OP_div), op(DW_OP_stack_value)];
        assert_eq!(read(&zero, 4), None);
    }
}
