//! What is shown: pages, tables, plots, units and files, from plain values.

mod html;
mod json;
mod plot;
mod quantity;
mod table;
mod terminal;
mod units;
