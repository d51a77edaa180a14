//! The forwarding program on frames, one by one: what it rewrites, byte for byte, and why it leaves
//! a frame.

mod bench;

mod ahead;
mod capture;
mod leave;
mod limits;
mod links;
mod punts;
mod reasons;
mod rehearse;
mod rewrite;
mod samples;
mod search;
mod segments;
mod state;
mod variant;
