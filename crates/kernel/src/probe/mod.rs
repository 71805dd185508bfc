//! Features of the running kernel, found by trying them.
