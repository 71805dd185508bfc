//! Real TCP connections, sent by XDP.
