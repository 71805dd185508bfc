//! Location expressions: the few forms that LLVM writes for BPF.

use gimli::{Encoding, Expression, Operation};

use super::{Location, Reader};

/// Where the value is by an expression; `None` for a form that is not known.
pub fn location(expression: Expression<Reader<'_>>, encoding: Encoding) -> Option<Location> {
    let mut operations = expression.operations(encoding);
    let mut location = match operations.next().ok()?? {
        Operation::Register { register } => Location::Register(number(register.0)?),
        Operation::RegisterOffset { register, offset, .. } => {
            Location::Memory { register: number(register.0)?, offset }
        }
        Operation::FrameOffset { offset } => Location::Stack { offset },
        Operation::UnsignedConstant { value } => Location::Constant(value.cast_signed()),
        Operation::SignedConstant { value } => Location::Constant(value),
        _ => return None,
    };
    // A constant alone is an address, of which there are none.
    let mut is_whole = !matches!(location, Location::Constant(_));
    for _ in 0..LONGEST {
        let Some(operation) = operations.next().ok()? else {
            return is_whole.then_some(location);
        };
        location = match (operation, location) {
            (Operation::StackValue, Location::Memory { register, offset }) => {
                Location::Sum { register, offset }
            }
            (Operation::StackValue, Location::Stack { offset }) => {
                Location::StackAddress { offset }
            }
            (Operation::StackValue, Location::Constant(value)) => {
                is_whole = true;
                Location::Constant(value)
            }
            (Operation::PlusConstant { value }, Location::Memory { register, offset }) => {
                Location::Memory { register, offset: offset.checked_add_unsigned(value)? }
            }
            (Operation::PlusConstant { value }, Location::Stack { offset }) => {
                Location::Stack { offset: offset.checked_add_unsigned(value)? }
            }
            _ => return None,
        };
    }
    None
}

fn number(register: u16) -> Option<u8> {
    u8::try_from(register).ok().filter(|register| *register <= 10)
}

/// Operations of an expression.
const LONGEST: usize = 8;
