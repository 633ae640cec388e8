//! Foreign text in CSV, Markdown and HTML.
//!
//! CSV follows RFC 4180. A cell that a spreadsheet would take for a formula (it begins with `=`,
//! `+`, `-`, `@`, a tab or a line end, also as a full-width form) gets an apostrophe in front, and so
//! does a cell that begins with an apostrophe: whoever reads the file back takes one away. Numbers
//! of our own are written without this function, so that −1 stays a number.

use super::terminal::Terminal;
use std::borrow::Cow;

/// One cell of a CSV line.
#[must_use]
pub fn csv(text: &str) -> Cow<'_, str> {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '\'', '＝', '＋', '－', '＠']);
    let shown = Terminal::text(text).shown();
    let quoted =
        formula || shown.contains([',', '"', ';', '\'']) || shown.starts_with(' ') || shown.ends_with(' ');
    if !quoted {
        return shown;
    }
    let mut cell = String::with_capacity(shown.len().saturating_add(3));
    cell.push('"');
    if formula {
        cell.push('\'');
    }
    cell.push_str(&shown.replace('"', "\"\""));
    cell.push('"');
    Cow::Owned(cell)
}

/// Text of a paragraph or a table cell in Markdown: every sign that could be markup is quoted.
#[must_use]
pub fn markdown(text: &str) -> String {
    let shown = Terminal::text(text).shown();
    let mut escaped = String::with_capacity(shown.len());
    for character in shown.chars() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            // Some readers look for names behind @ in the finished text; a code span has none.
            '@' if escaped.ends_with("@`") => escaped.insert(escaped.len().saturating_sub(1), '@'),
            '@' => escaped.push_str("`@`"),
            other if other.is_ascii_punctuation() => escaped.extend(['\\', other]),
            other => escaped.push(other),
        }
    }
    escaped
}

/// A code span in Markdown, also inside a table: for keys, where every sign counts.
#[must_use]
pub fn markdown_code(text: &str) -> String {
    let shown = Terminal::text(text).shown().replace('|', "\\|");
    let longest = shown.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.saturating_add(1));
    // A space on both sides is not shown, and keeps a backtick at the end apart from the fence.
    format!("{fence} {shown} {fence}")
}

/// Text or an attribute's value in HTML.
#[must_use]
pub fn html(text: &str) -> String {
    let shown = Terminal::text(text).shown();
    let mut escaped = String::with_capacity(shown.len());
    for character in shown.chars() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_that_looks_like_a_formula_is_text() {
        assert_eq!(csv("=cmd()"), "\"'=cmd()\"");
        assert_eq!(csv("-1"), "\"'-1\"");
        assert_eq!(csv("\t=1"), "\"'\\t=1\"");
        assert_eq!(csv("＝1"), "\"'＝1\"");
        assert_eq!(csv("'x"), "\"''x\"");
        assert_eq!(csv("order-41"), "order-41");
    }

    #[test]
    fn a_cell_keeps_its_line_and_its_quotes() {
        assert_eq!(csv("a,b"), "\"a,b\"");
        assert_eq!(csv("say \"x\""), "\"say \"\"x\"\"\"");
        assert_eq!(csv("a\r\nb"), "a\\r\\nb");
        assert_eq!(csv(""), "");
    }

    #[test]
    fn markdown_stays_text() {
        assert_eq!(markdown("[x](http://y) | *z* <b>"), "\\[x\\]\\(http\\:\\/\\/y\\) \\| \\*z\\* &lt;b&gt;");
        assert_eq!(markdown("a\n# b @all"), "a\\\\n\\# b `@`all");
        assert_eq!(markdown("@@"), "`@@`");
        assert_eq!(markdown_code("a|b``c`"), "``` a\\|b``c` ```");
    }

    #[test]
    fn html_stays_text() {
        assert_eq!(html("<script>\"'&\u{202e}"), "&lt;script&gt;&quot;&#39;&amp;\\u{202e}");
    }
}
