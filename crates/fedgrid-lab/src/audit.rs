//! What messages of an experiment's own run tell of rows, in words and numbers to print.

use fedgrid::{
    audit::{Audit, AuditSettings, Membership, Recovered, recover_moments},
    compare::{Approach, Strength, Watch},
};
use serde::Serialize;

use crate::{
    assembly::Assembly,
    error::Result,
    number::{counted, percent},
};

/// Below this share of right guesses a neighbour does little better than chance.
const LITTLE_SHARE: f64 = 0.55;
/// Moments of rows that are known to this share of their size are known.
const KNOWN_SHARE: f64 = 1e-6;

/// What messages tell, by node.
#[derive(Debug, Clone, Serialize)]
pub struct AuditReport {
    /// The method.
    pub method: &'static str,
    /// Its strength, and the ridge of models where that was chosen.
    pub strength: Strength,
    /// In how many worlds it was trained, half of which taught the attack.
    pub worlds: usize,
    /// How many features models have: what rows hide behind is how many they are beside these.
    pub features: usize,
    /// Every node with two training rows or more.
    pub nodes: Vec<AuditedNode>,
    /// What a reader must know to read the numbers.
    pub notes: Vec<String>,
}

/// What the messages of a node tell.
#[derive(Debug, Clone, Serialize)]
pub struct AuditedNode {
    /// Its name.
    pub name: String,
    /// Its training rows.
    pub rows: usize,
    /// How many rows its model had in a world, on average.
    pub mean_rows: f64,
    /// Of how many rows it was guessed in every world whether they took part.
    pub candidates: usize,
    /// How well that can be told.
    pub membership: Membership,
    /// What neighbours that do not follow the protocol read off its answers; none where the attack does not apply or fails.
    pub recovered: Option<Recovered>,
    /// The same as a sentence.
    pub sentence: String,
}

impl AuditReport {
    /// Attacks the messages of an assembled experiment at a strength.
    pub fn new(
        assembly: &Assembly,
        strength: Strength,
        settings: AuditSettings,
        watch: &dyn Watch,
    ) -> Result<Self> {
        let study = &assembly.study;
        let Audit { worlds, nodes } = study.audit(strength, settings, watch)?;
        let trained = study.nodes(strength.ridge);
        let mut notes = vec![
            "An attack that fails proves nothing: there may be a better one. What is found is really there.".to_string(),
        ];
        let fewer = nodes.iter().filter(|node| node.mean_rows < node.rows as f64).count();
        if fewer > 0 {
            notes.push(format!(
                "{} held back fewer rows than they train on, so that models had fewer rows in a world than they \
                 will have, which tells more of each.",
                counted(fewer, "node")
            ));
        }
        let mut audited = Vec::with_capacity(nodes.len());
        for node in nodes {
            let recovered = match &study.settings.method {
                Approach::FedRelax(method) => {
                    let method =
                        fedgrid::method::FedRelax { alpha: strength.alpha, ..method.clone() };
                    let degree = study.network.degree(node.node);
                    (degree > 0.0 && strength.alpha > 0.0)
                        .then(|| recover_moments(&method, &trained[node.node], degree))
                        .transpose()?
                        .flatten()
                        .filter(|found| found.products_error.max(found.labels_error) <= KNOWN_SHARE)
                }
                _ => None,
            };
            let name = study.network.names()[node.node].clone();
            let sentence = sentence(&name, node.rows, node.membership, recovered);
            audited.push(AuditedNode {
                name,
                rows: node.rows,
                mean_rows: node.mean_rows,
                candidates: node.candidates,
                membership: node.membership,
                recovered,
                sentence,
            });
        }
        // The most endangered first.
        audited.sort_by(|a, b| b.membership.right_share.total_cmp(&a.membership.right_share));
        Ok(Self {
            method: study.settings.method.kind().name(),
            strength,
            worlds,
            features: assembly.about.features.len(),
            nodes: audited,
            notes,
        })
    }

    /// The share of rows of all nodes of which it is told rightly whether they took part.
    #[must_use]
    pub fn mean_right_share(&self) -> f64 {
        let weighed = |value: fn(&AuditedNode) -> f64| -> f64 {
            self.nodes.iter().map(|node| node.candidates as f64 * value(node)).sum()
        };
        weighed(|node| node.membership.right_share) / weighed(|_| 1.0).max(1.0)
    }
}

/// What a site should know, in plain words.
fn sentence(
    name: &str,
    rows: usize,
    membership: Membership,
    recovered: Option<Recovered>,
) -> String {
    let rows = counted(rows, "training row");
    let hundred = (100.0 * membership.right_share).round();
    let mut parts = vec![if membership.right_share < LITTLE_SHARE {
        format!(
            "{name} ({rows}): a neighbour who keeps all messages guesses little better than chance who took part, \
             rightly for {hundred} of 100 rows."
        )
    } else {
        format!(
            "{name} ({rows}): a neighbour who keeps all messages tells rightly of {hundred} of 100 rows whether they \
             took part, where chance is 50."
        )
    }];
    if membership.found_at_1_percent > 0.0 {
        parts.push(format!(
            "It finds {} of those that did while it names one of 100 others wrongly.",
            percent(membership.found_at_1_percent)
        ));
    }
    if let Some(found) = recovered {
        parts.push(format!(
            "Neighbours that lie together know all means and products of its rows and labels after {} answers.",
            found.answers
        ));
    }
    parts.join(" ")
}
