//! Links between threads, between processes, and in every order of their steps.

mod conformance;
mod loom;
mod processes;
