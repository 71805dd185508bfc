//! Colors and letters of every figure, as one style sheet.
//!
//! Rule: every rule is under `svg.xway`, so that an inlined figure changes nothing around it. The
//! first hues differ for all common kinds of color blindness (blue, vermilion, green, gold,
//! purple); cyan, pink and olive follow, gray is for references. Each has a lighter twin for dark
//! backgrounds.

/// The number of series colors; further series start over.
pub(super) const COLOURS: usize = 8;
/// The color of references: what was not measured by us.
pub(super) const GREY: usize = 8;

/// Height of one line of text, and how wide a letter gets on a phone, by class of text.
/// A little above the average of common fonts, so that layouts rather keep a gap.
pub(super) const LINE: f64 = 26.0;
pub(super) const LETTER: f64 = 12.2;
pub(super) const TITLE_LETTER: f64 = 14.0;
pub(super) const SMALL_LETTER: f64 = 9.8;

/// The class of a series' color.
pub(super) fn colour(series: usize) -> String {
    let index = if series == GREY { GREY } else { series % COLOURS };
    format!("s{index}")
}

pub(super) const STYLE: &str = "\
svg.xway{font:15px system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;\
font-variant-numeric:tabular-nums;display:block;width:100%;height:auto}
svg.xway text{fill:#1f2933}
svg.xway .title{font-size:20px;font-weight:700}
svg.xway .strong{font-weight:650}
svg.xway .small{font-size:13.5px}
svg.xway .soft{fill:#5a6672}
svg.xway .card{fill:#fff;stroke:#dfe4ea}
svg.xway .under{fill:#fff;fill-opacity:.88}
svg.xway .grid{stroke:#e3e8ed;fill:none}
svg.xway .base{stroke:#8d99a6;fill:none}
svg.xway .whisker{stroke:#1f2933;stroke-width:1.6;fill:none}
svg.xway .plain{fill:#6b7885;fill-opacity:.07}
svg.xway .danger{fill:#d1480f;fill-opacity:.09}
svg.xway .safe{fill:#00856f;fill-opacity:.1}
svg.xway .s0{color:#0a6ebd}
svg.xway .s1{color:#d1480f}
svg.xway .s2{color:#00856f}
svg.xway .s3{color:#b07d00}
svg.xway .s4{color:#8b4bb8}
svg.xway .s5{color:#00919f}
svg.xway .s6{color:#c2417c}
svg.xway .s7{color:#6b5a2e}
svg.xway .s8{color:#7a8693}
svg.xway .bar{fill:currentColor}
svg.xway .reference{fill:currentColor;fill-opacity:.22;stroke:currentColor;stroke-dasharray:4 3}
svg.xway .line{fill:none;stroke:currentColor;stroke-width:2.4;stroke-linejoin:round}
svg.xway .dashed{fill:none;stroke:currentColor;stroke-width:2;stroke-dasharray:6 4}
svg.xway .published{fill:none;stroke:currentColor;stroke-width:2;stroke-dasharray:6 5;\
stroke-opacity:.6}
svg.xway .range{fill:none;stroke:currentColor;stroke-width:1.6;stroke-opacity:.65}
svg.xway .point{fill:currentColor;stroke:#fff;stroke-width:1.4}
svg.xway .hollow{fill:#fff;stroke:currentColor;stroke-width:2.4}
svg.xway .area{fill:currentColor;fill-opacity:.3}
@media (max-width:540px){
svg.xway{font-size:19px}
svg.xway .title{font-size:23px}
svg.xway .small{font-size:17px}
}
@media (prefers-color-scheme:dark){
svg.xway text{fill:#e8edf2}
svg.xway .soft{fill:#9ba7b4}
svg.xway .card{fill:#151b23;stroke:#2d3742}
svg.xway .under{fill:#151b23}
svg.xway .grid{stroke:#28323d}
svg.xway .base{stroke:#6b7885}
svg.xway .whisker{stroke:#e8edf2}
svg.xway .plain{fill:#9ba7b4}
svg.xway .point{stroke:#151b23}
svg.xway .hollow{fill:#151b23}
svg.xway .danger{fill:#ff8a4c;fill-opacity:.12}
svg.xway .safe{fill:#2bd4a8;fill-opacity:.11}
svg.xway .s0{color:#58a6ff}
svg.xway .s1{color:#ff8a4c}
svg.xway .s2{color:#2bd4a8}
svg.xway .s3{color:#f0c244}
svg.xway .s4{color:#cf9bf5}
svg.xway .s5{color:#4fd6e3}
svg.xway .s6{color:#ff8fbf}
svg.xway .s7{color:#c8b37a}
svg.xway .s8{color:#9aa5b1}
}
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_series_has_a_color_of_its_own_in_both_themes() {
        for series in 0..=COLOURS {
            let rule = format!(".{}{{color:", colour(series));
            let values: Vec<_> = STYLE
                .match_indices(&rule)
                .map(|(at, rule)| &STYLE[at + rule.len()..at + rule.len() + 7])
                .collect();
            assert_eq!(values.len(), 2, "{rule}");
            for value in values {
                assert_eq!(STYLE.matches(&format!("color:{value}")).count(), 1, "{value}");
            }
        }
    }
}
