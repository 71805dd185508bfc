//! TCP by programs, in a simulated network: `tcp_sim` is the network, `tcp_stories` the scenarios.

mod tcp_sim;
mod tcp_stories;
