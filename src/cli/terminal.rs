//! What standard output is: how wide, if it is a terminal at all.

use crate::report::layout::Width;
use std::io::{IsTerminal, stdout};

/// The columns of the terminal; 80 for a pipe or a file.
pub(super) fn width() -> Width {
    let stdout = stdout();
    if !stdout.is_terminal() {
        return Width::default();
    }
    terminal_size::terminal_size_of(&stdout)
        .map_or_else(Width::default, |(columns, _)| Width::new(usize::from(columns.0)))
}
