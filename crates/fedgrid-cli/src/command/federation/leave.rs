//! `fedgrid federation leave`: a site goes by itself. What it says is signed with its own key, and neighbours tell it on.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use clap::Args;
use fedgrid_zenoh::{
    departure::Departure,
    disk::{self, Access},
    identity::{VerifyingKey, now},
    manifest::Manifest,
    site_bundle::SiteBundle,
    transport::{Answers, SessionRole, SessionSettings, Transport},
};
use serde_json::json;

use super::{one_thread, refused};
use crate::{command::job::wrapped, terminal::Terminal};
use fedgrid_lab::{
    error::{Error, Result},
    run::to_json_pretty,
};

/// For how long neighbours are told.
const TELL_FOR: Duration = Duration::from_secs(30);
/// For how long those who are not there yet are waited for, once one knows it.
const WAIT_FOR_OTHERS: Duration = Duration::from_secs(3);
/// How often it is looked who is there.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Arguments of `fedgrid federation leave`.
#[derive(Debug, Args)]
#[command(after_help = "Example: fedgrid federation leave kits/bob")]
pub(in crate::command) struct Leave {
    /// The kit of the site, by which it has joined.
    kit: PathBuf,
}

impl Leave {
    pub(super) fn run(self, terminal: Terminal) -> Result<()> {
        let bundle = SiteBundle::read_signed(&self.kit, now()).map_err(refused)?;
        one_thread::ensure(&bundle.manifest)?;
        let path = self.kit.join("manifest.txt");
        let text =
            std::fs::read_to_string(&path).map_err(|error| Error::file("read", &path, &error))?;
        let text = leaving(&bundle, text)?;
        // The agent of this site finds it there, and ends.
        disk::write(&path, text.as_bytes(), Access::Shared).map_err(refused)?;
        let neighbours = bundle.manifest.neighbours_of(bundle.process);
        let told = Farewell::new(&bundle, &neighbours, text).said()?;
        let (name, all) = (bundle.name(), neighbours.len());
        if told == 0 && all > 0 {
            return Err(Error::Later(format!(
                "no neighbour was reached, so nobody knows that '{name}' leaves; the same command tells them once they are \
                 there"
            )));
        }
        terminal.say(&wrapped(&format!(
            "'{name}' has left: {told} of {all} neighbours know it, and tell the others. Its state stays here. Whoever owns the \
             project hears of it by the next add or remove."
        )));
        terminal.give(&to_json_pretty(&json!({ "left": name, "told": told })));
        Ok(())
    }
}

/// The manifest of a site with what it says as it leaves, unless it has said it before.
fn leaving(bundle: &SiteBundle, text: String) -> Result<String> {
    let found = Manifest::verified(&text, &bundle.project).map_err(refused)?;
    if found.left.iter().any(|left| left.process == bundle.process) {
        return Ok(text);
    }
    let departure = Departure {
        project: found.project,
        authority: found.authority,
        process: bundle.name().to_string(),
        time: now(),
    };
    Ok(format!("{text}{}", departure.signed(&bundle.key)))
}

/// What is answered to neighbours that ask for the manifest.
struct Teller {
    project: VerifyingKey,
    text: Mutex<String>,
    /// How often a neighbour has asked for it.
    asked: AtomicUsize,
}

impl Teller {
    fn text(&self) -> String {
        self.text.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Answers for Teller {
    fn frames(&self, _: u32, _: u64) -> Vec<Vec<u8>> {
        Vec::new()
    }

    fn status(&self, _: Option<&[u8]>) -> String {
        String::new()
    }

    fn manifest(&self) -> String {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.text()
    }

    /// A neighbour may follow a newer manifest than the kit has: the departure goes with that.
    fn take_manifest(&self, signed: &[u8]) {
        let Ok(found) = std::str::from_utf8(signed) else { return };
        let mut text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok((_, merged)) = Manifest::merged(&text, found, &self.project) {
            *text = merged;
        }
    }
}

/// A site that says that it leaves.
struct Farewell<'a> {
    bundle: &'a SiteBundle,
    neighbours: &'a [u32],
    teller: Arc<Teller>,
    /// Who was there with an older manifest.
    there: BTreeSet<u32>,
    /// Who knows it.
    told: BTreeSet<u32>,
    end: Instant,
    /// Since when one does.
    first: Option<Instant>,
}

impl<'a> Farewell<'a> {
    fn new(bundle: &'a SiteBundle, neighbours: &'a [u32], text: String) -> Self {
        let teller =
            Teller { project: bundle.project, text: Mutex::new(text), asked: AtomicUsize::new(0) };
        Self {
            bundle,
            neighbours,
            teller: Arc::new(teller),
            there: BTreeSet::new(),
            told: BTreeSet::new(),
            end: Instant::now() + TELL_FOR,
            first: None,
        }
    }

    /// Tells all that are there; how many know it.
    fn said(mut self) -> Result<usize> {
        while !self.is_over() {
            let known = self.known()?;
            let order = known.order();
            let answers: Arc<dyn Answers> = Arc::clone(&self.teller) as Arc<dyn Answers>;
            let links = self.links(known, &answers)?;
            // Once a newer manifest has come it is said by that.
            while !self.is_over() && self.known()?.order() == order {
                self.look(&links, order, &answers);
                thread::sleep(LOOK_EVERY);
            }
            links.close();
        }
        // One that has it may be gone before it was seen to be there.
        Ok(self.told.len().max(self.asked().min(self.neighbours.len())))
    }

    fn known(&self) -> Result<Manifest> {
        Manifest::verified(&self.teller.text(), &self.bundle.project).map_err(refused)
    }

    /// The links that this site has had, on which it says that it has left.
    fn links(&self, known: Manifest, answers: &Arc<dyn Answers>) -> Result<Transport> {
        let own = self.bundle.manifest.clone();
        let said = Manifest { number: known.number, left: known.left, ..own };
        let settings = SessionSettings {
            manifest: &said,
            role: SessionRole::Process(self.bundle.process),
            folder: &self.bundle.folder,
            listen: None,
            scouting: false,
            stage: 0,
        };
        Transport::new(&settings, self.bundle.process, answers).map_err(refused)
    }

    fn look(&mut self, links: &Transport, order: (u64, usize), answers: &Arc<dyn Answers>) {
        for &other in self.neighbours {
            let knows = match links.manifest_of(other) {
                Some(seen) if seen.0 > order.0 => {
                    links.ask_manifest(other, answers);
                    false
                }
                Some(seen) => {
                    self.there.insert(other);
                    seen >= order
                }
                // It follows it, and has no link to this site any more.
                None => self.there.contains(&other),
            };
            if knows {
                self.told.insert(other);
            }
        }
        if self.asked() > 0 || !self.told.is_empty() {
            self.first.get_or_insert_with(Instant::now);
        }
    }

    fn asked(&self) -> usize {
        self.teller.asked.load(Ordering::Relaxed)
    }

    fn is_over(&self) -> bool {
        let is_open = self.there.iter().any(|other| !self.told.contains(other));
        let has_waited = self.first.is_some_and(|first| first.elapsed() >= WAIT_FOR_OTHERS);
        let is_enough = self.told.len() == self.neighbours.len() || has_waited && !is_open;
        is_enough || Instant::now() >= self.end
    }
}
