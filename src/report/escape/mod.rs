//! Other people's bytes, made harmless for the place where they are shown.
//!
//! Keys, topic names, paths and values come from files that anybody may have written. In a terminal
//! they could move the cursor, retitle the window or reorder the line; in a CSV cell they could be a
//! formula; in Markdown and HTML they could be markup. Every form of the report passes foreign text
//! through exactly one function of this module: [`Terminal`] for terminals, [`csv()`], [`markdown`],
//! [`markdown_code`] and [`html`] for files.
//!
//! All of them first spell out what cannot be seen, in the same way:
//!
//! ```text
//! newline, tab, return, NUL       \n \t \r \0
//! other ASCII control characters  \x1b
//! bytes that are no UTF-8         \xff
//! other invisible characters      \u{202e}
//! ```
//!
//! A backslash that would read as one of these is doubled, so that two different keys never look
//! the same because of the escaping.

mod markup;
mod terminal;
mod visible;

pub use markup::{csv, html, markdown, markdown_code};
pub use terminal::{Terminal, width};
