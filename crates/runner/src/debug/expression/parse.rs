//! Parses expressions with the precedence of C.

use super::node::{Area, Binary, Counter, Key, Node, Unary};
use super::token::{Token, tokens};

/// Parses a whole text; an error is what is wrong.
pub fn parse(text: &str) -> Result<Node, String> {
    if text.len() > LONGEST {
        return Err(format!("longer than {LONGEST} bytes"));
    }
    let tokens = tokens(text)?;
    let mut parser = Parser { text, tokens: &tokens, at: 0, depth: 0 };
    let node = parser.binary(0)?;
    match parser.tokens.get(parser.at) {
        None => Ok(node),
        Some((start, _)) => Err(format!("unexpected `{}`", &text[*start..])),
    }
}

struct Parser<'a> {
    text: &'a str,
    tokens: &'a [(usize, Token)],
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    /// Operands that are joined by operators of at least this precedence.
    fn binary(&mut self, least: usize) -> Result<Node, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("nested more than {DEEPEST} levels deep"));
        }
        let mut left = self.unary()?;
        while let Some((operator, precedence)) = self.operator(least) {
            self.at += 1;
            let right = self.binary(precedence + 1)?;
            left = Node::Binary(operator, Box::new(left), Box::new(right));
        }
        self.depth -= 1;
        Ok(left)
    }

    fn operator(&self, least: usize) -> Option<(Binary, usize)> {
        let Some((_, Token::Sign(sign))) = self.tokens.get(self.at) else { return None };
        let (_, operator, precedence) = OPERATORS.iter().find(|(known, ..)| known == sign)?;
        (*precedence >= least).then_some((*operator, *precedence))
    }

    fn unary(&mut self) -> Result<Node, String> {
        let unary = match self.tokens.get(self.at) {
            Some((_, Token::Sign("!"))) => Some(Unary::Not),
            Some((_, Token::Sign("~"))) => Some(Unary::Complement),
            Some((_, Token::Sign("-"))) => Some(Unary::Minus),
            Some((_, Token::Sign("*"))) => None,
            _ => return self.postfix(),
        };
        self.at += 1;
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("nested more than {DEEPEST} levels deep"));
        }
        let operand = Box::new(self.unary()?);
        self.depth -= 1;
        Ok(match unary {
            Some(unary) => Node::Unary(unary, operand),
            None => Node::Deref(operand),
        })
    }

    fn postfix(&mut self) -> Result<Node, String> {
        let mut node = self.primary()?;
        for _ in 0..DEEPEST {
            if self.take(".") {
                node = Node::Member(Box::new(node), self.name("a member after `.`")?);
            } else if self.take("->") {
                node = Node::Arrow(Box::new(node), self.name("a member after `->`")?);
            } else if self.take("[") {
                let index = self.binary(0)?;
                self.expect("]")?;
                node = Node::Index(Box::new(node), Box::new(index));
            } else {
                return Ok(node);
            }
        }
        Err(format!("nested more than {DEEPEST} levels deep"))
    }

    fn primary(&mut self) -> Result<Node, String> {
        let token = self.tokens.get(self.at).map(|(_, token)| token.clone());
        self.at += 1;
        match token {
            Some(Token::Number(number)) => Ok(Node::Number(number)),
            Some(Token::Bytes(bytes)) => Ok(Node::Bytes(bytes)),
            Some(Token::Sign("(")) => self.parenthesis(),
            Some(Token::Name(name)) => self.word(name),
            Some(Token::Sign(sign)) => Err(format!("unexpected `{sign}`")),
            None => Err("a value is missing at its end".to_owned()),
        }
    }

    /// A cast, or an expression in parentheses.
    fn parenthesis(&mut self) -> Result<Node, String> {
        let start = self.at;
        let tag = ["struct", "union"].into_iter().find(|tag| self.take_name(tag));
        if let Some((_, Token::Name(name))) = self.tokens.get(self.at) {
            let type_name = name.clone();
            self.at += 1;
            if self.take("*") && self.take(")") {
                let value = Box::new(self.unary()?);
                return Ok(Node::Cast { type_name, value });
            }
        }
        if tag.is_some() {
            return Err("a cast is written as (struct NAME *)VALUE".to_owned());
        }
        self.at = start;
        let node = self.binary(0)?;
        self.expect(")")?;
        Ok(node)
    }

    fn word(&mut self, name: String) -> Result<Node, String> {
        let register = name.strip_prefix('r').and_then(|number| number.parse().ok());
        match (name.as_str(), register) {
            (_, Some(number @ 0..=10)) => Ok(Node::Register(number)),
            ("$packet", _) => Ok(Node::Counter(Counter::Packet)),
            ("$step", _) => Ok(Node::Counter(Counter::Step)),
            ("$depth", _) => Ok(Node::Counter(Counter::Depth)),
            ("packet", _) => self.area(Area::Packet),
            ("metadata", _) => self.area(Area::Metadata),
            ("map", _) if self.next_is_name() => self.element(),
            _ => Ok(Node::Name(name)),
        }
    }

    fn area(&mut self, area: Area) -> Result<Node, String> {
        if self.take(".") {
            let member = self.name("`len` after `.`")?;
            return match member.as_str() {
                "len" => Ok(Node::Length(area)),
                _ => Err(format!("unknown member `{member}`; expected len")),
            };
        }
        if !self.take("[") {
            return Ok(Node::Bytewise { area, range: None });
        }
        let start = Box::new(self.binary(0)?);
        let len = if self.take(":") { Some(Box::new(self.binary(0)?)) } else { None };
        self.expect("]")?;
        Ok(Node::Bytewise { area, range: Some((start, len)) })
    }

    fn element(&mut self) -> Result<Node, String> {
        let map = self.name("the name of a map")?;
        self.expect("[")?;
        let first = self.tokens.get(self.at).map_or(self.text.len(), |(start, _)| *start);
        let (before, depth) = (self.at, self.depth);
        let node = self.binary(0).ok().filter(|_| self.is_at("]"));
        if node.is_none() {
            (self.at, self.depth) = (before, depth);
            while self.at < self.tokens.len() && !self.is_at("]") {
                self.at += 1;
            }
        }
        let end = self.tokens.get(self.at).map_or(self.text.len(), |(start, _)| *start);
        self.expect("]")?;
        let text = self.text[first..end].trim().to_owned();
        Ok(Node::Element { map, key: Key { text, node: node.map(Box::new) } })
    }

    fn is_at(&self, sign: &str) -> bool {
        matches!(self.tokens.get(self.at), Some((_, Token::Sign(known))) if *known == sign)
    }

    fn next_is_name(&self) -> bool {
        matches!(self.tokens.get(self.at), Some((_, Token::Name(_))))
    }

    fn take(&mut self, sign: &str) -> bool {
        let is_there = self.is_at(sign);
        self.at += usize::from(is_there);
        is_there
    }

    fn take_name(&mut self, name: &str) -> bool {
        let token = self.tokens.get(self.at);
        let is_there = matches!(token, Some((_, Token::Name(known))) if known == name);
        self.at += usize::from(is_there);
        is_there
    }

    fn expect(&mut self, sign: &str) -> Result<(), String> {
        if self.take(sign) { Ok(()) } else { Err(format!("`{sign}` is missing")) }
    }

    fn name(&mut self, what: &str) -> Result<String, String> {
        match self.tokens.get(self.at) {
            Some((_, Token::Name(name))) => {
                self.at += 1;
                Ok(name.clone())
            }
            _ => Err(format!("expected {what}")),
        }
    }
}

/// Signs of operators, weakest first.
const OPERATORS: &[(&str, Binary, usize)] = &[
    ("||", Binary::Or, 1),
    ("&&", Binary::And, 2),
    ("|", Binary::BitOr, 3),
    ("^", Binary::BitXor, 4),
    ("&", Binary::BitAnd, 5),
    ("==", Binary::Equal, 6),
    ("!=", Binary::Unequal, 6),
    ("<", Binary::Less, 7),
    ("<=", Binary::LessEqual, 7),
    (">", Binary::Greater, 7),
    (">=", Binary::GreaterEqual, 7),
    ("<<", Binary::Left, 8),
    (">>", Binary::Right, 8),
    ("+", Binary::Add, 9),
    ("-", Binary::Subtract, 9),
    ("*", Binary::Multiply, 10),
    ("/", Binary::Divide, 10),
    ("%", Binary::Remainder, 10),
];
/// Bytes of an expression.
const LONGEST: usize = 4096;
/// Levels of an expression.
const DEEPEST: usize = 64;
