//! What keys do, and what the picture shows at each size of the terminal.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Rect;
use ratatui::widgets::Paragraph;

use super::draw::picture;
use super::keys::Effect;
use super::*;

fn sheets() -> Vec<Sheet> {
    let headings = [Heading::text("rule"), Heading::text("what"), Heading::number("rate")];
    let mut rules = Sheet::new("rules", headings);
    for (name, rate) in [("web", 10.0), ("dns", 2_000.0), ("ntp", 300.0), ("Ssh", 40.0)] {
        let what = format!("drop udp dport {{53, 123, 389}} from @{name}-list");
        rules.row([Cell::text(name), Cell::text(what), Cell::number(rate, "pps")]);
    }
    let mut reasons = Sheet::new("reasons", [Heading::text("reason")]);
    reasons.empty = "no packet has been counted".to_owned();
    vec![rules, reasons]
}

/// The lines of the picture.
fn lines(browser: &Browser, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let area = Rect::new(0, 0, width, height);
    let text = picture(browser, "eth0, native, 4 rules", &sheets(), area);
    terminal.draw(|frame| frame.render_widget(Paragraph::new(text), area)).unwrap();
    let cells = terminal.backend().buffer().content.chunks(usize::from(width));
    let line = |cells: &[ratatui::buffer::Cell]| {
        cells.iter().map(ratatui::buffer::Cell::symbol).collect::<String>().trim_end().to_owned()
    };
    cells.map(line).collect()
}

fn press(browser: &mut Browser, codes: &[KeyCode]) {
    for code in codes {
        let key = KeyEvent::new(*code, KeyModifiers::NONE);
        assert_eq!(browser.key(key, &sheets(), 2), Effect::Draw, "{code:?}");
    }
}

/// Names of the rules in the order of the picture.
fn order(browser: &Browser) -> Vec<String> {
    let lines = lines(browser, 80, 12);
    let names = ["web", "dns", "ntp", "Ssh"];
    let first = lines.iter().filter_map(|line| line.split_whitespace().next());
    first.filter(|word| names.contains(word)).map(str::to_owned).collect()
}

#[test]
fn keys_sort_and_reverse() {
    let mut browser = Browser::default();
    assert_eq!(order(&browser), ["web", "dns", "ntp", "Ssh"]);
    press(&mut browser, &[KeyCode::Right]);
    assert_eq!(order(&browser), ["Ssh", "dns", "ntp", "web"]);
    press(&mut browser, &[KeyCode::Right, KeyCode::Right]);
    assert_eq!(order(&browser), ["dns", "ntp", "Ssh", "web"]);
    assert!(lines(&browser, 80, 12).iter().any(|line| line.contains("rate▼")));
    press(&mut browser, &[KeyCode::Char('r')]);
    assert_eq!(order(&browser), ["web", "Ssh", "ntp", "dns"]);
    press(&mut browser, &[KeyCode::Right]);
    assert_eq!(order(&browser), ["web", "dns", "ntp", "Ssh"], "the table's own order again");
    press(&mut browser, &[KeyCode::Left]);
    assert_eq!(order(&browser), ["dns", "ntp", "Ssh", "web"]);
}

#[test]
fn rows_are_filtered_and_scrolled() {
    let mut browser = Browser::default();
    press(&mut browser, &"/SSH".chars().map(KeyCode::Char).collect::<Vec<_>>());
    assert_eq!(order(&browser), ["Ssh"]);
    assert!(lines(&browser, 80, 12).last().unwrap().starts_with("filter: SSH_"));
    press(&mut browser, &[KeyCode::Char('q'), KeyCode::Enter]);
    assert!(lines(&browser, 80, 12).iter().any(|line| line == "no row contains `SSHq`"));
    press(&mut browser, &[KeyCode::Esc, KeyCode::End]);
    assert_eq!(order(&browser), ["ntp", "Ssh"], "two rows fit");
    assert!(lines(&browser, 80, 12).last().unwrap().starts_with("from row 3 of 4; "));
    press(&mut browser, &[KeyCode::Up, KeyCode::Up, KeyCode::Up, KeyCode::Down]);
    assert_eq!(order(&browser), ["dns", "ntp", "Ssh"]);
}

#[test]
fn tables_have_tabs() {
    let mut browser = Browser::default();
    press(&mut browser, &[KeyCode::Tab]);
    let shown = lines(&browser, 80, 12);
    assert!(shown.iter().any(|line| line == "no packet has been counted"), "{shown:?}");
    press(&mut browser, &[KeyCode::Tab, KeyCode::Char('?')]);
    assert!(lines(&browser, 80, 20).iter().any(|line| line.contains("reverse the order")));
    press(&mut browser, &[KeyCode::Esc, KeyCode::Char('p')]);
    assert!(browser.is_paused());
}

#[test]
fn some_keys_quit() {
    let sheets = sheets();
    for (code, modifiers) in [
        (KeyCode::Char('q'), KeyModifiers::NONE),
        (KeyCode::Esc, KeyModifiers::NONE),
        (KeyCode::Char('c'), KeyModifiers::CONTROL),
    ] {
        let mut browser = Browser::default();
        assert_eq!(browser.key(KeyEvent::new(code, modifiers), &sheets, 2), Effect::Quit);
    }
}

/// At 40 columns, names and numbers remain, and so do the most important keys.
#[test]
fn narrow_and_low_terminals() {
    let mut browser = Browser::default();
    press(&mut browser, &[KeyCode::Right]);
    for (width, height) in [(80, 24), (40, 10), (20, 4), (1, 1), (300, 2)] {
        let shown = lines(&browser, width, height);
        assert_eq!(shown.len(), usize::from(height));
    }
    let shown = lines(&browser, 40, 10);
    assert!(
        shown.iter().any(|line| line.contains("dns") && line.contains("2.00 kpps")),
        "{shown:?}"
    );
    assert!(shown.last().unwrap().starts_with("q quit  ? help"), "{shown:?}");
}
