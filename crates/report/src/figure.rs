//! What is to be drawn of a benchmark's rows: bars side by side, or curves over an axis.
//!
//! Rule: a figure names rows and holds no value of its own but published ones, so that it can be
//! drawn of any run of the same scenario. It also names rows that could not be measured, which
//! are then shown as not here. Not here: drawing (`plot`), the rows (`bench`).

use serde::{Deserialize, Serialize};

/// One picture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Name of its file, without the extension.
    pub name: String,
    /// Heading of the figure.
    pub title: String,
    /// Line below the heading.
    pub subtitle: String,
    /// The kind of figure, with its rows.
    pub shape: Shape,
    /// Published values, drawn beside and labeled as other hardware.
    #[serde(default)]
    pub references: Vec<Reference>,
}

/// The kinds of figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Rows of one unit, in this order.
    Bars { rows: Vec<String> },
    /// Rows of one unit, each at a place of the x axis.
    Curves { x: XAxis, series: Vec<Series> },
}

/// The x axis of curves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct XAxis {
    /// Text below the axis.
    pub label: String,
    /// Unit of the places.
    pub unit: String,
    /// Whether the axis has a logarithmic scale.
    pub is_logarithmic: bool,
}

/// One curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Name of the series.
    pub name: String,
    /// Places and their rows.
    pub points: Vec<(f64, String)>,
}

/// What others published.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reference {
    /// The bar or curve that it is to be compared with in mind.
    pub name: String,
    /// Places and values in the rows' unit; bars ignore the place.
    pub points: Vec<(f64, f64)>,
    /// Where it was published and on what hardware.
    pub source: String,
}

impl Figure {
    /// Bars of these rows.
    pub fn bars(name: &str, title: &str, rows: impl IntoIterator<Item = String>) -> Self {
        Self::new(name, title, Shape::Bars { rows: rows.into_iter().collect() })
    }

    /// Curves along `x`.
    pub fn curves(name: &str, title: &str, x: XAxis, series: Vec<Series>) -> Self {
        Self::new(name, title, Shape::Curves { x, series })
    }

    /// Sets the line below the heading.
    pub fn subtitle(mut self, subtitle: &str) -> Self {
        self.subtitle = subtitle.into();
        self
    }

    /// A published value, for bars.
    pub fn reference(self, name: &str, value: f64, source: &str) -> Self {
        self.reference_curve(name, vec![(0.0, value)], source)
    }

    /// Published values, for curves.
    pub fn reference_curve(mut self, name: &str, points: Vec<(f64, f64)>, source: &str) -> Self {
        self.references.push(Reference { name: name.into(), points, source: source.into() });
        self
    }

    pub(crate) fn is_bars(&self) -> bool {
        matches!(self.shape, Shape::Bars { .. })
    }

    /// Whether it asks for this row, or has a curve of this name.
    pub(crate) fn names(&self, name: &str) -> bool {
        match &self.shape {
            Shape::Bars { rows } => rows.iter().any(|row| row == name),
            Shape::Curves { series, .. } => series.iter().any(|series| {
                series.name == name || series.points.iter().any(|(_, row)| row == name)
            }),
        }
    }

    fn new(name: &str, title: &str, shape: Shape) -> Self {
        let (name, title) = (name.into(), title.into());
        Self { name, title, subtitle: String::new(), shape, references: Vec::new() }
    }
}
