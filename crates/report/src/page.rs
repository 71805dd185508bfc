//! One HTML page that holds a whole report and needs nothing else: no network, no script.
//!
//! Rule: everything but a figure is text and is escaped; a figure is an [`Svg`], which only this
//! crate can make. Sections come in the order in which they are added.

use serde::Serialize;

use crate::escape::markup;
use crate::text;
use crate::{Svg, Table};

/// A page under construction.
#[derive(Debug, Clone)]
pub struct Page {
    title: String,
    highlights: Vec<(String, String)>,
    body: String,
    method: Vec<String>,
    footnotes: Vec<String>,
    raw: Vec<(String, String)>,
}

impl Page {
    /// An empty page.
    pub fn new(title: impl Into<String>) -> Page {
        Page {
            title: title.into(),
            highlights: Vec::new(),
            body: String::new(),
            method: Vec::new(),
            footnotes: Vec::new(),
            raw: Vec::new(),
        }
    }

    /// A big number at the top, with what it means.
    pub fn highlight(&mut self, number: &str, meaning: &str) -> &mut Page {
        self.highlights.push((number.into(), meaning.into()));
        self
    }

    /// A heading inside the page.
    pub fn section(&mut self, heading: &str) -> &mut Page {
        self.push("<h2>", heading, "</h2>\n")
    }

    /// Adds a paragraph of text.
    pub fn paragraph(&mut self, text: &str) -> &mut Page {
        self.push("<p>", text, "</p>\n")
    }

    /// Something that casts doubt on what follows.
    pub fn banner(&mut self, text: &str) -> &mut Page {
        self.push("<p class=\"banner\" role=\"note\">", text, "</p>\n")
    }

    /// Entries below a heading, or without one; nothing without entries.
    pub fn list(&mut self, name: &str, entries: impl IntoIterator<Item = String>) -> &mut Page {
        let entries: Vec<_> = entries.into_iter().collect();
        self.body.push_str(&list(name, ("h3", "ul"), &entries));
        self
    }

    /// A figure and the sentence below it.
    pub fn figure(&mut self, figure: &Svg, caption: &str) -> &mut Page {
        self.body.push_str("<figure>\n");
        self.body.push_str(figure.as_str());
        self.push("<figcaption>", caption, "</figcaption></figure>\n")
    }

    /// Adds a table.
    pub fn table(&mut self, table: &Table) -> &mut Page {
        self.body.push_str(&table.to_html());
        self
    }

    /// A table that is folded away under `name`.
    pub fn folded(&mut self, name: &str, table: &Table) -> &mut Page {
        self.push("<details><summary>", name, "</summary>\n");
        self.table(table);
        self.body.push_str("</details>\n");
        self
    }

    /// One step of the section "How it was done".
    pub fn method(&mut self, step: &str) -> &mut Page {
        self.method.push(step.into());
        self
    }

    /// Adds a line in small letters.
    pub fn footnote(&mut self, text: &str) -> &mut Page {
        self.footnotes.push(text.into());
        self
    }

    /// Data as JSON, folded under `name`. For data that JSON cannot represent (a map whose keys are
    /// not text) the reason is shown.
    pub fn raw(&mut self, name: &str, data: &impl Serialize) -> &mut Page {
        let json = serde_json::to_string_pretty(data).unwrap_or_else(|fault| fault.to_string());
        self.raw.push((name.into(), text::json(&json).into_owned()));
        self
    }

    /// The whole page as HTML.
    pub fn to_html(&self) -> String {
        let title = markup(&self.title);
        let mut html = format!("{HEAD}<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n");
        html.push_str(&format!("<body><main>\n<h1>{title}</h1>\n"));
        html.push_str(&self.highlights_html());
        html.push_str(&self.body);
        html.push_str(&list("How it was done", ("h2", "ol"), &self.method));
        html.push_str(&list("Notes", ("h2", "ul"), &self.footnotes));
        html.push_str(&self.raw_html());
        html.push_str("</main></body></html>\n");
        html
    }

    fn push(&mut self, open: &str, text: &str, close: &str) -> &mut Page {
        self.body.extend([open, &markup(text), close]);
        self
    }

    fn highlights_html(&self) -> String {
        if self.highlights.is_empty() {
            return String::new();
        }
        let tiles = self.highlights.iter().map(|(number, meaning)| {
            let (number, meaning) = (markup(number), markup(meaning));
            format!("<div><b>{number}</b><span>{meaning}</span></div>\n")
        });
        format!("<div class=\"tiles\">\n{}</div>\n", tiles.collect::<String>())
    }

    fn raw_html(&self) -> String {
        let fold = self.raw.iter().map(|(name, json)| {
            let (name, json) = (markup(name), markup(json));
            format!("<details><summary>{name}</summary><pre>{json}</pre></details>\n")
        });
        fold.collect()
    }
}

fn list(heading: &str, (head, tag): (&str, &str), entries: &[String]) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let entries: String =
        entries.iter().map(|text| format!("<li>{}</li>\n", markup(text))).collect();
    let heading = match heading {
        "" => String::new(),
        words => format!("<{head}>{}</{head}>\n", markup(words)),
    };
    format!("{heading}<{tag}>\n{entries}</{tag}>\n")
}

const HEAD: &str = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
<meta name=\"color-scheme\" content=\"light dark\">\n";

const STYLE: &str = "\
:root{--ink:#1f2933;--soft:#5a6672;--back:#f4f6f8;--card:#fff;--edge:#dfe4ea;--key:#0a6ebd;\
--warn:#fdf0e6;--edge-warn:#d1480f}
@media (prefers-color-scheme:dark){
:root{--ink:#e8edf2;--soft:#9ba7b4;--back:#0d1218;--card:#151b23;--edge:#2d3742;--key:#58a6ff;\
--warn:#33221a;--edge-warn:#ff8a4c}}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--ink);font:17px/1.55 system-ui,-apple-system,\
'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;-webkit-text-size-adjust:100%}
main{max-width:760px;margin:0 auto;padding:28px 16px 56px}
h1{font-size:1.9em;line-height:1.2;margin:.3em 0 .6em}
h2{font-size:1.25em;margin:2em 0 .5em}
h3{font-size:1em;margin:1.4em 0 .3em}
ul,ol{padding-left:1.3em;overflow-wrap:anywhere}
.banner{background:var(--warn);border-left:4px solid var(--edge-warn);border-radius:6px;\
padding:10px 14px}
p,li{max-width:68ch}
li{margin:.3em 0}
figure{margin:1.6em 0}
figcaption{color:var(--soft);font-size:.9em;margin-top:.5em}
.tiles{display:flex;flex-wrap:wrap;gap:12px;margin:1.2em 0 1.6em}
.tiles div{flex:1 1 150px;background:var(--card);border:1px solid var(--edge);\
border-radius:10px;padding:14px 16px}
.tiles b{display:block;font-size:1.75em;line-height:1.2;color:var(--key);\
font-variant-numeric:tabular-nums}
.tiles span{color:var(--soft);font-size:.9em;line-height:1.35;display:block;margin-top:4px}
.wide{overflow-x:auto;margin:1.2em 0;background:var(--card);border:1px solid var(--edge);\
border-radius:10px;padding:4px 12px}
table{border-collapse:collapse;width:100%;font-size:.95em;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:8px 10px;white-space:nowrap}
td{border-top:1px solid var(--edge)}
th{color:var(--soft);font-weight:600}
td:first-child{font-weight:600}
.r{text-align:right}
details{margin:1em 0;background:var(--card);border:1px solid var(--edge);border-radius:10px;\
padding:10px 14px}
summary{cursor:pointer;font-weight:600}
@media (max-width:540px){
main{padding:16px 8px 40px}
table{font-size:.85em}
th,td{padding:7px 6px}
.wide{padding:2px 6px}}
pre{overflow-x:auto;font:13px/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
";

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::plot::Bars;
    use crate::table::Column;

    const HOSTILE: &str = "<script>alert('&\"')</script>";

    /// A page with something hostile in every place that takes text.
    fn hostile() -> String {
        let mut table = Table::new([Column::text(HOSTILE)]);
        table.row([HOSTILE]);
        let figure = Bars::new(HOSTILE, HOSTILE).missing(HOSTILE).to_svg();
        let mut page = Page::new(HOSTILE);
        page.highlight(HOSTILE, HOSTILE).section(HOSTILE).paragraph(HOSTILE);
        page.figure(&figure, HOSTILE).table(&table).method(HOSTILE).footnote(HOSTILE);
        page.banner(HOSTILE).list(HOSTILE, [HOSTILE.into()]).folded(HOSTILE, &table);
        page.raw(HOSTILE, &[HOSTILE]).to_html()
    }

    #[test]
    fn nothing_from_outside_comes_alive() {
        let html = hostile();
        assert!(!html.contains("<script"), "{html}");
        assert!(html.matches("&lt;script&gt;").count() >= 16, "{html}");
    }

    #[test]
    fn the_page_asks_the_network_for_nothing() {
        let html = hostile().replace("http://www.w3.org/2000/svg", "");
        for way_out in ["http:", "https:", "src=", "href=", "url(", "@import"] {
            assert!(!html.contains(way_out), "{way_out}");
        }
    }

    #[test]
    fn parts_stand_in_reading_order() {
        let mut page = Page::new("title");
        page.raw("data", &BTreeMap::from([("a", 1)])).footnote("note").method("step");
        let html = page.paragraph("words").highlight("9", "lives").to_html();
        let parts =
            ["<h1>title", "<b>9</b>", "<p>words", "<li>step", "<li>note", "<pre>{\n  &quot;"];
        let places: Vec<_> = parts.iter().map(|part| html.find(part).expect(part)).collect();
        assert!(places.is_sorted(), "{places:?}");
        let bare = Page::new("title").to_html();
        assert!(!bare.contains("<h2>") && !bare.contains("<details>"), "{bare}");
    }
}
