//! Traces for other eyes: one page with pictures ([`page`]), Perfetto ([`perfetto`]), lines of text
//! ([`text`]).

pub mod page;
pub mod perfetto;
pub mod text;
