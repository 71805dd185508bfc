//! One rule: its options in order, as statements.

use serde_json::json;

use super::Family;
use super::limit::Pending;
use super::options::{self, Kind};
use super::reader::Reader;
use super::targets::IsChain;
use super::{targets, unsupported, words};
use crate::import_export::error::iptables::ImportError;
use crate::import_export::nft::import::Statement;
use crate::language::bounds::step;

/// Reads what follows `-A CHAIN`.
pub(super) fn read(
    body: &str,
    family: Family,
    is_chain: IsChain<'_>,
) -> Result<Vec<Statement>, ImportError> {
    let words = words::split(body)?;
    let mut rule = RuleReader { reader: Reader::new(words, family), limit: Pending::default() };
    rule.read(is_chain)?;
    Ok(rule.reader.statements)
}

/// The verdict of a rule whose other parts cannot be read.
pub(super) fn target_alone(body: &str, is_chain: IsChain<'_>) -> Vec<Statement> {
    let mut words = body.split_whitespace().skip_while(|word| !is_target(word)).skip(1);
    let target = words.next().and_then(|target| targets::statement(target, is_chain));
    target.into_iter().map(Statement::Nft).collect()
}

fn is_target(word: &str) -> bool {
    matches!(word, "-j" | "--jump" | "-g" | "--goto")
}

/// A rule, and the limit in it that is being read.
struct RuleReader {
    reader: Reader,
    limit: Pending,
}

impl RuleReader {
    fn read(&mut self, is_chain: IsChain<'_>) -> Result<(), ImportError> {
        let mut is_negated = false;
        while let Some(word) = self.reader.word() {
            step(1);
            if word == "!" && !is_negated {
                is_negated = true;
                continue;
            }
            if is_target(&word) {
                return self.target(&word, is_chain);
            }
            self.option(&word, is_negated)?;
            is_negated = false;
        }
        self.finish_limit()?;
        self.reader.push(json!({"counter": {}}));
        Ok(())
    }

    fn option(&mut self, word: &str, is_negated: bool) -> Result<(), ImportError> {
        if matches!(word, "-m" | "--match") {
            let module = self.reader.value(word)?;
            return unsupported::module(&module);
        }
        if let Some(part) = Pending::part(word) {
            let value = self.reader.value(word)?;
            return self.limit.add(part, word, value, is_negated);
        }
        let Some(kind) = options::kind(word) else {
            return Err(ImportError::Option(word.to_owned()));
        };
        if !matches!(kind, Kind::Comment) && self.limit.is_begun() {
            return Err(ImportError::AfterLimit);
        }
        options::add(&mut self.reader, word, kind, is_negated)
    }

    fn finish_limit(&mut self) -> Result<(), ImportError> {
        let limit = std::mem::take(&mut self.limit);
        self.reader.statements.extend(limit.finish(self.reader.family)?);
        Ok(())
    }

    fn target(&mut self, option: &str, is_chain: IsChain<'_>) -> Result<(), ImportError> {
        let target = self.reader.value(option)?;
        let statement = targets::statement(&target, is_chain);
        let mut statement = statement.ok_or_else(|| unsupported::target(&target))?;
        if matches!(option, "-g" | "--goto") {
            statement = json!({"goto": {"target": target}});
        }
        // A limit of entries in a log has no other effect.
        if statement.get("log").is_none() {
            self.finish_limit()?;
        }
        self.reader.push(statement);
        while let Some(word) = self.reader.word() {
            match targets::values(&target, &word) {
                Some(true) => drop(self.reader.value(&word)?),
                Some(false) => {}
                None => return Err(ImportError::Option(word)),
            }
        }
        Ok(())
    }
}
