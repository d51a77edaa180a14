//! What forwards, without what follows the kernel's routes and answers people: that is `router`.
//!
//! ```text
//!  engine       changes -> what moves frames                   one trait, one file per engine
//!  user_plane   frames in -> frames out                        no control plane's system call
//!  log          what an operator would ask about later
//!  privileges   the rights that are kept
//! ```

pub mod engine;
pub mod log;
pub mod privileges;
pub mod user_plane;
