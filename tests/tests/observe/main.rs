//! What shows programs and packets: captures, views, the debugger, reasons of losses.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

mod bpftool;
mod capture;
mod capture_load;
mod capture_several;
mod debug_screen;
mod live_views;
mod prog_graph;
mod prog_hits;
mod why_drop;
mod why_drop_queues;
