//! Memory shared with the kernel, and the frames that it is cut into.
#![allow(unsafe_code)]
