//! Traces for other eyes: one page with pictures ([`page`]), Perfetto ([`perfetto`]), the Firefox
//! Profiler ([`firefox`]), flame graphs ([`collapsed`]), lines of text ([`text`]).

pub mod collapsed;
pub mod firefox;
pub mod page;
pub mod perfetto;
pub mod spent;
pub mod text;
