//! The small program of a user plane, and what it and its control plane say to each other.
//!
//! ```text
//!  protocol      commands and answers, routes, counters: both sides' words
//!  serve         the agent's turn: take commands and routes, forward, send counters up
//!  kernel        interfaces, neighbours and routes of the agent's own kernel
//!  passthrough   the user plane in user space: our worker between two packet sockets
//!  handler       what the management plane's web server computes for a request
//!  registers     processors whose vector registers a guest loses
//! ```
//!
//! `corelane-guest` is all of it as one static program: the first process of a guest's kernel, a
//! process in a namespace, or a CGI program, by the name it is called. The link's memory belongs to
//! the control plane, which creates and removes it; the agent maps it and writes its own half.
//!
//! The crate is small so that it builds fast for guests, which have no C library and no loader. It
//! does not start, bind or kill anything, and it loads no BPF program: the control plane (crate
//! `planes`) decides where it runs.

pub mod handler;
pub mod kernel;
pub mod passthrough;
pub mod protocol;
pub mod registers;
pub mod serve;
