//! Samples, tables, plots and HTML: what Expressway measured, made readable.
#![forbid(unsafe_code)]
