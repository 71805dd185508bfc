//! `Flows`: fields of a stream that vary together.

use serde::{Deserialize, Serialize};

use super::error::FlowsError;
use super::value::Order;
use crate::template;

/// The flows of a stream. Each frame belongs to one of them, which determines the values of all
/// fields with `{ flow = … }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flows {
    /// Number of flows.
    pub count: u64,
    #[serde(default)]
    order: Name,
    /// Exponent of `order = "zipf"`; 1 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exponent: Option<f64>,
}

/// Which flow comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Name {
    #[default]
    Sequence,
    Random,
    Zipf,
}

impl Flows {
    /// `count` flows in this order; [`Order::Flow`] means a sequence.
    pub fn new(count: u64, order: Order) -> Self {
        let (order, exponent) = match order {
            Order::Sequence | Order::Flow => (Name::Sequence, None),
            Order::Random => (Name::Random, None),
            Order::Zipf(exponent) => (Name::Zipf, Some(exponent)),
        };
        Self { count, order, exponent }
    }

    pub(super) fn order(&self) -> Result<template::Order, FlowsError> {
        match (self.order, self.exponent) {
            (Name::Sequence, None) => Ok(template::Order::Sequence),
            (Name::Random, None) => Ok(template::Order::Random),
            (Name::Zipf, exponent) => {
                Ok(template::Order::Zipf { exponent: exponent.unwrap_or(1.0) })
            }
            (_, Some(_)) => Err(FlowsError::Exponent),
        }
    }
}
