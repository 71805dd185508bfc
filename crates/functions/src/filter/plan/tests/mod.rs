//! Plans answer what their rules answer one after the other.

mod adversarial;
mod rulesets;
mod same_answers;
