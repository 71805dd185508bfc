//! The syntax tree of an expression.

/// A part of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    Number(i128),
    /// An address in network order.
    Bytes(Vec<u8>),
    Register(usize),
    /// `$packet`, `$step`, `$depth`.
    Counter(Counter),
    /// `packet[14:4]` or `metadata`, all of it without a range.
    Bytewise {
        area: Area,
        range: Option<(Box<Node>, Option<Box<Node>>)>,
    },
    /// `packet.len`.
    Length(Area),
    /// `map flows[10.0.0.1]`.
    Element {
        map: String,
        key: Key,
    },
    /// A variable, an enumerator, or a header of the packet.
    Name(String),
    Member(Box<Node>, String),
    Arrow(Box<Node>, String),
    Index(Box<Node>, Box<Node>),
    Deref(Box<Node>),
    /// `(struct ethhdr *)r7`.
    Cast {
        type_name: String,
        value: Box<Node>,
    },
    Unary(Unary, Box<Node>),
    Binary(Binary, Box<Node>, Box<Node>),
}

/// The key of an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// As `xway map lookup` reads it, once the size is known.
    pub text: String,
    /// Otherwise an expression.
    pub node: Option<Box<Node>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    Packet,
    Metadata,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    Packet,
    Step,
    Depth,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    Not,
    Complement,
    Minus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    Or,
    And,
    Equal,
    Unequal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    BitOr,
    BitXor,
    BitAnd,
    Left,
    Right,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Node {
    /// Whether the value depends on the function that runs: registers and local variables.
    pub fn is_of_frame(&self, is_local: &impl Fn(&str) -> bool) -> bool {
        let any = |nodes: &[&Self]| nodes.iter().any(|node| node.is_of_frame(is_local));
        match self {
            Self::Register(_) | Self::Counter(Counter::Depth) => true,
            Self::Name(name) => is_local(name),
            Self::Number(_) | Self::Bytes(_) | Self::Counter(_) | Self::Length(_) => false,
            Self::Bytewise { range, .. } => range.as_ref().is_some_and(|(start, len)| {
                any(&[start]) || len.as_ref().is_some_and(|len| any(&[len]))
            }),
            Self::Element { key, .. } => key.node.as_ref().is_some_and(|node| any(&[node])),
            Self::Member(node, _) | Self::Arrow(node, _) | Self::Deref(node) => any(&[node]),
            Self::Cast { value, .. } | Self::Unary(_, value) => any(&[value]),
            Self::Index(left, right) | Self::Binary(_, left, right) => any(&[left, right]),
        }
    }
}
