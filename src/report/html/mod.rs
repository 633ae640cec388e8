//! The report as one page of HTML: to open, to send, to print. Needs no network and asks for none.
//!
//! `template.html` has the frame and the verdict as text, `style.css` the looks, `script.js` draws the
//! rest from the data that stand in the page ([`data`]). A content security policy names the style and
//! the script by their hashes: nothing else runs or loads, whatever a key holds.
//!
//! Foreign text is spelled out ([`escape::Terminal`]) before it is embedded, is put into the page as
//! text and never as markup, and the embedded JSON holds no `<`, `>` or `&`, so that nothing in it ends
//! the element or begins a comment.

mod data;

use super::escape::{self, Terminal};
use super::model::Report;
use super::wording::Zone;
use super::zoned::told;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};
use std::io::{self, Write};

const TEMPLATE: &str = include_str!("template.html");
const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
/// Columns of the title of the window.
const TITLE: usize = 120;
/// Columns of a sentence of the verdict.
const SENTENCE: usize = 2000;

/// Writes the report, times in UTC.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    write_in(report, &Zone::default(), out)
}

/// Writes the report with times in a zone.
pub fn write_in(report: &Report, zone: &Zone, out: &mut dyn Write) -> io::Result<()> {
    let report = &*told(report, zone);
    let mut rest = TEMPLATE;
    while let Some((before, (name, after))) =
        rest.split_once("{{").and_then(|(before, from)| Some((before, from.split_once("}}")?)))
    {
        out.write_all(before.as_bytes())?;
        fill(name, report, zone, out)?;
        rest = after;
    }
    out.write_all(rest.as_bytes())
}

/// Writes what stands for a name of the template.
fn fill(name: &str, report: &Report, zone: &Zone, out: &mut dyn Write) -> io::Result<()> {
    let verdict = &report.verdict;
    let html = |text: &str, columns: usize| escape::html(Terminal::text(text).cut(columns));
    let text = match name {
        "style" => STYLE.to_owned(),
        "script" => SCRIPT.to_owned(),
        "style-hash" => hash(STYLE),
        "script-hash" => hash(SCRIPT),
        "title" => html(&verdict.headline, TITLE),
        "headline" => html(&super::wording::opening(&verdict.headline, &[]), SENTENCE),
        "sentences" => {
            let sentences = verdict.sentences.iter().map(|sentence| html(sentence, SENTENCE));
            sentences.collect::<Vec<_>>().join(" ")
        }
        "version" => html(&report.tool.version, TITLE),
        "data" => return data::write(report, zone, &mut Embedded { out }),
        unknown => {
            return Err(io::Error::other(format!("the template has a name {unknown} that nothing fills")));
        }
    };
    out.write_all(text.as_bytes())
}

/// A source expression of a content security policy.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

/// Writes JSON so that no HTML can be read from it. These signs stand in its strings alone, where an
/// escape means the same.
struct Embedded<'a> {
    out: &'a mut dyn Write,
}

impl Write for Embedded<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut from = 0;
        for (at, byte) in bytes.iter().enumerate() {
            let escaped: &[u8] = match byte {
                b'<' => b"\\u003c",
                b'>' => b"\\u003e",
                b'&' => b"\\u0026",
                _ => continue,
            };
            self.out.write_all(bytes.get(from..at).unwrap_or_default())?;
            self.out.write_all(escaped)?;
            from = at + 1;
        }
        self.out.write_all(bytes.get(from..).unwrap_or_default())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{BusinessKey, Code, Finding, Group};
    use crate::report::model::Invocation;

    fn page(report: &Report) -> String {
        let mut text = Vec::new();
        write(report, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn every_name_of_the_template_is_filled_and_nothing_comes_from_elsewhere() {
        let page = page(&Report::new(Invocation::default()));
        assert!(!page.contains("{{"), "a name was left");
        for outside in ["http://", "https://", "src=", "@import", "url("] {
            let page = page.replace("http://www.w3.org/2000/svg", "");
            assert!(!page.contains(outside), "the page names {outside}");
        }
        assert!(page.contains(&format!("script-src '{}'", hash(SCRIPT))));
    }

    #[test]
    fn a_key_that_is_markup_stays_text() {
        let mut report = Report::new(Invocation::default());
        let mut finding = Finding::empty(Code::ResendNewSession);
        let text = "</script><script>alert(1)</script><!--".to_owned();
        report.verdict.headline.clone_from(&text);
        finding.title.clone_from(&text);
        finding.groups =
            vec![Group { business_key: BusinessKey::Text { text }, copies: Vec::new(), copies_omitted: 0 }];
        report.findings.push(finding);
        let page = page(&report);
        assert_eq!(page.matches("</script>").count(), 2);
        assert!(!page.contains("<!--") && !page.contains("<script>alert"));
        assert!(page.contains("\\u003c/script\\u003e\\u003cscript\\u003ealert(1)"));
    }
}
