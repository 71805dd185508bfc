//! `drop`: the built-in drop program with rules, attached or changed in place.

use anyhow::Result;
use control::drop::{DropOptions, configure};
use functions::drop::Rule;

use super::{Context, Exit};
use crate::args::DropArgs;

pub fn run(args: &DropArgs, context: &Context) -> Result<Exit> {
    let parse = |texts: &[String]| -> Result<Vec<Rule>> {
        texts.iter().map(|text| Ok(text.parse()?)).collect()
    };
    let options = DropOptions {
        set: (!args.rules.is_empty()).then(|| parse(&args.rules)).transpose()?,
        add: parse(&args.add)?,
        remove: parse(&args.remove)?,
        placement: args.placement.clone().into(),
    };
    context.show(&configure(&context.control, &args.iface, &options)?)?;
    Ok(Exit::Done)
}
