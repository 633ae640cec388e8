//! What standard output is: how wide, if it is a terminal at all, and whether it is coloured.

use super::Colour;
use crate::report::layout::{Paint, Width};
use anstream::{AutoStream, ColorChoice};
use std::io::{IsTerminal, stdout};

/// Sets what `--color` asks for; `auto` leaves it to the terminal and to NO_COLOR, CLICOLOR and
/// CLICOLOR_FORCE.
pub(super) fn choose(colour: Colour) {
    match colour {
        Colour::Auto => ColorChoice::Auto,
        Colour::Always => ColorChoice::AlwaysAnsi,
        Colour::Never => ColorChoice::Never,
    }
    .write_global();
}

/// Whether what goes to standard output is coloured.
fn paint() -> Paint {
    match AutoStream::choice(&stdout()) {
        ColorChoice::Never => Paint::Plain,
        ColorChoice::Auto | ColorChoice::AlwaysAnsi | ColorChoice::Always => Paint::Ansi,
    }
}

/// The columns of the terminal; of a pipe or a file what COLUMNS says, else 80; and whether colours may go there.
pub(super) fn width() -> Width {
    let stdout = stdout();
    let size = if stdout.is_terminal() { terminal_size::terminal_size_of(&stdout) } else { None };
    let said = || std::env::var("COLUMNS").ok()?.trim().parse().ok().filter(|columns: &usize| *columns > 0);
    size.map(|(columns, _)| usize::from(columns.0))
        .or_else(said)
        .map_or_else(Width::default, Width::new)
        .painted(paint())
}
