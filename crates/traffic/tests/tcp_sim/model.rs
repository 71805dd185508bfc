//! `Model`: how a congestion window should grow, in floating point, by RFC 5681 and RFC 9438.
//!
//! It computes the window from acknowledgements and their times. Windows are in segments, times in
//! seconds.

/// The window of one algorithm.
#[derive(Clone, Debug)]
pub struct Model {
    pub algorithm: Algorithm,
    pub window: f64,
    pub threshold: f64,
    /// CUBIC: the window before the last reduction, and the one at the plateau.
    before: f64,
    plateau: f64,
    /// Start of this epoch, and the time from there to the plateau.
    epoch: Option<f64>,
    rise: f64,
    /// The window that NewReno would have.
    estimate: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    NewReno,
    Cubic,
}

impl Model {
    /// A model in slow start.
    pub fn new(algorithm: Algorithm, window: f64) -> Self {
        Self {
            algorithm,
            window,
            threshold: f64::INFINITY,
            before: 0.0,
            plateau: 0.0,
            epoch: None,
            rise: 0.0,
            estimate: 0.0,
        }
    }

    /// A loss is repaired while `flight` segments are in flight.
    pub fn lose(&mut self, flight: f64) {
        let share = if self.algorithm == Algorithm::Cubic { BETA } else { 0.5 };
        let before = if self.algorithm == Algorithm::Cubic { self.window } else { flight };
        // Fast convergence (RFC 9438, 4.7).
        let is_less = self.window < self.plateau;
        self.plateau = if is_less { self.window * (1.0 + BETA) / 2.0 } else { self.window };
        self.before = self.window;
        self.threshold = (before * share).max(2.0);
        self.window = self.threshold;
        self.epoch = None;
    }

    /// `segments` were acknowledged at `now`, `rtt` after they were sent.
    pub fn acked(&mut self, now: f64, rtt: f64, segments: f64) {
        if self.window < self.threshold {
            self.window += segments;
            return;
        }
        match self.algorithm {
            Algorithm::NewReno => self.window += segments / self.window,
            Algorithm::Cubic => self.grow_cubic(now, rtt, segments),
        }
    }

    fn grow_cubic(&mut self, now: f64, rtt: f64, segments: f64) {
        let epoch = *self.epoch.get_or_insert_with(|| {
            self.estimate = self.window;
            self.rise = ((self.plateau - self.window).max(0.0) / C).cbrt();
            now
        });
        let at = now - epoch;
        let cubic = |time: f64| C * (time - self.rise).powi(3) + self.plateau;
        let alpha =
            if self.estimate < self.before { 3.0 * (1.0 - BETA) / (1.0 + BETA) } else { 1.0 };
        self.estimate += alpha * segments / self.window;
        if cubic(at) < self.estimate {
            self.window = self.window.max(self.estimate);
            return;
        }
        let target = cubic(at + rtt).clamp(self.window, 1.5 * self.window);
        self.window += (target - self.window) / self.window * segments;
    }
}

/// RFC 9438, 4.6 and 5.
const BETA: f64 = 0.7;
const C: f64 = 0.4;

#[test]
fn the_curve_comes_back_to_where_it_was() {
    let mut model = Model::new(Algorithm::Cubic, 1000.0);
    model.lose(1000.0);
    assert_eq!(model.window, 700.0);
    // 300 = C K^3: nine seconds.
    let (mut now, mut at_plateau) = (0.0, 0.0);
    while now < 18.0 {
        now += 0.1;
        model.acked(now, 0.1, model.window.floor());
        if (now - 9.1f64).abs() < 0.01 {
            at_plateau = model.window;
        }
    }
    assert!((at_plateau - 1000.0).abs() < 3.0, "{at_plateau}");
    assert!((model.window - 1300.0).abs() < 25.0, "{}", model.window);
}

#[test]
fn reno_adds_a_segment_a_round() {
    let mut model = Model::new(Algorithm::NewReno, 100.0);
    model.lose(100.0);
    (0..10).for_each(|round| model.acked(f64::from(round), 1.0, model.window.floor()));
    assert!((model.window - 60.0).abs() < 0.2, "{}", model.window);
}
