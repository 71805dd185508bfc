//! What the tests of steering share.

pub mod model;
pub mod net;
pub mod redirect;
