//! A run: a folder that fills as the work proceeds, can be resumed, and holds everything at its end.
//!
//! ```text
//! experiment.toml   the complete experiment, defaults filled in
//! metrics.jsonl     one line per finished step: what was tried and how it did
//! edges.csv         the network, where it was learned or chosen
//! probes.csv        who asked whom, how often and what for, where nodes probed each other
//! coefficients.csv  the coefficients of every node with their standard errors, where models have them
//! uncertainty.json  what intervals are made of; not for classes
//! statistics.json   what is kept of training rows for an update, where models are linear
//! updates.json      the run before any update, and what was added since; updated_nodes.csv, updated_edges.csv: its
//!                   nodes and edges, where some have joined
//! models/           about.json, nodes.jsonl (one model per line), and the same of other methods (`kept_models.rs`)
//! result.json       the outcome
//! report.html       the page
//! ```

use std::{
    ffi::OsStr,
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use fedgrid::{
    compare::{Card, Contestant, Watch},
    method::Tally,
    network::NodeId,
};
use serde::{Deserialize, Serialize};

pub use crate::kept_models::{KeptMethods, RunIntervals, RunModels, to_json_pretty};
use crate::{
    assembly::Assembly,
    coefficients::Coefficients,
    error::{Error, Result},
    kept_models::{FORMAT_VERSION, is_finished, to_json},
    outcome::Outcome,
    probes::probes_csv,
};

/// The files of a run beside `metrics.jsonl`, which marks the folder.
const RUN_FILES: [&str; 11] = [
    "result.json",
    "report.html",
    "experiment.toml",
    "edges.csv",
    "probes.csv",
    "coefficients.csv",
    "uncertainty.json",
    "statistics.json",
    "updates.json",
    "updated_nodes.csv",
    "updated_edges.csv",
];

/// What to do with a folder that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// Leave it alone and say so.
    Refuse,
    /// Replace it.
    Replace,
    /// Continue an unfinished run.
    Resume,
}

/// The first line of `metrics.jsonl`, by which a resumed run knows that nothing has changed.
#[derive(Debug, Serialize, Deserialize)]
struct Identity {
    format: u32,
    version: String,
    data: String,
    /// A hash of the table of rows alone; none of rows that are in no file, and in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rows: Option<String>,
    /// The name of the experiment, which is the title of the page.
    #[serde(default)]
    title: String,
}

impl Identity {
    /// Whether both are of the same rows and version, whatever they are called.
    fn is_of(&self, other: &Self) -> bool {
        (self.format, &self.version, &self.data) == (other.format, &other.version, &other.data)
    }
}

/// Hashes of what a run is trained on.
#[derive(Debug, Clone, Copy)]
pub struct Fingerprints {
    all: u64,
    rows: Option<u64>,
}

impl From<u64> for Fingerprints {
    /// Of all input files together, where that of the rows alone is not known.
    fn from(all: u64) -> Self {
        Self { all, rows: None }
    }
}

impl From<&Assembly> for Fingerprints {
    fn from(assembly: &Assembly) -> Self {
        Self { all: assembly.fingerprint, rows: assembly.rows_fingerprint }
    }
}

impl Fingerprints {
    /// As files have them.
    fn hash(hash: u64) -> String {
        format!("{hash:016x}")
    }
}

/// A run folder.
#[derive(Debug)]
pub struct RunFolder {
    folder: PathBuf,
    cards: Vec<KeptCard>,
    /// The rolling origin that cards are of; none if there is one study.
    origin: Option<usize>,
}

/// A card as it is kept: with the number of its origin, where there are several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct KeptCard {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<usize>,
    #[serde(flatten)]
    card: Card,
}

impl RunFolder {
    fn at(folder: &Path) -> Self {
        Self { folder: folder.to_path_buf(), cards: Vec::new(), origin: None }
    }

    /// Whatever comes next is of the rolling origin of this number.
    pub fn go_to_origin(&mut self, origin: usize) {
        self.origin = Some(origin);
    }

    /// How many steps were done before a run was resumed.
    #[must_use]
    pub fn known_steps(&self) -> usize {
        self.cards.len()
    }

    /// The cards of the origin that is looked at.
    fn known(&self) -> Vec<Card> {
        let own = self.cards.iter().filter(|kept| kept.origin == self.origin);
        own.map(|kept| kept.card.clone()).collect()
    }

    /// Refuses a folder that must not be touched, before anything is computed.
    pub fn check(folder: &Path, existing: Existing) -> Result<()> {
        let run = Self::at(folder);
        match existing {
            Existing::Refuse if folder.exists() => Err(run.refusal()),
            Existing::Resume if !run.is_unfinished() => {
                let sentence = format!("'{}' holds no unfinished run", folder.display());
                Err(Error::input(format!("{sentence}; begin one without --resume")))
            }
            Existing::Replace if folder.exists() && !run.is_run() => Err(Error::input(format!(
                "'{}' is not the folder of a run; --force replaces only runs, give another folder with --out",
                folder.display()
            ))),
            _ => Ok(()),
        }
    }

    /// The title of the run in a folder, if there is a run.
    #[must_use]
    pub fn title(folder: &Path) -> Option<String> {
        Some(identity(folder)?.title).filter(|title| !title.is_empty())
    }

    /// A hash of the files that the run in a folder was trained on, if there is a run.
    #[must_use]
    pub fn data(folder: &Path) -> Option<String> {
        Some(identity(folder)?.data)
    }

    /// Which of a run's tables are not what they were when it was trained, in words; none if they are, or if nobody knows.
    #[must_use]
    pub fn changed_tables(folder: &Path, now: Fingerprints) -> Option<&'static str> {
        let then = identity(folder)?;
        if then.rows? != Fingerprints::hash(now.rows?) {
            return Some("the table of rows");
        }
        // A network that was learned or chosen is read from another file than those of training.
        let is_as_trained = !folder.join("edges.csv").exists();
        let has_changed = is_as_trained && then.data != Fingerprints::hash(now.all);
        has_changed.then_some("a table of the network or of public points")
    }

    /// Opens the folder of a run; it is made only now, when all input has been read.
    pub fn open(
        folder: &Path,
        (experiment, title): (&str, &str),
        fingerprints: impl Into<Fingerprints>,
        existing: Existing,
    ) -> Result<Self> {
        let fingerprints = fingerprints.into();
        let identity = Identity {
            format: FORMAT_VERSION,
            version: env!("CARGO_PKG_VERSION").into(),
            data: Fingerprints::hash(fingerprints.all),
            rows: fingerprints.rows.map(Fingerprints::hash),
            title: title.into(),
        };
        let run = Self::at(folder);
        match existing {
            Existing::Resume => return run.resumed(experiment, &identity),
            Existing::Replace => run.clear()?,
            Existing::Refuse => {}
        }
        fs::create_dir_all(folder).map_err(|error| Error::folder(folder, &error))?;
        // What marks the folder of a run is there first, so that --force takes it after any interruption.
        run.write("metrics.jsonl", &format!("{}\n", to_json(&identity)))?;
        run.write("experiment.toml", experiment)?;
        Ok(run)
    }

    fn refusal(&self) -> Error {
        let folder = self.folder.display();
        let advice = if !self.is_run() {
            "exists and is not the folder of a run; give another folder with --out"
        } else if self.is_unfinished() {
            "holds an unfinished run: continue it with --resume, or replace it with --force"
        } else {
            "exists: replace it with --force, or give another folder with --out"
        };
        Error::input(format!("'{folder}' {advice}"))
    }

    /// Whether this is the folder of a run, or as good as empty.
    fn is_run(&self) -> bool {
        identity(&self.folder).is_some() || self.is_empty()
    }

    /// Whether there is nothing, or what an interruption leaves of the first file of a run.
    fn is_empty(&self) -> bool {
        let is_begun = |name: &OsStr| name == "metrics.jsonl.part";
        fs::read_dir(&self.folder).is_ok_and(|mut files| {
            files.all(|file| file.is_ok_and(|file| is_begun(&file.file_name())))
        })
    }

    /// Whether a folder holds a run that came to its end.
    #[must_use]
    pub fn is_finished(folder: &Path) -> bool {
        is_finished(folder)
    }

    fn is_unfinished(&self) -> bool {
        // Without its experiment there is nothing to go on with: it was interrupted as it began.
        let is_begun = ["metrics.jsonl", "experiment.toml"];
        is_begun.iter().all(|name| self.folder.join(name).exists()) && !is_finished(&self.folder)
    }

    /// Removes the files of an earlier run, and only those. What marks the folder stays, and is written over: without
    /// it, a folder whose removal was interrupted would be nobody's.
    fn clear(&self) -> Result<()> {
        let folder = &self.folder;
        // The result goes first: a folder without it does not pass for a finished run.
        for name in RUN_FILES {
            let path = folder.join(name);
            if path.exists() {
                fs::remove_file(&path).map_err(|error| Error::file("replace", &path, &error))?;
            }
        }
        let models = folder.join("models");
        if models.exists() {
            fs::remove_dir_all(&models).map_err(|error| Error::file("replace", &models, &error))?;
        }
        Ok(())
    }

    /// Reads what an interrupted run had finished.
    fn resumed(mut self, experiment: &str, identity: &Identity) -> Result<Self> {
        let folder = self.folder.display().to_string();
        let read = |name: &str| {
            let path = self.folder.join(name);
            fs::read_to_string(&path).map_err(|error| Error::file("read", &path, &error))
        };
        let metrics = read("metrics.jsonl")?;
        let mut lines = metrics.lines();
        let first: Option<Identity> = lines.next().and_then(|line| serde_json::from_str(line).ok());
        let is_same = first.is_some_and(|first| first.is_of(identity));
        if read("experiment.toml")? != experiment || !is_same {
            return Err(Error::input(format!(
                "'{folder}' was begun with another experiment, data or version; replace it with --force"
            )));
        }
        // A line that was cut by the interruption is a step that did not finish.
        self.cards = lines.map_while(|line| serde_json::from_str(line).ok()).collect();
        // The file is written anew, because appending behind a cut line would spoil the next one.
        let kept = std::iter::once(to_json(identity)).chain(self.cards.iter().map(to_json));
        let text = kept.collect::<Vec<_>>().join("\n") + "\n";
        self.write("metrics.jsonl", &text)?;
        Ok(self)
    }

    /// Tunes the methods that the study's own is chosen from, where they are not yet, and takes the best.
    pub fn choose(
        &mut self,
        assembly: &mut Assembly,
        watch: &dyn Watch,
        done: &dyn Fn(&Card),
    ) -> Result<()> {
        for contestant in assembly.study.members() {
            if !self.known().iter().any(|card| card.contestant == contestant) {
                self.keep(assembly.study.tune(contestant, watch)?, done)?;
            }
        }
        assembly.study.choose(&self.known());
        Ok(())
    }

    /// The cards of these contestants, computing what is not there yet.
    pub fn cards(
        &mut self,
        assembly: &Assembly,
        contestants: &[Contestant],
        watch: &dyn Watch,
        done: &dyn Fn(&Card),
    ) -> Result<Vec<Card>> {
        let mut cards = Vec::new();
        for &contestant in contestants {
            let known = self.known();
            let card = assembly.study.completed(contestant, &known, watch)?;
            if !known.contains(&card) {
                self.keep(card.clone(), done)?;
            }
            cards.push(card);
        }
        Ok(cards)
    }

    /// Keeps cards that were found elsewhere.
    pub fn keep_all(&mut self, cards: &[Card]) -> Result<()> {
        cards.iter().try_for_each(|card| self.keep(card.clone(), &|_| {}))
    }

    /// Keeps a card: it is on disk before the next begins, so that an interruption costs one contestant at most.
    fn keep(&mut self, card: Card, done: &dyn Fn(&Card)) -> Result<()> {
        let path = self.folder.join("metrics.jsonl");
        let kept = KeptCard { origin: self.origin, card };
        fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .and_then(|mut file| writeln!(file, "{}", to_json(&kept)))
            .map_err(|error| Error::file("write", &path, &error))?;
        done(&kept.card);
        self.cards.push(kept);
        Ok(())
    }

    /// Writes what a finished run leaves; `result.json` last, because it says that the run is done.
    pub fn finish(
        &self,
        assembly: &Assembly,
        kept: &KeptMethods,
        outcome: &Outcome,
        page: &str,
    ) -> Result<()> {
        let models = self.folder.join("models");
        fs::create_dir_all(&models).map_err(|error| Error::file("make", &models, &error))?;
        for (name, text) in kept.files(assembly)? {
            self.write(&name, &text)?;
        }
        if let Some(chosen) = &assembly.chosen {
            self.write("edges.csv", &chosen.edges_csv(&assembly.study.network))?;
        }
        let names = assembly.study.network.names();
        self.write_probes(&kept.own.tallies, |node| &names[node])?;
        let coefficients = Coefficients::new(assembly, kept.own);
        if !coefficients.nodes.is_empty() {
            self.write("coefficients.csv", &coefficients.csv(names))?;
        }
        self.write("report.html", page)?;
        self.write("result.json", &(to_json_pretty(outcome) + "\n"))
    }

    /// Writes what marks the end of a run whose models are there already.
    pub(crate) fn finish_as_before(&self, outcome: &Outcome, page: &str) -> Result<()> {
        self.write("report.html", page)?;
        self.write("result.json", &(to_json_pretty(outcome) + "\n"))
    }

    /// Writes who asked whom, if anyone did.
    pub fn write_probes<'a>(
        &self,
        tallies: &[Tally],
        name: impl Fn(NodeId) -> &'a str,
    ) -> Result<()> {
        if tallies.is_empty() {
            return Ok(());
        }
        self.write("probes.csv", &probes_csv(tallies, name))
    }

    /// Writes a file whole or not at all.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<()> {
        write_whole(&self.folder.join(name), text.as_bytes())
    }
}

/// Writes a file whole or not at all.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    // A rename within a folder is atomic, so a crash leaves the old file or the new one.
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    fs::write(&part, bytes)
        .and_then(|()| fs::rename(&part, path))
        .map_err(|error| Error::file("write", path, &error))
}

/// What the run in a folder says of itself; none if there is no run.
fn identity(folder: &Path) -> Option<Identity> {
    // Other programs write metrics too, so the name of the file is not enough.
    let metrics = fs::read_to_string(folder.join("metrics.jsonl")).ok()?;
    serde_json::from_str(metrics.lines().next()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_whose_replacement_was_interrupted_can_be_replaced() {
        for name in RUN_FILES.into_iter().chain(["models"]) {
            let root = tempfile::tempdir().unwrap();
            let folder = root.path().join("run");
            let open = |existing| RunFolder::open(&folder, ("seed = 1\n", "run"), 1_u64, existing);
            for file in open(Existing::Refuse).map(|_| RUN_FILES).unwrap() {
                fs::write(folder.join(file), "").unwrap();
            }
            // A folder in the place of a file cannot be removed as one, nor a file as a folder.
            let path = folder.join(name);
            if name == "models" {
                fs::write(&path, "").unwrap();
            } else {
                fs::remove_file(&path).unwrap();
                fs::create_dir(&path).unwrap();
            }
            assert!(open(Existing::Replace).is_err(), "{name}");
            RunFolder::check(&folder, Existing::Replace).unwrap();
            let _ = (fs::remove_dir(&path), fs::remove_file(&path));
            RunFolder::check(&folder, Existing::Replace).unwrap();
            open(Existing::Replace).unwrap();
            RunFolder::check(&folder, Existing::Resume).unwrap();
        }
    }

    #[test]
    fn a_folder_with_half_of_the_first_file_of_a_run_can_be_replaced_and_no_other() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("run");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("metrics.jsonl.part"), "{\"for").unwrap();
        RunFolder::check(&folder, Existing::Replace).unwrap();
        assert!(RunFolder::check(&folder, Existing::Resume).is_err());
        let refusal = RunFolder::check(&folder, Existing::Refuse).unwrap_err().to_string();
        assert!(refusal.contains("replace it with --force"), "{refusal}");
        RunFolder::open(&folder, ("seed = 1\n", "run"), 1_u64, Existing::Replace).unwrap();
        assert!(!folder.join("metrics.jsonl.part").exists());
        let other = root.path().join("other");
        fs::create_dir(&other).unwrap();
        fs::write(other.join("metrics.jsonl.part"), "").unwrap();
        fs::write(other.join("thesis.tex"), "").unwrap();
        assert!(RunFolder::check(&other, Existing::Replace).is_err());
    }

    #[test]
    fn a_run_that_was_interrupted_as_it_began_is_not_resumed_but_replaced() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("run");
        RunFolder::open(&folder, ("seed = 1\n", "run"), 1_u64, Existing::Refuse).unwrap();
        fs::remove_file(folder.join("experiment.toml")).unwrap();
        assert!(RunFolder::check(&folder, Existing::Resume).is_err());
        let refusal = RunFolder::check(&folder, Existing::Refuse).unwrap_err().to_string();
        assert!(
            refusal.ends_with("exists: replace it with --force, or give another folder with --out")
        );
        RunFolder::check(&folder, Existing::Replace).unwrap();
    }
}
