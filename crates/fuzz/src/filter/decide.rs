//! Which rule decides: the plan and the compiled program against the rules one by one.

use std::borrow::Cow;

use arbitrary::{Result, Unstructured};
use filter::compile::plan::{Budget, NO_RULE, Plan};
use filter::{Environment, Field, Frame, Model, Needs, PROGRAM, Rule, Ruleset, Values, compile};
use spec::{Input, Map, Runtime};
use vm::VmRuntime;

use super::frame::frame;
use super::words;

/// Frames for each ruleset.
const FRAMES: usize = 8;

/// A plan, whatever its budget, decides as the rules do one by one.
pub fn plan(bytes: &[u8]) {
    let _ = planned(&mut Unstructured::new(bytes));
}

fn planned(input: &mut Unstructured<'_>) -> Result<()> {
    let Some(rules) = words::chosen(input)? else { return Ok(()) };
    let none = Budget { straight_rules: 0, straight_ranges: 0, ..Budget::default() };
    let tiny = Budget { bytes: 64, ..none };
    let plans = [Budget::default(), none, tiny].map(|one| Plan::new(&rules, |_| None, &one));
    for _ in 0..FRAMES {
        let bytes = frame(input)?;
        let frame = Frame { bytes: &bytes, ..Frame::default() };
        for layer in filter::read(&frame, Needs::of(&rules)).layers {
            let matches = |number: u32| {
                let rule: &Rule = &rules.rules[number as usize];
                let fields = rule.fields(layer.fields.family(), |_| None);
                let holds = |(field, values): &(Field, Cow<'_, Values>)| {
                    layer.fields.field(*field).is_some_and(|value| values.contains(value))
                };
                fields.is_some_and(|fields| fields.iter().all(holds))
            };
            let decides = |number: u32| rules.rules[number as usize].action.decides();
            let all = 0..rules.rules.len() as u32;
            let first = all.into_iter().find(|number| matches(*number) && decides(*number));
            for plan in &plans {
                let decided = plan.decide(&layer.fields, matches, decides);
                assert_eq!(decided, first.unwrap_or(NO_RULE), "{rules:?}\n{bytes:02x?}");
            }
        }
    }
    Ok(())
}

/// The compiled program on the engine gives the model's verdicts.
pub fn engine(bytes: &[u8]) {
    let _ = compiled(&mut Unstructured::new(bytes));
}

fn compiled(input: &mut Unstructured<'_>) -> Result<()> {
    let Some(rules) = words::chosen(input)? else { return Ok(()) };
    let Some(mut runtime) = loaded(&rules) else { return Ok(()) };
    let mut model = Model::new(&rules, |_| None);
    for _ in 0..FRAMES {
        let bytes = frame(input)?;
        let wanted = model.judge(&Frame { bytes: &bytes, ..Frame::default() }, 0);
        let input = Input { packet: bytes.clone(), ..Input::default() };
        let found = runtime.run(PROGRAM, &input).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(found.verdict, wanted.verdict, "{wanted:?}\n{rules:?}\n{bytes:02x?}");
    }
    Ok(())
}

/// `None` for rules that the compiler refuses with a reason.
fn loaded(rules: &Ruleset) -> Option<VmRuntime> {
    let compiled = compile(rules, &Environment::default()).ok()?;
    let mut runtime = VmRuntime::default();
    runtime.load(&compiled.spec).unwrap_or_else(|error| panic!("{error}"));
    let map = |name: &str| Ok(runtime.map(name).expect("a map of the object"));
    let filled: std::result::Result<(), <vm::Map as Map>::Error> = compiled.actions.fill(map);
    filled.unwrap_or_else(|error| panic!("{error}"));
    Some(runtime)
}
