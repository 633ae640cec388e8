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

fn ends_in_www(text: &str) -> bool {
    text.len()
        .checked_sub(3)
        .and_then(|at| text.as_bytes().get(at..))
        .is_some_and(|end| end.eq_ignore_ascii_case(b"www"))
}

/// Text of a paragraph or a table cell in Markdown: every sign that could be markup is quoted.
///
/// Signs behind which GitHub, GitLab and Jira look for names and numbers in the finished text
/// (`@someone`, `#12`, `!12`, `$12`, `%name`, `&12`, `~label`, `^`) stand in a code span: these are
/// left alone. Signs that mean nothing inside of a line stay as they are, so that the text can be read
/// before it is rendered, too.
#[must_use]
pub fn markdown<'a>(text: impl Into<Terminal<'a>>) -> String {
    let shown = text.into().shown();
    let mut escaped = String::with_capacity(shown.len());
    let mut characters = shown.chars().peekable();
    let mut before = ' ';
    while let Some(character) = characters.next() {
        let alone = characters.peek().is_none_or(|next| *next == ' ');
        match character {
            '@' | '#' | '!' | '$' | '%' | '&' | '~' | '^' if !alone => {
                // Two spans side by side would be one with a longer fence.
                if escaped.ends_with('`') && !escaped.ends_with("\\`") {
                    escaped.insert(escaped.len().saturating_sub(1), character);
                } else {
                    escaped.extend(['`', character, '`']);
                }
            }
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            // `a: b` is a sentence and `14:02:10` a time, `http://` and `:smile:` are neither.
            ':' if alone || (before.is_ascii_digit() && two_digits(characters.clone())) => {
                escaped.push(character);
            }
            // `www.` begins a link.
            '.' if ends_in_www(&escaped) => escaped.push_str("\\."),
            '.' | ',' | ';' | '?' | '\'' | '"' | '(' | ')' | '%' | '/' => escaped.push(character),
            '-' | '+' | '=' if !escaped.is_empty() => escaped.push(character),
            other if other.is_ascii_punctuation() => escaped.extend(['\\', other]),
            other => escaped.push(other),
        }
        before = character;
    }
    escaped
}

/// Whether two digits follow, and no third: no emoji is called so.
fn two_digits(following: impl Iterator<Item = char>) -> bool {
    following.take(3).take_while(char::is_ascii_digit).count() == 2
}

/// A code span in Markdown, also inside a table: for keys, where every sign counts.
#[must_use]
pub fn markdown_code<'a>(text: impl Into<Terminal<'a>>) -> String {
    let shown = text.into().shown().replace('|', "\\|");
    let longest = shown.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.saturating_add(1));
    // A space on both sides is not shown, and keeps a backtick at the end apart from the fence.
    let edge = |shown: &str| shown.starts_with(['`', ' ']) || shown.ends_with(['`', ' ']);
    let space = if shown.is_empty() || edge(&shown) { " " } else { "" };
    format!("{fence}{space}{shown}{space}{fence}")
}

/// Text or an attribute's value in HTML.
#[must_use]
pub fn html<'a>(text: impl Into<Terminal<'a>>) -> String {
    let shown = text.into().shown();
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
        assert_eq!(markdown("[x](http://y) | *z* <b>"), "\\[x\\](http\\://y) \\| \\*z\\* &lt;b&gt;");
        assert_eq!(markdown("![x](y) `c` {code}"), "`!`\\[x\\](y) \\`c\\` \\{code\\}");
        assert_eq!(markdown("a\n# b @all :tada: www.x.y"), "a\\\\n\\# b `@`all \\:tada: www\\.x.y");
        assert_eq!(markdown("1000#1, 5 % of a & b: &lt;"), "1000`#`1, 5 % of a &amp; b: `&`lt;");
        assert_eq!(markdown("@@me"), "`@@`me");
        assert_eq!(markdown("- x"), "\\- x");
        assert_eq!(markdown("2025-11-29T14:02:10.5Z 1:100: :02:"), "2025-11-29T14:02:10.5Z 1\\:100: \\:02:");
    }

    #[test]
    fn a_code_span_ends_where_it_should() {
        assert_eq!(markdown_code("a|b``c`"), "``` a\\|b``c` ```");
        assert_eq!(markdown_code("order-41"), "`order-41`");
        assert_eq!(markdown_code(" "), "`   `");
    }

    #[test]
    fn html_stays_text() {
        assert_eq!(html("<script>\"'&\u{202e}"), "&lt;script&gt;&quot;&#39;&amp;\\u{202e}");
    }
}
