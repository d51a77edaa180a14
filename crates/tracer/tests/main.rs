//! The profiler: the format and the analyses on known streams, recordings of this machine, and its
//! pages in a browser.

mod analyses;
mod browser;
mod diff;
mod ends;
mod exports;
mod format;
mod golden;
mod lifetimes;
mod live;
mod live_help;
mod naming;
mod perfetto;
mod pictures;
mod programs;
mod prove;
mod queueing;
mod runtimes;
mod synthetic;
mod timeline;
mod writers;
