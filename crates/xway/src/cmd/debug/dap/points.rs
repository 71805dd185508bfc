//! Breakpoints as the protocol sets them: all of one kind together.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use runner::debug::{Debugger, Expression, Place, StopPoint};
use serde_json::{Value, json};

use super::address::Address;

/// Numbers of breakpoints by what set them: a file, or a kind.
#[derive(Debug, Default)]
pub struct Points {
    numbers: BTreeMap<String, Vec<u32>>,
    kinds: BTreeMap<u32, &'static str>,
}

impl Points {
    /// Why a stop at this breakpoint happened, in the protocol's words.
    pub fn reason(&self, number: u32) -> &'static str {
        self.kinds.get(&number).copied().unwrap_or("breakpoint")
    }

    /// `setBreakpoints`: those of one file.
    pub fn lines(&mut self, debugger: &mut Debugger<'_>, arguments: &Value) -> Result<Value> {
        let source = &arguments["source"];
        let file = source["path"].as_str().or_else(|| source["name"].as_str());
        let file = file.context("`source` must have a path or a name")?.to_owned();
        let group = format!("file {file}");
        self.replace(debugger, &group, "breakpoint", &arguments["breakpoints"], |debugger, one| {
            let line = one["line"].as_u64().and_then(|line| u32::try_from(line).ok());
            let line = line.context("`line` must be a number")?;
            let whole = Place::Line { file: Some(file.clone()), line };
            let condition = condition(one)?;
            let error = match debugger.break_at(&whole, condition.clone()) {
                Ok(point) => return Ok(point),
                Err(error) => error,
            };
            // The compiler may have recorded another path.
            let name = file.rsplit(['/', '\\']).next().map(str::to_owned);
            match debugger.break_at(&Place::Line { file: name, line }, condition) {
                Ok(point) => Ok(point),
                Err(_) => Err(error.into()),
            }
        })
    }

    /// `setFunctionBreakpoints`.
    pub fn functions(&mut self, debugger: &mut Debugger<'_>, arguments: &Value) -> Result<Value> {
        let wanted = &arguments["breakpoints"];
        self.replace(debugger, "functions", "function breakpoint", wanted, |debugger, one| {
            let place = one["name"].as_str().context("`name` must be text")?.parse()?;
            Ok(debugger.break_at(&place, condition(one)?)?)
        })
    }

    /// `setInstructionBreakpoints`.
    pub fn instructions(
        &mut self,
        debugger: &mut Debugger<'_>,
        arguments: &Value,
    ) -> Result<Value> {
        let wanted = &arguments["breakpoints"];
        let kind = "instruction breakpoint";
        self.replace(debugger, "instructions", kind, wanted, |debugger, one| {
            let address = one["instructionReference"].as_str();
            let address = address.context("`instructionReference` must be text")?;
            let address = Address::parse(address)?.moved(one["offset"].as_i64().unwrap_or(0))?;
            let place = address.place(debugger)?;
            Ok(debugger.break_at(&place, condition(one)?)?)
        })
    }

    /// `setDataBreakpoints`.
    pub fn data(&mut self, debugger: &mut Debugger<'_>, arguments: &Value) -> Result<Value> {
        let wanted = &arguments["breakpoints"];
        self.replace(debugger, "data", "data breakpoint", wanted, |debugger, one| {
            let expression = one["dataId"].as_str().context("`dataId` must be text")?.parse()?;
            Ok(debugger.watch(expression, condition(one)?)?)
        })
    }

    /// `setExceptionBreakpoints`: verdicts and faults.
    pub fn exceptions(&mut self, debugger: &mut Debugger<'_>, arguments: &Value) -> Result<Value> {
        let plain = arguments["filters"].as_array().cloned().unwrap_or_default();
        let plain = plain.into_iter().map(|filter| json!({"filterId": filter}));
        let optional = arguments["filterOptions"].as_array().cloned().unwrap_or_default();
        let wanted = Value::Array(plain.chain(optional).collect());
        self.replace(debugger, "exceptions", "exception", &wanted, |debugger, one| {
            let filter = one["filterId"].as_str().context("a filter must be text")?;
            let place = match filter {
                "fault" => Place::Fault,
                verdict => Place::Verdict(verdict.parse()?),
            };
            Ok(debugger.break_at(&place, condition(one)?)?)
        })
    }

    /// Replaces all breakpoints of a group. Each that cannot be set is reported as such.
    fn replace(
        &mut self,
        debugger: &mut Debugger<'_>,
        group: &str,
        kind: &'static str,
        wanted: &Value,
        set: impl Fn(&mut Debugger<'_>, &Value) -> Result<StopPoint>,
    ) -> Result<Value> {
        for number in self.numbers.remove(group).unwrap_or_default() {
            debugger.delete(number)?;
            self.kinds.remove(&number);
        }
        let mut reports = Vec::new();
        for one in wanted.as_array().into_iter().flatten() {
            let set = set(debugger, one).and_then(|point| {
                let refined = refine(debugger, &point, one);
                if refined.is_err() {
                    debugger.delete(point.number)?;
                }
                let point = refined?;
                self.numbers.entry(group.to_owned()).or_default().push(point.number);
                Ok(point)
            });
            reports.push(match set {
                Ok(point) => {
                    self.kinds.insert(point.number, kind);
                    let line = point.what.rsplit_once(':');
                    let line = line.and_then(|(_, line)| line.parse::<u32>().ok());
                    let mut report = json!({"id": point.number, "verified": true});
                    if let Some(line) = line.filter(|_| kind == "breakpoint") {
                        report["line"] = line.into();
                    }
                    report
                }
                Err(error) => json!({"verified": false, "message": format!("{error:#}")}),
            });
        }
        Ok(json!({"breakpoints": reports}))
    }
}

/// Adds a condition on the number of the hit, and a message, if the request has them.
fn refine(debugger: &mut Debugger<'_>, point: &StopPoint, one: &Value) -> Result<StopPoint> {
    let text = |key: &str| one[key].as_str().filter(|text| !text.trim().is_empty());
    let mut point = point.clone();
    if let Some(hits) = text("hitCondition") {
        point = debugger.set_hits(point.number, Some(hits.parse()?))?;
    }
    if let Some(message) = text("logMessage") {
        point = debugger.set_log(point.number, Some(message.parse()?))?;
    }
    Ok(point)
}

fn condition(one: &Value) -> Result<Option<Expression>> {
    let text = one["condition"].as_str().map(str::trim).filter(|text| !text.is_empty());
    Ok(text.map(str::parse).transpose()?)
}
