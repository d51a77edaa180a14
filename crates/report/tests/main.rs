//! What is shown: pages, tables, plots, units and files, from plain values.

mod html;
mod json;
mod plot;
mod table;
mod terminal;
mod units;
