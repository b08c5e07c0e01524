//! How far a job is: a bar on a terminal, a line per step in a file or pipe; with the time that has passed and an estimate
//! of what is left,
//!
//! ```text
//! left = passed · (all − done) / (done − done before)      in work: done has the tried part of the step under way
//! ```
//!
//! A step of a network is taken for ten of a method without one, so that it is about right at best, and is said to be.

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

/// The work of a fit over a network, in fits without one: from three for small tables to more than thirty.
const NETWORK_WORK: f64 = 10.0;

/// The work of a contestant, in fits without a network.
pub(crate) fn work_of(contestant: Contestant) -> f64 {
    match contestant {
        Contestant::Local | Contestant::Pooled | Contestant::Shrunk | Contestant::Baseline(_) => {
            1.0
        }
        Contestant::Mixed
        | Contestant::Network
        | Contestant::Member(_)
        | Contestant::Shuffled(_) => NETWORK_WORK,
    }
}

/// How fast it goes.
#[derive(Debug)]
struct Pace {
    begun: Instant,
    /// The work of each step.
    work: Vec<f64>,
    /// Steps that were done before the job went on.
    before: AtomicU64,
    /// The tried part of the step that is under way, in thousandths.
    part: AtomicU64,
}

impl Progress {
    /// The progress of a job whose steps are so much work each: as a bar there, or plain lines.
    pub(crate) fn new(work: Vec<f64>, target: ProgressDrawTarget, plain: bool) -> Self {
        let steps = work.len();
        let pace = Arc::new(Pace {
            begun: Instant::now(),
            work,
            before: AtomicU64::new(0),
            part: AtomicU64::new(0),
        });
        let shown = pace.clone();
        let write = move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            let text = shown.text(state.pos());
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

    /// A step without a card is done.
    pub fn step(&self, what: &str) {
        self.pace.part.store(0, Ordering::Relaxed);
        self.bar.inc(1);
        self.bar.set_message(what.to_string());
        if self.plain {
            let (done, all) = (self.bar.position(), self.bar.length().unwrap_or_default());
            complain(&format!("{what} ({done} of {all}, {})", self.pace.text(done)));
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
    fn text(&self, done: u64) -> String {
        let passed = self.begun.elapsed().as_secs_f64();
        let part = self.part.load(Ordering::Relaxed) as f64 / 1000.0;
        let before = self.before.load(Ordering::Relaxed);
        let [before, done] =
            [before, done].map(|steps| usize::try_from(steps).unwrap_or(usize::MAX));
        match left(passed, (before, done, &self.work), part) {
            Some(left) => format!("{}, about {} left", in_words(passed), in_words(left)),
            None => in_words(passed),
        }
    }
}

/// The seconds that are left, at the pace of those that have passed; none before anything is done, and at the end.
fn left(passed: f64, (before, done, work): (usize, usize, &[f64]), part: f64) -> Option<f64> {
    let of = |steps: std::ops::Range<usize>| work.get(steps).map_or(0.0, |all| all.iter().sum());
    let part = part * work.get(done).copied().unwrap_or(0.0);
    let now: f64 = of(before..done) + part;
    let open: f64 = of(done..work.len()) - part;
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
        let same = [1.0; 8];
        assert_eq!(left(10.0, (0, 0, &same), 0.0), None);
        assert_eq!(left(10.0, (0, 2, &same), 0.0), Some(30.0));
        // Six were done before: the pace is that of the one that was done since.
        assert_eq!(left(10.0, (6, 7, &same), 0.0), Some(10.0));
        // A quarter of the first step took ten seconds.
        assert_eq!(left(10.0, (0, 0, &same[..2]), 0.25), Some(70.0));
        assert_eq!(left(10.0, (0, 8, &same), 0.0), None);
        // Two small steps in two seconds; half of a large one would take five more.
        assert_eq!(left(2.0, (0, 2, &[1.0, 1.0, 10.0]), 0.0), Some(10.0));
        assert_eq!(left(7.0, (0, 2, &[1.0, 1.0, 10.0]), 0.5), Some(5.0));
    }

    #[test]
    fn times_have_two_units() {
        let said = [0.4, 59.9, 61.0, 3599.0, 3600.0 * 25.0 + 61.0].map(in_words);
        assert_eq!(said, ["0 s", "59 s", "1 min 01 s", "59 min 59 s", "25 h 01 min"]);
    }
}
