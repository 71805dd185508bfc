//! The page of a benchmark run in a real browser: it writes nothing to the console, and its figures
//! are visible, in light and dark and on a phone.
//!
//! The run is made up, so that it has everything that a run can have. Where no browser is
//! installed, this is skipped and names the package.

#![allow(clippy::print_stdout, reason = "a test that cannot run prints why")]

#[path = "../../../crates/report/tests/made_up/mod.rs"]
mod made_up;
mod support;

use support::{Browser, Screen};

#[test]
fn the_page_is_quiet_and_its_pictures_are_there() {
    let Some(browser) = Browser::find("quiet") else { return };
    let run = made_up::run().unwrap();
    let html = run.page().to_html();
    let page = browser.write("report.html", &html);
    let screens = [
        Screen::DESK,
        Screen { name: "dark", is_dark: true, ..Screen::DESK },
        // No window without a screen is narrower; the layout of phones begins at 540.
        Screen { name: "phone", width: 500, is_dark: false },
    ];
    for screen in screens {
        let (picture, said) = browser.picture(&page, screen);
        assert_eq!(said, [""; 0], "{screen:?}");
        let is_dark = picture.ground().iter().all(|part| *part < 128);
        assert_eq!(is_dark, screen.is_dark, "{screen:?}: the ground is {:?}", picture.ground());
        let figures = browser.figures(&html, screen);
        assert_eq!(figures.len(), run.figures().len(), "{screen:?}");
        for (region, (name, _)) in figures.into_iter().zip(run.figures()) {
            let [x, _, width, height] = region;
            let fits = x + width <= screen.width as usize;
            assert!(fits && height > width / 4, "{name} on {screen:?}: {region:?}");
            let colours = picture.colours(region);
            let most = colours.values().max().copied().unwrap_or_default();
            let drawn = (width * height - most) as f64 / (width * height) as f64;
            assert!(drawn > LEAST_DRAWN, "{name} on {screen:?}: {drawn} of it is drawn");
            let hues = colours.keys().filter(|colour| is_coloured(colour)).count();
            assert!(hues > LEAST_HUES, "{name} on {screen:?}: {hues} shades of colour");
        }
    }
}

#[test]
fn a_page_with_an_error_would_be_seen() {
    let Some(browser) = Browser::find("faulty") else { return };
    let faults = [
        ("a script that fails", "<script>undefined_name()</script>"),
        ("something that complains", "<script>console.error('no')</script>"),
    ];
    for (name, markup) in faults {
        let page = browser.write("faulty.html", &format!("<!DOCTYPE html><body>{markup}</body>"));
        assert!(!browser.console(&page).is_empty(), "{name}");
    }
}

/// Neither black, white nor gray.
fn is_coloured(colour: &[u8; 3]) -> bool {
    let (least, most) = (colour.iter().min().unwrap(), colour.iter().max().unwrap());
    most - least > 60
}

/// Share of a figure that text alone covers.
const LEAST_DRAWN: f64 = 0.03;
const LEAST_HUES: usize = 8;
