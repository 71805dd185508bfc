//! What the tests of the filter's actions share: a program whose rules all match, without the
//! compiler, so that what fails here is what rules do and not which one is met.

use filter::compile::actions::{CompiledActions, Sizes};
use filter::{Action, EFFECT, MATCH, OBJECT, PROGRAM, PROGRAM_FRAGS, Rule, Ruleset};
use spec::asm::Reg::{R0, R1, R2, R3, R6, R7};
use spec::asm::{Assembler, Cond};
use spec::{ProgramKind, Runtime, Spec, compose};

/// One rule for each action, in order.
fn ruleset(actions: &[Action]) -> Ruleset {
    let rule = |(number, action): (usize, &Action)| Rule {
        name: format!("rule {number}"),
        tests: Vec::new(),
        action: action.clone(),
    };
    Ruleset { rules: actions.iter().enumerate().map(rule).collect(), ..Ruleset::default() }
}

/// The program in which every packet matches every rule, and what its maps are to hold.
pub fn filter(actions: &[Action], sizes: Sizes) -> (Spec, CompiledActions) {
    let ruleset = ruleset(actions);
    let number = |name: &str| name.strip_prefix("port")?.parse().ok();
    let acts = CompiledActions::new(&ruleset, sizes, number).unwrap();
    let mut spec = Spec::parse("filter", OBJECT).unwrap();
    acts.apply(&mut spec).unwrap();
    for program in [PROGRAM, PROGRAM_FRAGS] {
        spec = compose::splice(&spec, program, MATCH, matches_all(&ruleset)).unwrap();
    }
    (spec, acts)
}

/// Writes the rules' actions into the maps of what was loaded.
pub fn fill<R: Runtime>(runtime: &R, acts: &CompiledActions) {
    acts.fill(|name| Ok(runtime.map(name).unwrap())).unwrap();
}

fn matches_all(ruleset: &Ruleset) -> Assembler {
    let mut code = Assembler::new("matches_all", ProgramKind::XDP);
    let end = code.label();
    let decides = ruleset.rules.iter().position(|rule| rule.action.decides());
    code.mov(R6, R2).mov(R7, R1);
    for number in 0..decides.unwrap_or(ruleset.rules.len()) {
        let number = i32::try_from(number).unwrap();
        let next = code.label();
        code.mov(R1, R7).mov(R2, R6).mov32(R3, number).call_function(EFFECT);
        code.jump_if(R0, Cond::Eq, 0, next).mov32(R0, number).jump(end).bind(next);
    }
    // FILTER_NO_RULE, or the rule that decides.
    let answer = decides.map_or(-1, |number| i32::try_from(number).unwrap());
    code.mov32(R0, answer).bind(end).exit();
    code
}
