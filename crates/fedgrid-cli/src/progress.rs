//! How far a job is: a bar on a terminal, a line per step in a file or pipe; with the time that has passed and an estimate
//! of what is left,
//!
//! ```text
//! left = passed · (steps − done) / (done − done before)      done counts the tried part of the step that is under way
//! ```
//!
//! Steps differ in length, so that it is about right at best, and is said to be.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use fedgrid::compare::{Card, Contestant, Watch};
use fedgrid_lab::{
    number::{counted, significant},
    sweep::{CellOutcome, CellRecord, SweepWatch},
};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::streams::{complain, is_interrupted};

/// The progress of a job.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    plain: bool,
    pace: Arc<Pace>,
}

/// How fast it goes.
#[derive(Debug)]
struct Pace {
    begun: Instant,
    /// Steps that were done before the job went on.
    before: AtomicU64,
    /// The tried part of the step that is under way, in thousandths.
    part: AtomicU64,
}

impl Progress {
    /// The progress of a job of so many steps: as a bar there, or plain lines.
    pub(crate) fn new(steps: usize, target: ProgressDrawTarget, plain: bool) -> Self {
        let pace = Arc::new(Pace {
            begun: Instant::now(),
            before: AtomicU64::new(0),
            part: AtomicU64::new(0),
        });
        let shown = pace.clone();
        let write = move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            let text = shown.text(state.pos(), state.len().unwrap_or(0));
            // A terminal that has gone away wants no more.
            let _ = out.write_str(&text);
        };
        let style = ProgressStyle::with_template("{bar:20} {pos}/{len}  {pace}  {wide_msg}")
            .expect("the template is well formed")
            .with_key("pace", write);
        let bar = ProgressBar::with_draw_target(Some(steps as u64), target).with_style(style);
        // A single fit may take minutes; a bar that stands still looks like a hung program.
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar, plain, pace }
    }

    /// One step is done.
    pub fn done(&self, card: &Card) {
        let error = significant(card.error());
        let tried = counted(card.path.len(), "setting");
        self.step(&format!("{}: {tried} tried, error {error}", card.contestant));
    }

    /// So many steps were done before, by a job that goes on now.
    pub fn resumed(&self, steps: usize) {
        self.pace.before.store(steps as u64, Ordering::Relaxed);
        self.bar.inc(steps as u64);
        if self.plain && steps > 0 {
            let all = self.bar.length().unwrap_or_default();
            complain(&format!("{steps} of {all} steps were done before"));
        }
    }

    /// All is done.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn step(&self, what: &str) {
        self.pace.part.store(0, Ordering::Relaxed);
        self.bar.inc(1);
        self.bar.set_message(what.to_string());
        if self.plain {
            let (done, all) = (self.bar.position(), self.bar.length().unwrap_or_default());
            complain(&format!("{what} ({done} of {all}, {})", self.pace.text(done, all)));
        }
    }
}

impl Watch for Progress {
    fn tried(&self, contestant: Contestant, done: usize, foreseen: usize) {
        let part = (1000 * done / foreseen.max(done).max(1)) as u64;
        self.pace.part.store(part, Ordering::Relaxed);
        self.bar.set_message(format!("{contestant}: {} tried", counted(done, "setting")));
    }

    fn interrupted(&self) -> bool {
        is_interrupted()
    }
}

impl SweepWatch for Progress {
    fn cell_done(&self, case: &str, record: &CellRecord) {
        let case = if case.is_empty() { String::new() } else { format!("{case}, ") };
        let came = match &record.outcome {
            CellOutcome::Found(found) => found.comparison.own(&found.method).map_or_else(
                || "done".to_string(),
                |(name, entry)| format!("error {} by {name}", significant(entry.error())),
            ),
            CellOutcome::Failed(reason) => format!("failed: {reason}"),
        };
        self.step(&format!("{case}seed {}: {came}", record.seed));
    }
}

impl Pace {
    /// What has passed, and about what is left where that can be said.
    fn text(&self, done: u64, steps: u64) -> String {
        let passed = self.begun.elapsed().as_secs_f64();
        let part = self.part.load(Ordering::Relaxed) as f64 / 1000.0;
        let before = self.before.load(Ordering::Relaxed);
        match left(passed, (before, done, steps), part) {
            Some(left) => format!("{}, about {} left", in_words(passed), in_words(left)),
            None => in_words(passed),
        }
    }
}

/// The seconds that are left, at the pace of those that have passed; none before anything is done, and at the end.
fn left(passed: f64, (before, done, steps): (u64, u64, u64), part: f64) -> Option<f64> {
    let now = done.saturating_sub(before) as f64 + part;
    let open = steps.saturating_sub(done) as f64 - part;
    (now > 0.0 && open > 0.0).then(|| passed * open / now)
}

/// A time in the two largest of its units.
fn in_words(seconds: f64) -> String {
    let whole = Duration::from_secs_f64(seconds.clamp(0.0, 1e9)).as_secs();
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::{in_words, left};

    #[test]
    fn what_is_left_is_estimated_from_what_was_done_since_the_start() {
        assert_eq!(left(10.0, (0, 0, 8), 0.0), None);
        assert_eq!(left(10.0, (0, 2, 8), 0.0), Some(30.0));
        // Six were done before: the pace is that of the one that was done since.
        assert_eq!(left(10.0, (6, 7, 8), 0.0), Some(10.0));
        // A quarter of the first step took ten seconds.
        assert_eq!(left(10.0, (0, 0, 2), 0.25), Some(70.0));
        assert_eq!(left(10.0, (0, 8, 8), 0.0), None);
    }

    #[test]
    fn times_have_two_units() {
        let said = [0.4, 59.9, 61.0, 3599.0, 3600.0 * 25.0 + 61.0].map(in_words);
        assert_eq!(said, ["0 s", "59 s", "1 min 01 s", "59 min 59 s", "25 h 01 min"]);
    }
}
