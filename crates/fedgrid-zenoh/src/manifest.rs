//! Who takes part, signed by the project: node → process → key, neighbours, shapes, public set.
//!
//! ```text
//! fedgrid-manifest 1 <Ed25519 signature of what follows, in hexadecimal>
//! { … JSON … }
//! ```
//!
//! Manifests are numbered. A process follows the highest number it has seen; a key is revoked or
//! exchanged by the next number, and frames signed with the old key are no longer accepted.

use std::{collections::BTreeMap, path::Path};

use ed25519_dalek::{SigningKey, VerifyingKey};
use fedgrid::runtime::protocol::DEFAULT_LARGEST_NUMBER;
use serde::{Deserialize, Serialize};

use crate::{
    disk,
    error::{Error, Result},
    identity::Hex,
    signed_text,
};

const KIND: &str = "fedgrid-manifest 1";
/// The version in its name.
const VERSION: u32 = 1;
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
        signed_text::sign(KIND, &body, key)
    }

    /// Reads a signed text, and checks that this key signed it.
    pub fn verified(text: &str, key: &VerifyingKey) -> Result<Self> {
        let wrong = |found: String| Error::Manifest { found };
        if let Some(found) = version_of(text).filter(|found| *found != VERSION) {
            let who =
                if found > VERSION { "this program" } else { "the project, and make it anew" };
            return Err(wrong(format!(
                "it is of version {found}, this fedgrid {} reads version {VERSION}: upgrade {who}",
                env!("CARGO_PKG_VERSION")
            )));
        }
        let body = signed_text::body(KIND, text)
            .ok_or_else(|| wrong(format!("it does not begin with '{KIND}' and a signature")))?;
        if !signed_text::is_signed(KIND, text, key) {
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
        };
        let node = |process| NodeEntry { name: format!("n{process}"), process };
        Manifest {
            project: "p".into(),
            run: Hex([7; 16]),
            number: 1,
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
        }
    }

    #[test]
    fn a_signed_manifest_is_read_back() {
        let key = new_key().unwrap();
        let text = manifest().signed(&key);
        assert_eq!(Manifest::verified(&text, &key.verifying_key()).unwrap(), manifest());
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
        assert_eq!(version_of(KIND), Some(VERSION));
        let key = new_key().unwrap();
        let told = |version: &str| {
            let text = manifest().signed(&key).replacen(KIND, version, 1);
            Manifest::verified(&text, &key.verifying_key()).unwrap_err().to_string()
        };
        let (later, earlier) = (told("fedgrid-manifest 2"), told("fedgrid-manifest 0"));
        assert!(later.contains("it is of version 2, this fedgrid"), "{later}");
        assert!(later.ends_with("reads version 1: upgrade this program"), "{later}");
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
