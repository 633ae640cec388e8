//! The page of the report in a real browser: what it shows, what keys do, that no foreign text runs, and
//! how fast a hundred thousand keys open.
//!
//! Needs Debian's `chromium` and `chromedriver`. Where they are not there the tests say so and pass;
//! with `DEDUP_AUDIT_BROWSER=required`, as `.ci/run` sets it, they fail.

#![expect(clippy::unwrap_used, reason = "a test that cannot talk to its browser has failed")]
#![expect(clippy::print_stderr, reason = "a test that was skipped says so")]

#[path = "support/samples.rs"]
mod samples;

use dedup_audit::finding::Severity;
use dedup_audit::finding::{BusinessKey, Group};
use dedup_audit::report::{Report, html, saved};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A browser without a window, and the pages that it opened.
struct Browser {
    driver: Child,
    session: String,
    home: tempfile::TempDir,
}

impl Browser {
    /// A browser, or `None` where there is none and none is required.
    fn start() -> Option<Self> {
        let required = required();
        let driver =
            Command::new("chromedriver").arg("--port=0").stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let Ok(mut driver) = driver else {
            assert!(!required, "chromedriver is required and not there");
            eprintln!("skipped: no chromedriver is there, the page was not opened in a browser");
            return None;
        };
        let lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = lines.map_while(Result::ok).find_map(|line| {
            line.rsplit_once("started successfully on port ")
                .map(|(_, port)| port.trim_end_matches('.').to_owned())
        });
        let server = format!("http://127.0.0.1:{}/session", port.expect("chromedriver names its port"));
        let home = tempfile::tempdir().unwrap();
        let options = json!({"capabilities": {"alwaysMatch": {
            "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                "--window-size=1400,1000", format!("--user-data-dir={}", home.path().join("profile").display())]},
        }}});
        let answer = post(&server, &options);
        if answer.is_err() && !required {
            eprintln!("skipped: chromedriver starts no chromium, the page was not opened in a browser");
            let _ = driver.kill();
            return None;
        }
        let session = format!("{server}/{}", answer.unwrap()["sessionId"].as_str().unwrap());
        Some(Self { driver, session, home })
    }

    /// Opens the page of a report.
    fn open(&self, report: &Report) {
        let path = self.home.path().join("report.html");
        let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
        html::write(report, &mut file).unwrap();
        drop(file);
        post(&format!("{}/url", self.session), &json!({"url": format!("file://{}", path.display())}))
            .unwrap();
    }

    /// What a script of the test gives back.
    fn ask(&self, script: &str) -> Value {
        let body = json!({"script": script, "args": []});
        post(&format!("{}/execute/sync", self.session), &body).unwrap()
    }

    /// Waits until a script of the test gives back what is true.
    fn wait_for(&self, script: &str) {
        for _ in 0..100 {
            if self.ask(script) == json!(true) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        panic!("never true: {script}");
    }

    /// Presses keys one after the other.
    fn press(&self, keys: &[&str]) {
        let pressed: Vec<_> = keys
            .iter()
            .flat_map(|key| {
                [json!({"type": "keyDown", "value": key}), json!({"type": "keyUp", "value": key})]
            })
            .collect();
        let body = json!({"actions": [{"type": "key", "id": "keyboard", "actions": pressed}]});
        post(&format!("{}/actions", self.session), &body).unwrap();
    }

    /// What the browser complained about: errors of the script, what the policy forbade.
    fn complaints(&self) -> Vec<String> {
        let log = post(&format!("{}/se/log", self.session), &json!({"type": "browser"})).unwrap();
        log.as_array().unwrap().iter().map(|entry| entry["message"].to_string()).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = request("DELETE", &self.session, "");
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

fn post(url: &str, body: &Value) -> std::io::Result<Value> {
    request("POST", url, &body.to_string())
}

/// One request of the WebDriver protocol: plain HTTP to this machine. What keeps the tool off the network
/// (deny.toml) keeps clients of HTTP out of its tests, too.
fn request(method: &str, url: &str, body: &str) -> std::io::Result<Value> {
    let (host, path) = url.trim_start_matches("http://").split_once('/').unwrap_or((url, ""));
    let mut connection = TcpStream::connect(host)?;
    write!(
        connection,
        "{method} /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut reader = BufReader::new(connection);
    let (mut line, mut length, mut status) = (String::new(), 0, String::new());
    while reader.read_line(&mut line)? > 2 {
        match line.to_lowercase().split_once(':') {
            Some(("content-length", value)) => length = value.trim().parse().unwrap_or(0),
            None => status.clone_from(&line),
            Some(_) => {}
        }
        line.clear();
    }
    let mut answer = vec![0; length];
    reader.read_exact(&mut answer)?;
    let mut answer: Value = serde_json::from_slice(&answer)?;
    let answer = answer["value"].take();
    if status.contains(" 200 ") { Ok(answer) } else { Err(std::io::Error::other(answer.to_string())) }
}

fn required() -> bool {
    std::env::var_os("DEDUP_AUDIT_BROWSER").is_some_and(|value| value == "required")
}

/// The report of a directory of test data, with all of its keys.
fn scanned(scenario: &str) -> Report {
    let output = Command::new(env!("CARGO_BIN_EXE_dedup-audit"))
        .args(["scan", scenario, "--format", "json", "--max-groups", "0"])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/brokers/4.3.1"))
        .output()
        .unwrap();
    saved::read(&String::from_utf8(output.stdout).unwrap()).unwrap()
}

const ARROW_DOWN: &str = "\u{e015}";
const END: &str = "\u{e010}";

#[test]
fn the_page_shows_filters_and_compares() {
    let Some(browser) = Browser::start() else { return };
    let report = scanned("mixed-incident");
    browser.open(&report);
    let title = browser.ask("return document.title");
    assert_eq!(title.as_str().unwrap()[..60], report.verdict.headline[..60]);
    assert_eq!(browser.ask("return document.querySelectorAll('#list button').length"), report.findings.len());
    assert_eq!(
        browser.ask("return document.querySelector('#detail h3').textContent.slice(0, 20)"),
        report.findings[0].title[..20]
    );

    // The copies of the first key, with the fields marked in which they differ.
    let marked = browser.ask(
        "return [...document.querySelectorAll('table.compare tr.differs th')].map(th => th.textContent).join()",
    );
    assert!(marked.as_str().unwrap().contains("≠offset (differs)"), "{marked}");
    assert_eq!(browser.ask("return document.querySelectorAll('table.compare thead th').length"), 4);

    // A slash goes to the search, and a key finds the one finding that has it.
    let group = &report.findings[1].groups[3];
    let key = dedup_audit::report::wording::business_key(&group.business_key);
    browser.press(&["/"]);
    browser.press(
        &key.chars()
            .map(|c| c.to_string())
            .collect::<Vec<_>>()
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>(),
    );
    browser.wait_for("return /^[1-4] of/.test(document.getElementById('matches').textContent)");
    let shown =
        browser.ask("return [...document.querySelectorAll('#list button')].map(b => b.dataset.id).join()");
    assert!(shown.as_str().unwrap().contains(&report.findings[1].id), "{shown}");
    browser.ask("document.getElementById('search').value = ''; document.getElementById('search').dispatchEvent(new Event('input'))");
    browser.wait_for(&format!(
        "return document.querySelectorAll('#list button').length === {}",
        report.findings.len()
    ));

    // A severity that is not wanted goes.
    browser.ask("document.querySelector('#severities input[value=high]').click()");
    let others = report.findings.iter().filter(|finding| finding.severity != Severity::High).count();
    assert!(others > 0 && others < report.findings.len());
    assert_eq!(browser.ask("return document.querySelectorAll('#list button').length"), others);
    browser.ask("document.querySelector('#severities input[value=high]').click()");

    // Arrows go through the list of findings and the list of keys.
    browser.ask("document.querySelector('#list button').focus()");
    browser.press(&[ARROW_DOWN]);
    assert_eq!(
        browser.ask("return document.querySelector('#list button[aria-current=true]').dataset.id"),
        report.findings[1].id.as_str()
    );
    browser.ask("document.querySelector('.rows').focus()");
    browser.press(&[ARROW_DOWN, END]);
    assert_eq!(
        browser.ask("const rows = document.querySelector('.rows'); return document.getElementById(rows.getAttribute('aria-activedescendant')).getAttribute('aria-posinset')"),
        report.findings[1].groups.len().to_string().as_str()
    );
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn what_is_valid_behind_an_abort_is_no_surplus_copy_in_the_timeline() {
    let Some(browser) = Browser::start() else { return };
    browser.open(&scanned("txn-commit-abort-tv2"));
    let drawn = |mark: &str| {
        browser.ask(&format!("return document.querySelectorAll('#chart svg[role=img] circle.{mark}').length"))
    };
    assert_eq!([drawn("aborted"), drawn("valid"), drawn("copy")], [json!(3), json!(3), json!(0)]);
    let legend = browser.ask("return document.querySelector('#chart .legend').textContent");
    let legend = legend.as_str().unwrap();
    assert!(
        legend.contains("valid, written again behind an abort") && !legend.contains("later copy"),
        "{legend}"
    );
}

#[test]
fn a_narrow_screen_needs_no_scrolling_sideways() {
    let Some(browser) = Browser::start() else { return };
    for set in ["mixed-incident", "crash-restart-resend"] {
        browser.open(&scanned(set));
        for columns in [360, 390, 700, 1000] {
            let screen = json!({"width": columns, "height": 1200, "deviceScaleFactor": 1, "mobile": false});
            let command = json!({"cmd": "Emulation.setDeviceMetricsOverride", "params": screen});
            post(&format!("{}/goog/cdp/execute", browser.session), &command).unwrap();
            let room = "const page = document.documentElement; return page.scrollWidth - page.clientWidth";
            assert_eq!(browser.ask(room), 0, "{set} on {columns} pixels");
        }
    }
}

#[test]
fn the_timeline_has_lanes_copies_and_leaders() {
    let Some(browser) = Browser::start() else { return };
    browser.open(&scanned("mixed-incident"));
    let lanes = "return document.querySelectorAll('#chart svg[role=img] rect[class^=lane-]').length";
    assert_eq!(browser.ask(lanes), 6);
    for mark in ["path.join", "circle.copy", "rect.unprotected", "line.leader"] {
        let count = format!("return document.querySelectorAll('#chart svg[role=img] {mark}').length > 0");
        assert_eq!(browser.ask(&count), true, "{mark}");
    }
    // Every mark lies on the picture.
    let outside = "const box = document.querySelector('#chart svg[role=img]').getBoundingClientRect();
        return [...document.querySelectorAll('#chart svg[role=img] circle')].map(c => c.getBoundingClientRect())
            .filter(c => c.left < box.left || c.right > box.right || c.top < box.top || c.bottom > box.bottom).length";
    assert_eq!(browser.ask(outside), 0);
    browser.ask("document.querySelector('#axis input[value=time]').click()");
    assert_eq!(browser.ask(lanes), 6);
    assert_eq!(browser.ask(outside), 0);
    browser.open(&scanned("txn-hanging"));
    assert_eq!(browser.ask("return document.querySelectorAll('#chart line.open').length > 0"), true);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn nothing_foreign_runs_or_leads_anywhere() {
    let Some(browser) = Browser::start() else { return };
    let mut report = samples::mixed();
    let harm = "</script><script>window.owned = 1</script><!--<img src=x onerror='window.owned=1'>\
                <a href='javascript:window.owned=1'>\u{202e}\u{1b}[2J\0";
    let findings = &mut report.findings;
    for text in findings.iter_mut().flat_map(|one| one.facts.iter_mut().chain([&mut one.title, &mut one.id]))
    {
        harm.clone_into(text);
    }
    for group in findings.iter_mut().flat_map(|one| &mut one.groups) {
        group.business_key = BusinessKey::Text { text: harm.to_owned() };
        for copy in &mut group.copies {
            harm.clone_into(&mut copy.directory);
            harm.clone_into(&mut copy.topic);
        }
    }
    report.topics[0].topic = harm.to_owned();
    report.producers[0].sessions[0].session = harm.to_owned();
    report.producers[0].sessions[0].topic = harm.to_owned();
    report.verdict.headline = harm.to_owned();
    report.invocation.options.insert(harm.to_owned(), json!(harm));
    report.coverage.notes[0].detail = harm.to_owned();
    browser.open(&report);
    browser.ask("document.querySelectorAll('button, input').forEach(one => one.click())");
    browser.ask("dispatchEvent(new Event('beforeprint'))");
    assert_eq!(browser.ask("return typeof window.owned"), "undefined");
    assert_eq!(browser.ask("return document.querySelectorAll('img, iframe, object, [onerror]').length"), 0);
    assert_eq!(browser.ask("return document.querySelectorAll('a:not([href^=\"#\"])').length"), 0);
    assert_eq!(browser.ask("return document.scripts.length"), 2);
    let text = browser.ask("return document.querySelector('h1').textContent");
    assert!(text.as_str().unwrap().contains("\\u{202e}\\x1b[2J\\0"), "{text}");
    let bare = "return /[\\u202e\\u001b\\u0000]/.test(document.body.innerText)";
    assert_eq!(browser.ask(bare), false);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn a_hundred_thousand_keys_open_at_once() {
    let Some(browser) = Browser::start() else { return };
    let mut report = samples::orders();
    let example = report.findings[0].groups[0].clone();
    report.findings[0].groups = (0..100_000)
        .map(|number| {
            let business_key = BusinessKey::Text { text: format!("order-{number}") };
            Group { business_key, ..example.clone() }
        })
        .collect();
    report.findings[0].counts.groups = 100_000;
    browser.open(&report);
    assert_eq!(browser.ask("return document.querySelectorAll('.rows .row').length < 60"), true);
    browser.ask("const box = document.querySelector('#detail .rows'); box.scrollTop = box.scrollHeight");
    browser.wait_for("return [...document.querySelectorAll('.rows .row')].some(row => row.textContent.startsWith('order-99999'))");
    browser.ask("const find = document.querySelector('#detail input[type=search]'); find.value = 'order-77777'; find.dispatchEvent(new Event('input'))");
    browser.wait_for("return document.querySelectorAll('.rows .row').length === 1");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// Of two events of one record key only the end of what is shown tells which is which.
#[test]
fn a_key_with_its_content_is_shown_whole_and_the_head_says_what_identifies() {
    let Some(browser) = Browser::start() else { return };
    let mut report = samples::orders();
    report.topics[0].identity.as_mut().unwrap().key = "content".to_owned();
    let example = report.findings[0].groups[0].clone();
    report.findings[0].groups = (0..20_u64)
        .map(|number| {
            let record_key = BusinessKey::Text { text: format!("ord-{:04}", 653 + number) };
            let digest = format!("{:032x}", u128::from(number) << 100);
            let business_key = BusinessKey::Digest { digest, record_key: Some(Box::new(record_key)) };
            Group { business_key, ..example.clone() }
        })
        .collect();
    browser.open(&report);
    let cells = "[...document.querySelectorAll('.rows .row > :first-child')]";
    assert_eq!(browser.ask(&format!("return {cells}.length > 8")), true);
    assert_eq!(
        browser.ask(&format!("return {cells}.filter(cell => cell.scrollWidth > cell.clientWidth).length")),
        0
    );
    assert_eq!(
        browser.ask(&format!(
            "return {cells}.every(cell => /^ord-\\d+ \\(content [0-9a-f]{{8}}\\)$/.test(cell.textContent))"
        )),
        true
    );
    let head = browser.ask("return document.getElementById('facts').textContent");
    assert!(head.as_str().unwrap().contains("One eventcontent (chosen by the tool)"), "{head}");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn a_clean_log_has_a_page_too() {
    let Some(browser) = Browser::start() else { return };
    browser.open(&samples::clean());
    assert_eq!(browser.ask("return document.querySelector('#list').textContent"), "Nothing was found.");
    assert_eq!(browser.ask("return document.getElementById('detail').hidden"), true);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}
