//! Plans answer what their rules answer one after the other.

mod adversarial;
pub mod rulesets;
pub mod same_answers;
