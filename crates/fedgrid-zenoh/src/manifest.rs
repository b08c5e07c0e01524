//! Who takes part, signed by the project: node → process → key, neighbours, shapes, public set.
//!
//! ```text
//! fedgrid-manifest 1 <Ed25519 signature of what follows, in hexadecimal>      2 once members have come or gone
//! { … JSON … }
//! ```
//!
//! Manifests are numbered. A process follows the highest number it has seen; a key is revoked or
//! exchanged by the next number, and frames signed with the old key are no longer accepted. Where members come or go,
//! the next number has a run of its own, which goes on from the one before.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use ed25519_dalek::{SigningKey, VerifyingKey};
use fedgrid::runtime::protocol::{DEFAULT_LARGEST_NUMBER, Membership};
use serde::{Deserialize, Serialize};

use crate::{
    departure::{Departure, parts_of, run_without},
    disk,
    error::{Error, Result},
    identity::Hex,
    signed_text,
};

const KIND: &str = "fedgrid-manifest 1";
/// Where members have changed: who does not know of that must not begin the run anew.
const CHANGED_KIND: &str = "fedgrid-manifest 2";
/// The highest version in these names.
const VERSION: u32 = 2;
/// How far the changes by two manifests are from each other: more than so many sites cannot leave in between.
const CHANGES: u64 = 1 << 32;
/// How far those by two departures are: more than so many updates cannot come in between.
const DEPARTURE: u64 = 1 << 16;
/// The largest manifest that is read.
// Room for about a million nodes with ten edges each.
pub const LARGEST_MANIFEST_BYTES: usize = 256 << 20;

/// The members, the network and the sizes of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The name of the project.
    pub project: String,
    /// Its run; a new run needs new site bundles.
    pub run: Hex<16>,
    /// Higher numbers replace lower ones.
    pub number: u64,
    /// The runs that this one goes on from, oldest first: one for every time that members came or went.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former: Vec<Hex<16>>,
    /// The hash of the experiment that all run.
    pub experiment: Hex<32>,
    /// The hash of the public points.
    pub public: Hex<32>,
    /// How links are protected.
    pub link: LinkProtocol,
    /// The hash of the certificate of the authority; none with plain links.
    pub authority: Option<Hex<32>>,
    /// Where a router is reached, `host:port`, for sites that cannot reach each other.
    pub router: Option<String>,
    /// The sizes that all must agree on.
    pub shape: SharedSizes,
    /// How often state is written, in rounds; neighbours keep what they sent since.
    pub checkpoint_every: u64,
    /// The largest magnitude of a number in a message.
    #[serde(default = "usual_largest")]
    pub largest_number: f64,
    /// The processes; a frame names them by position.
    pub processes: Vec<ProcessEntry>,
    /// The nodes, by position.
    pub nodes: Vec<NodeEntry>,
    /// The edges: two nodes and a weight.
    pub edges: Vec<(u32, u32, f64)>,
    /// Who has left by itself since it was signed, in order; these are no members any more.
    #[serde(skip)]
    pub left: Vec<Left>,
    /// Where rows have changed since: the run before the first update, and how many there were.
    #[serde(skip)]
    pub updated: Option<(Hex<16>, u64)>,
}

/// A process that has left by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// Which process.
    pub process: u32,
    /// The run that it has left.
    pub run: Hex<16>,
    /// What it has said, signed.
    pub said: String,
}

fn usual_largest() -> f64 {
    DEFAULT_LARGEST_NUMBER
}

/// The sizes that all sites must agree on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedSizes {
    /// How many columns rows have.
    pub features: u32,
    /// How many numbers a prediction has.
    pub outputs: u32,
    /// How many public points there are.
    pub points: u32,
}

/// How links are protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkProtocol {
    /// Plain TCP, on networks that are trusted otherwise.
    Tcp,
    /// TLS with certificates at both ends.
    Tls,
    /// QUIC with certificates at both ends.
    Quic,
}

impl LinkProtocol {
    /// Its name in an endpoint.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Tls => "tls",
            Self::Quic => "quic",
        }
    }
}

/// A process of the federation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessEntry {
    /// Its name, which is its certificate's.
    pub name: String,
    /// The key that its frames are signed with; none once it is revoked.
    pub key: Option<Hex<32>>,
    /// The hash of its certificate; none with plain links.
    pub certificate: Option<Hex<32>>,
    /// Where it is reached, `host:port`; none if it only calls others.
    pub address: Option<String>,
    /// By how many changes of members it came; zero for those of the beginning.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub since: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde asks for")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A node of the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeEntry {
    /// Its name.
    pub name: String,
    /// The process that hosts it.
    pub process: u32,
}

impl Manifest {
    /// The signed text.
    #[must_use]
    pub fn signed(&self, key: &SigningKey) -> String {
        let body = serde_json::to_string(self).expect("a manifest is plain values");
        signed_text::sign(self.kind(), &body, key)
    }

    fn kind(&self) -> &'static str {
        if self.former.is_empty() { KIND } else { CHANGED_KIND }
    }

    /// Reads a signed text, with what departures say after it, and checks that this key signed it.
    pub fn verified(text: &str, key: &VerifyingKey) -> Result<Self> {
        let parts = parts_of(text);
        let Some((own, departures)) = parts.split_first() else {
            return Self::signed_by(text, key);
        };
        let mut manifest = Self::signed_by(own, key)?;
        manifest.take_out(departures);
        Ok(manifest)
    }

    /// Whichever of two texts has the higher number, with the departures of both.
    pub fn merged(one: &str, other: &str, key: &VerifyingKey) -> Result<(Self, String)> {
        let (first, second) = (Self::verified(one, key)?, Self::verified(other, key)?);
        let (base, more) = if first.number >= second.number { (one, other) } else { (other, one) };
        let parts = parts_of(base);
        let text = [parts.concat(), parts_of(more).split_off(1).concat()].concat();
        let manifest = Self::verified(&text, key)?;
        // Only departures that count are told on.
        let said: String = manifest.left.iter().map(|left| left.said.as_str()).collect();
        let text = format!("{}{said}", parts[0]);
        Ok((manifest, text))
    }

    /// Takes out those who have left, as long as their keys are good.
    fn take_out(&mut self, departures: &[String]) {
        let mut leaving: Vec<(u64, u32, &String)> = Vec::new();
        for said in departures {
            let Some(departure) = Departure::read(said) else { continue };
            let is_ours =
                (&departure.project, departure.authority) == (&self.project, self.authority);
            let Some(process) = self.index_of(&departure.process).filter(|_| is_ours) else {
                continue;
            };
            if self.key_of(process).is_some_and(|key| Departure::is_signed(said, &key)) {
                leaving.push((departure.time, process, said));
            }
        }
        leaving.sort_unstable();
        for (_, process, said) in leaving {
            // Who says it twice has left once.
            if self.left.iter().any(|left| left.process == process) {
                continue;
            }
            let next = run_without(&self.run, process);
            let run = std::mem::replace(&mut self.run, next);
            self.drop_member(process as usize);
            self.left.push(Left { process, run, said: said.clone() });
        }
    }

    /// What tells which of two manifests of a project is newer.
    #[must_use]
    pub fn order(&self) -> (u64, usize) {
        (self.number, self.left.len())
    }

    /// The same in a run with other rows, the so-manieth since members changed; zero is the run itself.
    pub fn update(&mut self, updates: u64) {
        if updates > 0 {
            let first = self.run;
            (self.run, self.updated) = (run_with_rows(&first, updates), Some((first, updates)));
        }
    }

    /// The runs whose states this one may go on from, the newest first, before updates of their own.
    #[must_use]
    pub fn lineage(&self) -> Vec<Hex<16>> {
        let mut lineage: Vec<Hex<16>> = self.left.iter().map(|left| left.run).collect();
        // Who had left before a later manifest was signed has left the runs before it, too.
        for former in self.former.iter().rev() {
            let mut runs = vec![*former];
            for left in &self.left {
                runs.push(run_without(runs.last().expect("it begins with one"), left.process));
            }
            lineage.splice(0..0, runs);
        }
        lineage.extend(self.updated.map(|(first, _)| first));
        lineage.reverse();
        lineage
    }

    fn signed_by(text: &str, key: &VerifyingKey) -> Result<Self> {
        let wrong = |found: String| Error::Manifest { found };
        if let Some(found) = version_of(text).filter(|found| !(1..=VERSION).contains(found)) {
            let who =
                if found > VERSION { "this program" } else { "the project, and make it anew" };
            return Err(wrong(format!(
                "it is of version {found}, this fedgrid {} reads versions 1 to {VERSION}: upgrade {who}",
                env!("CARGO_PKG_VERSION")
            )));
        }
        let kind = if text.starts_with(CHANGED_KIND) { CHANGED_KIND } else { KIND };
        let body = signed_text::body(kind, text)
            .ok_or_else(|| wrong(format!("it does not begin with '{KIND}' and a signature")))?;
        if !signed_text::is_signed(kind, text, key) {
            return Err(wrong("it is not signed by the project's key".into()));
        }
        let manifest: Self =
            serde_json::from_str(body).map_err(|_| wrong("it is damaged".into()))?;
        manifest.check()?;
        Ok(manifest)
    }

    /// Reads a signed file.
    pub fn read(path: &Path, key: &VerifyingKey) -> Result<Self> {
        Self::verified(&disk::read_text(path, LARGEST_MANIFEST_BYTES)?, key)
    }

    fn check(&self) -> Result<()> {
        let wrong = |found: String| Err(Error::Manifest { found });
        if let Some(node) = self.nodes.iter().find(|node| self.process(node.process).is_none()) {
            return wrong(format!("node '{}' is at no process", node.name));
        }
        // A limit that is no number would let every number pass.
        if self.largest_number.is_nan() || self.largest_number <= 0.0 {
            return wrong(format!("its largest number is {}", self.largest_number));
        }
        let count = self.nodes.len();
        for &(a, b, weight) in &self.edges {
            let known = (a as usize) < count && (b as usize) < count && a != b;
            if !(known && weight > 0.0 && weight.is_finite()) {
                return wrong(format!("there is no edge {a} – {b} of weight {weight}"));
            }
        }
        Ok(())
    }

    /// How a process takes part in the run.
    #[must_use]
    pub fn membership(&self, process: u32) -> Membership {
        let since = self.process(process).map_or(0, |process| process.since);
        // Departures come between two manifests, and updates between two departures.
        let updates = self.updated.map_or(0, |(_, updates)| updates);
        let left = DEPARTURE * self.left.len() as u64;
        let change = CHANGES * self.former.len() as u64 + left + updates;
        Membership { change, since: CHANGES * since, anew: updates > 0 }
    }

    /// Takes a process's membership away, and the edges of its nodes.
    pub(crate) fn drop_member(&mut self, index: usize) {
        let process = &mut self.processes[index];
        (process.key, process.certificate) = (None, None);
        let nodes = &self.nodes;
        // Its nodes stay in the list, so that all others keep their numbers.
        let is_left = |&(a, b, _): &(u32, u32, f64)| {
            [a, b].iter().all(|&node| nodes[node as usize].process as usize != index)
        };
        self.edges.retain(is_left);
    }

    /// Gives the run that follows this one, since members change, a name.
    pub(crate) fn follow(&mut self, run: Hex<16>) {
        self.former.push(std::mem::replace(&mut self.run, run));
    }

    /// A process by position.
    #[must_use]
    pub fn process(&self, index: u32) -> Option<&ProcessEntry> {
        self.processes.get(index as usize)
    }

    /// The position of a process.
    #[must_use]
    pub fn index_of(&self, name: &str) -> Option<u32> {
        let index = self.processes.iter().position(|process| process.name == name)?;
        u32::try_from(index).ok()
    }

    /// The nodes that a process hosts, in order.
    #[must_use]
    pub fn nodes_of(&self, process: u32) -> Vec<u32> {
        let at = |(id, node): (usize, &NodeEntry)| {
            (node.process == process).then(|| u32::try_from(id).ok()).flatten()
        };
        self.nodes.iter().enumerate().filter_map(at).collect()
    }

    /// The edges from other processes' nodes to this one's, by process, in order of (from, to).
    #[must_use]
    pub fn incoming(&self, process: u32) -> BTreeMap<u32, Vec<(u32, u32)>> {
        let host = |node: u32| self.nodes[node as usize].process;
        let mut incoming: BTreeMap<u32, Vec<(u32, u32)>> = BTreeMap::new();
        for &(a, b, _) in &self.edges {
            for (from, to) in [(a, b), (b, a)] {
                if host(to) == process && host(from) != process {
                    incoming.entry(host(from)).or_default().push((from, to));
                }
            }
        }
        for edges in incoming.values_mut() {
            edges.sort_unstable();
        }
        incoming
    }

    /// The processes that host neighbours of a process's nodes and are not revoked, in order.
    #[must_use]
    pub fn neighbours_of(&self, process: u32) -> Vec<u32> {
        let mut others: Vec<u32> = self.incoming(process).into_keys().collect();
        // Nothing is sent to a revoked process, and nothing of it is waited for.
        others.retain(|&other| self.processes[other as usize].key.is_some());
        others
    }

    /// The processes that a process has a way to over edges, with itself.
    #[must_use]
    pub fn part_of(&self, process: u32) -> BTreeSet<u32> {
        let mut part = BTreeSet::from([process]);
        let mut open = vec![process];
        while let Some(next) = open.pop() {
            let others = self.neighbours_of(next).into_iter();
            open.extend(others.filter(|&other| part.insert(other)));
        }
        part
    }

    /// How many edges join nodes of different processes.
    #[must_use]
    pub fn cut(&self) -> usize {
        let host = |node: u32| self.nodes[node as usize].process;
        self.edges.iter().filter(|(a, b, _)| host(*a) != host(*b)).count()
    }

    /// A fingerprint of what frames must agree on: the experiment, the public set and all sizes.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        let SharedSizes { features, outputs, points } = self.shape;
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.experiment.0).update(&self.public.0);
        for size in [features, outputs, points] {
            hasher.update(&size.to_le_bytes());
        }
        let hash = hasher.finalize();
        u64::from_le_bytes(hash.as_bytes()[..8].try_into().expect("eight bytes"))
    }

    /// The key of a process, unless it is revoked.
    #[must_use]
    pub fn key_of(&self, process: u32) -> Option<VerifyingKey> {
        let key = self.process(process)?.key?;
        VerifyingKey::from_bytes(&key.0).ok()
    }
}

/// The run that follows another where rows have changed for the so-manieth time.
#[must_use]
pub fn run_with_rows(run: &Hex<16>, updates: u64) -> Hex<16> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"fedgrid update").update(&run.0).update(&updates.to_le_bytes());
    let mut next = [0; 16];
    next.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    Hex(next)
}

/// The version that a text says it is of, whoever has signed it.
fn version_of(text: &str) -> Option<u32> {
    text.strip_prefix("fedgrid-manifest ")?.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::new_key;

    fn manifest() -> Manifest {
        let process = |name: &str| ProcessEntry {
            name: name.into(),
            key: None,
            certificate: None,
            address: None,
            since: 0,
        };
        let node = |process| NodeEntry { name: format!("n{process}"), process };
        Manifest {
            project: "p".into(),
            run: Hex([7; 16]),
            number: 1,
            former: Vec::new(),
            experiment: Hex([1; 32]),
            public: Hex([2; 32]),
            link: LinkProtocol::Tls,
            authority: None,
            router: None,
            shape: SharedSizes::default(),
            checkpoint_every: 1,
            largest_number: DEFAULT_LARGEST_NUMBER,
            processes: vec![process("a"), process("b")],
            nodes: vec![node(0), node(1), node(0)],
            edges: vec![(0, 1, 1.0), (0, 2, 0.5), (1, 2, 0.1)],
            left: Vec::new(),
            updated: None,
        }
    }

    #[test]
    fn a_signed_manifest_is_read_back() {
        let key = new_key().unwrap();
        let text = manifest().signed(&key);
        assert_eq!(Manifest::verified(&text, &key.verifying_key()).unwrap(), manifest());
        assert!(text.starts_with(KIND) && !text.contains("former") && !text.contains("since"));
        let mut changed = manifest();
        changed.former.push(Hex([6; 16]));
        changed.processes[1].since = 1;
        let text = changed.signed(&key);
        assert!(text.starts_with(CHANGED_KIND));
        let read = Manifest::verified(&text, &key.verifying_key()).unwrap();
        assert_eq!(read.membership(1), Membership { change: CHANGES, since: CHANGES, anew: false });
        assert_eq!(read, changed);
    }

    fn departure(process: &str, time: u64) -> Departure {
        Departure { project: "p".into(), authority: None, process: process.into(), time }
    }

    #[test]
    fn who_leaves_is_taken_out_by_all_in_the_same_order() {
        let (project, own) = (new_key().unwrap(), [new_key().unwrap(), new_key().unwrap()]);
        let mut manifest = manifest();
        for (process, key) in manifest.processes.iter_mut().zip(&own) {
            process.key = Some(Hex(key.verifying_key().to_bytes()));
        }
        let key = project.verifying_key();
        let text = manifest.signed(&project);
        let [a, b] = [departure("a", 20).signed(&own[0]), departure("b", 10).signed(&own[1])];
        let both = Manifest::verified(&format!("{text}{a}{b}"), &key).unwrap();
        let (merged, whole) =
            Manifest::merged(&format!("{text}{b}"), &format!("{text}{a}"), &key).unwrap();
        assert_eq!(merged, both);
        assert_eq!(Manifest::verified(&whole, &key).unwrap(), both);
        let order: Vec<u32> = both.left.iter().map(|left| left.process).collect();
        assert_eq!((order, both.order()), (vec![1, 0], (1, 2)));
        let after_b = run_without(&manifest.run, 1);
        assert_eq!(both.lineage(), [after_b, manifest.run]);
        assert_eq!(both.run, run_without(&after_b, 0));
        assert_eq!(both.membership(0).change, 2 * DEPARTURE);
        assert!(both.edges.is_empty() && both.key_of(0).is_none());
        // Another's key takes nobody out, and a new key is not that of who has left.
        let forged = departure("a", 20).signed(&own[1]);
        assert!(Manifest::verified(&format!("{text}{forged}"), &key).unwrap().left.is_empty());
        let other = Departure { project: "q".into(), ..departure("a", 20) }.signed(&own[0]);
        assert!(Manifest::verified(&format!("{text}{other}"), &key).unwrap().left.is_empty());
        let mut next = manifest.clone();
        (next.number, next.processes[0].key) = (2, Some(Hex(key.to_bytes())));
        let (merged, _) =
            Manifest::merged(&format!("{text}{a}{b}"), &next.signed(&project), &key).unwrap();
        assert_eq!((merged.number, merged.left.len(), merged.left[0].process), (2, 1, 1));
    }

    #[test]
    fn who_left_before_a_later_manifest_has_left_the_runs_before_it() {
        let (project, own) = (new_key().unwrap(), new_key().unwrap());
        let mut first = manifest();
        first.processes[1].key = Some(Hex(own.verifying_key().to_bytes()));
        let said = departure("b", 10).signed(&own);
        let text = format!("{}{said}", first.signed(&project));
        let before = Manifest::verified(&text, &project.verifying_key()).unwrap();
        let mut next = first.clone();
        next.number = 2;
        next.follow(Hex([9; 16]));
        let key = project.verifying_key();
        let (after, _) = Manifest::merged(&text, &next.signed(&project), &key).unwrap();
        assert_eq!(after.lineage(), [Hex([9; 16]), before.run, first.run]);
        assert!(after.membership(0).change > before.membership(0).change);
    }

    #[test]
    fn any_changed_letter_is_noticed() {
        let key = new_key().unwrap();
        let text = manifest().signed(&key);
        for index in 0..text.len() - 1 {
            let mut bytes = text.clone().into_bytes();
            bytes[index] ^= 1;
            let Ok(changed) = String::from_utf8(bytes) else { continue };
            let refused = Manifest::verified(&changed, &key.verifying_key());
            // The case of hexadecimal digits means nothing.
            assert!(refused.is_err() || changed.to_lowercase() == text, "index {index}");
        }
        let other = new_key().unwrap().verifying_key();
        assert!(matches!(Manifest::verified(&text, &other), Err(Error::Manifest { .. })));
    }

    #[test]
    fn a_manifest_of_another_version_says_who_must_be_upgraded() {
        assert_eq!((version_of(KIND), version_of(CHANGED_KIND)), (Some(1), Some(VERSION)));
        let key = new_key().unwrap();
        let told = |version: &str| {
            let text = manifest().signed(&key).replacen(KIND, version, 1);
            Manifest::verified(&text, &key.verifying_key()).unwrap_err().to_string()
        };
        let (later, earlier) = (told("fedgrid-manifest 3"), told("fedgrid-manifest 0"));
        assert!(later.contains("it is of version 3, this fedgrid"), "{later}");
        assert!(later.ends_with("reads versions 1 to 2: upgrade this program"), "{later}");
        assert!(earlier.ends_with("upgrade the project, and make it anew"), "{earlier}");
    }

    #[test]
    fn a_manifest_that_contradicts_itself_is_refused() {
        let key = new_key().unwrap();
        let refused = |change: fn(&mut Manifest)| {
            let mut manifest = manifest();
            change(&mut manifest);
            Manifest::verified(&manifest.signed(&key), &key.verifying_key()).is_err()
        };
        assert!(refused(|manifest| manifest.nodes[0].process = 9));
        assert!(refused(|manifest| manifest.edges.push((0, 9, 1.0))));
        assert!(refused(|manifest| manifest.edges.push((1, 1, 1.0))));
        assert!(refused(|manifest| manifest.edges[0].2 = -1.0));
        assert!(refused(|manifest| manifest.largest_number = 0.0));
        assert!(!refused(|_| ()));
    }

    #[test]
    fn only_edges_between_processes_are_incoming() {
        let manifest = manifest();
        assert_eq!(manifest.incoming(0), BTreeMap::from([(1, vec![(1, 0), (1, 2)])]));
        assert_eq!(manifest.incoming(1), BTreeMap::from([(0, vec![(0, 1), (2, 1)])]));
        assert_eq!((manifest.cut(), manifest.nodes_of(0)), (2, vec![0, 2]));
    }
}
