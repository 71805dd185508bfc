//! Data flow of a program: what is known before each instruction, and which bytes the following
//! instructions need. One check of bounds then serves many loads.
//!
//! Rule: a check may require more bytes than its load only where every path without them ends as no
//! match. All jumps lead forward, so one pass in each direction suffices.

use super::{Base, Op, Register, Source, bytes};

/// Facts that hold on every path to an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    /// The register A was written.
    pub a: bool,
    /// The register X was written.
    pub x: bool,
    /// Bytes of the frame that exist.
    pub frame: u32,
    /// Bytes from offset X that exist; the pointer to them is then in R4.
    pub behind_x: Option<u32>,
    /// X is the length of a header, so it is small.
    pub x_is_small: bool,
}

/// Bytes that every path to a match needs; `ANY` if there is no such path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Need {
    pub frame: u32,
    pub behind_x: u32,
}

/// The highest offset of a load: the kernel's verifier does not follow higher offsets into packets
/// (`MAX_PACKET_OFF`).
pub(super) const FURTHEST: u32 = 0xffff;
const ANY: u32 = u32::MAX;

/// The bytes that are needed from each instruction on.
pub(super) fn needs(ops: &[Op]) -> Vec<Need> {
    let mut needs = vec![Need { frame: ANY, behind_x: ANY }; ops.len()];
    for (at, op) in ops.iter().enumerate().rev() {
        let behind = match op {
            Op::Return(Source::Constant(0)) => Need { frame: ANY, behind_x: ANY },
            Op::Return(_) => Need { frame: 0, behind_x: 0 },
            _ => op.next(at).map(|to| needs[to]).reduce(Need::least).unwrap_or(needs[at]),
        };
        needs[at] = behind.before(*op);
    }
    needs
}

/// The facts before each instruction; `None` if it is unreachable.
pub(super) fn known(ops: &[Op], needs: &[Need]) -> Vec<Option<Known>> {
    let mut known: Vec<Option<Known>> = vec![None; ops.len()];
    known[0] = Some(Known::default());
    for (at, op) in ops.iter().enumerate() {
        let Some(after) = known[at].and_then(|before| before.after(*op, needs[at])) else {
            continue;
        };
        for to in op.next(at) {
            known[to] = Some(known[to].map_or(after, |there| there.meet(after)));
        }
    }
    known
}

impl Need {
    fn least(self, other: Self) -> Self {
        Self { frame: self.frame.min(other.frame), behind_x: self.behind_x.min(other.behind_x) }
    }

    fn before(self, op: Op) -> Self {
        let more = |end: u32, then: u32| if then == ANY { then } else { then.max(end) };
        // The needs of another X do not apply to this one.
        let other_x = if self.behind_x == ANY { ANY } else { 0 };
        match op {
            Op::Load(size, Base::Frame, k) => {
                Self { frame: more(k + bytes(size), self.frame), ..self }
            }
            Op::Load(size, Base::X, k) => {
                Self { behind_x: more(k + bytes(size), self.behind_x), ..self }
            }
            Op::LoadHeaderLength(k) => Self { frame: more(k + 1, self.frame), behind_x: other_x },
            Op::Set(Register::X, _) => Self { behind_x: other_x, ..self },
            _ => self,
        }
    }

    /// The number of bytes to check for a load that ends at `end`.
    pub fn of_load(self, base: Base, end: u32) -> u32 {
        let need = if base == Base::X { self.behind_x } else { self.frame };
        // Where no match is possible any more, any check suffices.
        if need == ANY { end } else { need.max(end) }
    }
}

impl Known {
    /// The facts after an instruction; `None` if its load always fails.
    fn after(mut self, op: Op, need: Need) -> Option<Self> {
        match op {
            Op::Load(size, base, k) => {
                self.check(base, k + bytes(size), need)?;
                self.a = true;
            }
            Op::LoadHeaderLength(k) => {
                self.check(Base::Frame, k + 1, need)?;
                self = Self { x: true, x_is_small: true, behind_x: None, ..self };
            }
            Op::Set(Register::A, _) | Op::Negate | Op::Alu(..) => self.a = true,
            Op::Set(Register::X, _) => {
                self = Self { x: true, x_is_small: false, behind_x: None, ..self };
            }
            _ => {}
        }
        Some(self)
    }

    fn check(&mut self, base: Base, end: u32, need: Need) -> Option<()> {
        if self.has(base, end) {
            return Some(());
        }
        let checked = need.of_load(base, end);
        match base {
            Base::Frame => self.frame = checked,
            Base::X => self.behind_x = Some(checked),
        }
        (checked <= FURTHEST).then_some(())
    }

    /// Whether a load that ends at `end` needs no check.
    pub fn has(self, base: Base, end: u32) -> bool {
        match base {
            Base::Frame => self.frame >= end,
            Base::X => self.behind_x.is_some_and(|there| there >= end),
        }
    }

    fn meet(self, other: Self) -> Self {
        Self {
            a: self.a && other.a,
            x: self.x && other.x,
            frame: self.frame.min(other.frame),
            behind_x: self.behind_x.zip(other.behind_x).map(|(one, two)| one.min(two)),
            x_is_small: self.x_is_small && other.x_is_small,
        }
    }
}
