//! `Lines`: the lines of rules in a text for nft. The JSON that nft lists has no lines.
//!
//! Rule: rules are counted per chain, in the order of nft. Text that is not counted here (rules
//! that are inserted after others by number, chains without names) gives a chain another number of
//! rules than nft has. Such a chain has no lines, and errors name its rules by number alone.

use std::collections::{BTreeMap, VecDeque};

use super::key::Key;
use crate::import_export::Error;
use crate::import_export::error::nft::ImportError;

/// Lines of rules, by chain.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Lines(BTreeMap<Key, VecDeque<usize>>);

/// The block that a brace opened.
#[derive(Clone, Debug)]
enum Block {
    Table {
        family: String,
        name: String,
    },
    Chain(Key),
    /// A set, a map or the value of a variable.
    Other,
}

/// The state of a scan.
#[derive(Debug, Default)]
struct Scan {
    lines: Lines,
    blocks: Vec<Block>,
    /// Words of the current statement.
    words: Vec<String>,
    /// Whether one of them is `rule`.
    is_rule: bool,
    /// The line where it begins.
    begins: usize,
    /// Braces that the statement has opened and not closed.
    depth: usize,
}

impl Lines {
    /// Finds the rules in a text.
    ///
    /// # Errors
    /// It includes another file, whose rules would have no lines.
    pub fn of(text: &str) -> Result<Self, Error> {
        let mut scan = Scan::default();
        let mut continues = false;
        for (number, line) in text.lines().enumerate() {
            let words = words(line);
            let has_more = words.last().is_some_and(|word| word == "\\");
            for word in words.into_iter().filter(|word| word != "\\") {
                scan.word(word, number + 1)?;
            }
            continues = has_more;
            if !continues {
                scan.end()?;
            }
        }
        if continues {
            scan.end()?;
        }
        Ok(scan.lines)
    }

    /// The lines of a chain's rules, if it has this number of rules.
    pub(super) fn of_chain(&self, key: &Key, rules: usize) -> Option<&VecDeque<usize>> {
        self.0.get(key).filter(|lines| lines.len() == rules)
    }
}

impl Scan {
    fn word(&mut self, word: String, line: usize) -> Result<(), Error> {
        match word.as_str() {
            "{" if self.opens_block() => {
                let block = self.block();
                self.words.clear();
                self.is_rule = false;
                self.blocks.push(block);
            }
            "{" => self.depth += 1,
            "}" if self.depth > 0 => self.depth -= 1,
            "}" => {
                self.end()?;
                self.blocks.pop();
            }
            ";" if self.depth == 0 => self.end()?,
            _ => {
                if self.words.is_empty() {
                    self.begins = line;
                }
                self.is_rule |= word == "rule";
                self.words.push(word);
            }
        }
        Ok(())
    }

    /// Whether a brace opens a block of statements: within a rule, braces are part of the rule.
    fn opens_block(&self) -> bool {
        !self.is_rule && !matches!(self.blocks.last(), Some(Block::Chain(_)))
    }

    fn block(&self) -> Block {
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        let words = match &words[..] {
            ["add" | "create", rest @ ..] => rest,
            all => all,
        };
        match (words, self.blocks.last()) {
            (["table", rest @ ..], None) => {
                let (family, rest) = family(rest);
                let name = rest.first().copied().unwrap_or_default().to_owned();
                Block::Table { family, name }
            }
            (["chain", name], Some(Block::Table { family, name: table })) => {
                let (family, table) = (family.clone(), table.clone());
                Block::Chain(Key { family, table, name: (*name).to_owned() })
            }
            _ => Block::Other,
        }
    }

    /// Ends a statement, unless it has open braces.
    fn end(&mut self) -> Result<(), Error> {
        if self.depth > 0 || self.words.is_empty() {
            return Ok(());
        }
        let words = std::mem::take(&mut self.words);
        self.is_rule = false;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match (&words[..], self.blocks.last()) {
            (["include", file, ..], _) => {
                let place = format!("line {}", self.begins);
                return Err(
                    Error::new(place, ImportError::Include).about(format!("include {file}"))
                );
            }
            ([word, ..], Some(Block::Chain(_))) if OF_CHAINS.contains(word) => {}
            (_, Some(Block::Chain(key))) => {
                self.lines.0.entry(key.clone()).or_default().push_back(self.begins);
            }
            ([verb @ ("add" | "insert"), "rule", rest @ ..], None) => {
                let (family, rest) = family(rest);
                if let [table, name, ..] = rest {
                    let (table, name) = ((*table).to_owned(), (*name).to_owned());
                    let lines = self.lines.0.entry(Key { family, table, name }).or_default();
                    match *verb {
                        "insert" => lines.push_front(self.begins),
                        _ => lines.push_back(self.begins),
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Splits off the family before a name; the default of nft is `ip`.
fn family<'a, 'w>(words: &'a [&'w str]) -> (String, &'a [&'w str]) {
    match words {
        [family, rest @ ..] if FAMILIES.contains(family) => ((*family).to_owned(), rest),
        _ => ("ip".to_owned(), words),
    }
}

/// The words of a line without its comment. Signs and quoted text are words of their own.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for letter in line.chars() {
        let is_sign = matches!(letter, '{' | '}' | ';' | '\\');
        match letter {
            '"' => quoted = !quoted,
            '#' if !quoted => break,
            _ if quoted => word.push(letter),
            _ if letter.is_whitespace() || is_sign => {
                words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
                words.extend(is_sign.then(|| letter.to_string()));
            }
            _ => word.push(letter),
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

/// Statements of a chain that are not rules.
const OF_CHAINS: [&str; 3] = ["type", "policy", "comment"];
const FAMILIES: [&str; 6] = ["ip", "ip6", "inet", "arp", "bridge", "netdev"];

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"flush ruleset
define ports = { 22, # ssh
    80 }
table inet filter {
    set bad { type ipv4_addr; elements = { 1.2.3.4,
        5.6.7.8 } }
    chain input { # the first
        type filter hook input priority 0; policy drop;
        tcp dport {
            22,
            80
        } accept comment "a { b # c; d"

        udp dport 53 accept; udp dport 123 accept
        ip saddr @bad \
            drop
    }
    chain other { comment "none"; }
}
add rule inet filter input icmp type { 8 } drop
insert rule inet filter input counter
add table t
add chain t c { type filter hook input priority 0; }
add rule t c drop
"#;

    #[test]
    fn rules_are_found() {
        let lines = Lines::of(TEXT).unwrap();
        let key = |family: &str, table: &str, name: &str| {
            let [family, table, name] = [family, table, name].map(str::to_owned);
            Key { family, table, name }
        };
        let input = key("inet", "filter", "input");
        assert_eq!(lines.of_chain(&input, 6), Some(&[21, 9, 14, 14, 15, 20].into()));
        assert_eq!(lines.of_chain(&input, 5), None, "nft has another number of rules");
        assert_eq!(lines.of_chain(&key("ip", "t", "c"), 1), Some(&[24].into()));
        assert_eq!(lines.of_chain(&key("inet", "filter", "other"), 1), None);
    }

    #[test]
    fn nothing_is_included() {
        for text in ["\ninclude \"a.nft\"", "table ip t {\n include \"./x/*.nft\"\n}"] {
            let error = Lines::of(text).unwrap_err().to_string();
            assert!(error.starts_with("line 2: `include "), "{error}");
        }
        assert!(Lines::of("table t { chain c { comment \"include x\"; } }").is_ok());
    }
}
