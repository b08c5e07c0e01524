//! The cells of a sweep, several at a time where they are small.
//!
//! Every worker has a pool of threads of its own. One pool for all would let a thread that waits inside of one cell begin
//! another on top of it, and hold the tables of any number of cells at once.

use std::{
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use fedgrid::compare::Watch;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::{
    CellOutcome, CellRecord, Sweep, SweepFolder, cell,
    varied::{self, Drawn},
};
use crate::{
    assembly::{Assembly, Rolling},
    error::{Error, Result},
    experiment::Experiment,
};

/// Cells with more numbers in their table than these (40 MB) are run one after the other, each on all threads.
const SMALL_NUMBERS: usize = 5_000_000;

/// Who waits for a sweep.
pub trait SweepWatch: Watch {
    /// A cell is done; `case` is its case in words.
    fn cell_done(&self, case: &str, record: &CellRecord);
}

/// What is known of the tables of a sweep before its first cell.
#[derive(Debug)]
pub struct Ready {
    /// A hash of all files.
    pub data: String,
    /// What seeds vary, in a sentence.
    pub varied: String,
    numbers: usize,
}

impl Sweep {
    /// Reads the tables of all cases, each set of files once; refuses a sweep none of whose cases can be run.
    pub fn ready(&self, watch: &dyn Watch) -> Result<Ready> {
        let files: Vec<String> = self.cases.iter().map(|case| files(&case.experiment)).collect();
        let mut sets = files.clone();
        sets.dedup();
        let (mut hashes, mut numbers, mut drawn) = (Vec::new(), 0, Vec::new());
        let mut refusal = None;
        for (at, set) in sets.iter().enumerate().filter(|(at, set)| !sets[..*at].contains(set)) {
            let own = self.cases.iter().zip(&files).filter(|(_, files)| *files == set);
            let mut hash = format!("{at}-");
            for (case, _) in own {
                match put_together(&case.experiment, &self.plan.base, watch) {
                    Ok(assembly) => {
                        hash = format!("{:016x}", assembly.fingerprint);
                        numbers = numbers.max(size(&assembly));
                        drawn.push(Drawn::of(&assembly));
                        break;
                    }
                    Err(error @ (Error::Interrupted | Error::Later(_))) => return Err(error),
                    // Another case of these files may do; this one will be named in the table.
                    Err(error) => refusal = refusal.or(Some((case, error))),
                }
            }
            hashes.push(hash);
        }
        match refusal {
            Some((_, error)) if drawn.is_empty() => Err(error),
            _ => {
                let varied = varied::sentence(self, &drawn);
                Ok(Ready { data: hashes.join(" "), varied, numbers })
            }
        }
    }

    /// All cells in the order of cases and seeds.
    fn cells(&self) -> Vec<(usize, u64)> {
        let seeds = self.seeds();
        (0..self.cases.len()).flat_map(|case| seeds.iter().map(move |&seed| (case, seed))).collect()
    }

    /// How many cells there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.cases.len() * self.plan.seeds
    }

    /// Runs the cells that the folder does not know; gives all of them, in the order of cases and seeds.
    pub fn run(
        &self,
        folder: &SweepFolder,
        ready: &Ready,
        watch: &dyn SweepWatch,
    ) -> Result<Vec<CellRecord>> {
        let known = folder.known();
        let is_known = |cell: &(usize, u64)| known.iter().any(|one| (one.case, one.seed) == *cell);
        let pending: Vec<(usize, u64)> =
            self.cells().into_iter().filter(|cell| !is_known(cell)).collect();
        let threads = rayon::current_num_threads();
        let most = if ready.numbers <= SMALL_NUMBERS { threads } else { 1 };
        let workers = most.min(pending.len()).max(1);
        let work = Work {
            sweep: self,
            folder,
            watch,
            pending,
            next: AtomicUsize::new(0),
            ended: Mutex::default(),
        };
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| work.go_on((threads / workers).max(1)));
            }
        });
        if let Some(error) = work.ended.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let mut records = folder.known();
        records.sort_by_key(|record| (record.case, record.seed.wrapping_sub(self.seeds()[0])));
        Ok(records)
    }
}

/// What workers share.
struct Work<'a> {
    sweep: &'a Sweep,
    folder: &'a SweepFolder,
    watch: &'a dyn SweepWatch,
    pending: Vec<(usize, u64)>,
    next: AtomicUsize,
    /// Why all shall end, such as an interruption.
    ended: Mutex<Option<Error>>,
}

impl Work<'_> {
    /// Takes one cell after the other.
    fn go_on(&self, threads: usize) {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = match pool {
            Ok(pool) => pool,
            Err(error) => return self.end(Error::Later(format!("cannot start threads: {error}"))),
        };
        while let Some(&(case, seed)) = self.pending.get(self.next.fetch_add(1, Ordering::Relaxed))
        {
            if self.ended.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
                return;
            }
            let done = self.outcome(&pool, case, seed).and_then(|outcome| {
                let record = CellRecord { case, seed, outcome };
                self.folder.keep(&record)?;
                self.watch.cell_done(&self.sweep.named(case), &record);
                Ok(())
            });
            if let Err(error) = done {
                return self.end(error);
            }
        }
    }

    fn end(&self, error: Error) {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// What comes of a cell; an error is one of all cells.
    fn outcome(&self, pool: &ThreadPool, case: usize, seed: u64) -> Result<CellOutcome> {
        if self.watch.interrupted() {
            return Err(Error::Interrupted);
        }
        let experiment = Experiment { seed, ..self.sweep.cases[case].experiment.clone() };
        let base = &self.sweep.plan.base;
        match pool.install(|| cell::run(&experiment, base, &Asked(self.watch))) {
            Ok(found) => Ok(CellOutcome::Found(Box::new(found))),
            Err(error @ (Error::Interrupted | Error::Later(_))) => Err(error),
            Err(error) => Ok(CellOutcome::Failed(error.to_string())),
        }
    }
}

/// The watch of a cell, which tells nothing of its steps: those of several cells at once are no progress to look at.
struct Asked<'a>(&'a dyn SweepWatch);

impl Watch for Asked<'_> {
    fn tried(&self, _: fedgrid::compare::Contestant, _: usize, _: usize) {}

    fn interrupted(&self) -> bool {
        self.0.interrupted()
    }
}

/// The files of an experiment, in words by which two can be compared.
fn files(experiment: &Experiment) -> String {
    let (data, network, public) = (&experiment.data, &experiment.network, &experiment.public);
    format!("{:?} {:?} {:?} {:?}", data.file, network.file, network.edges, public.file)
}

fn put_together(experiment: &Experiment, base: &Path, watch: &dyn Watch) -> Result<Assembly> {
    let rolling = Rolling::new(experiment, base)?;
    rolling.assembly(rolling.count() - 1, watch)
}

/// How many numbers the rows of a study hold.
fn size(assembly: &Assembly) -> usize {
    let nodes = assembly.study.network.len();
    let rows: usize = (0..nodes).map(|node| assembly.study.rows[node].rows()).sum();
    rows * (assembly.about.features.len() + 1)
}
