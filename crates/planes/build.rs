//! Lets the guests' program be carried inside, where `CORELANE_GUEST_INSIDE` names it, packed by gzip:
//! `scripts/dist` does.

use std::env;

const VARIABLE: &str = "CORELANE_GUEST_INSIDE";

fn main() {
    println!("cargo::rustc-check-cfg=cfg(guest_inside)");
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    if let Ok(path) = env::var(VARIABLE) {
        println!("cargo::rerun-if-changed={path}");
        println!("cargo::rustc-env={VARIABLE}={path}");
        println!("cargo::rustc-cfg=guest_inside");
    }
}
