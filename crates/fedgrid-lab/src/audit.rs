//! What messages of an experiment's own run tell of rows, in words and numbers to print.

use fedgrid::{
    audit::{Audit, AuditSettings, Membership, Recovered, recover_moments},
    compare::{Approach, Strength, Watch},
    privacy::{Privacy, PrivateKind, epsilon_of, normal},
};
use serde::Serialize;

use crate::{
    assembly::Assembly,
    error::Result,
    number::{counted, percent, significant},
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
    /// What a section of privacy promises; none without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promised: Option<Promised>,
    /// What a reader must know to read the numbers.
    pub notes: Vec<String>,
}

/// What a budget promises of any attack on one row.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Promised {
    /// ε.
    pub epsilon: f64,
    /// δ.
    pub delta: f64,
    /// How often an attack is right at most.
    pub right_share: f64,
    /// The most area under its curve.
    pub auc: f64,
    /// Whether only labels are hidden.
    pub hides_labels: bool,
}

impl Promised {
    fn of(privacy: &Privacy) -> Self {
        Self {
            epsilon: epsilon_of(privacy.mu, privacy.delta),
            delta: privacy.delta,
            right_share: normal(0.5 * privacy.mu),
            auc: normal(privacy.mu / std::f64::consts::SQRT_2),
            hides_labels: privacy.kind == PrivateKind::Labels,
        }
    }

    fn note(&self) -> String {
        let what = if self.hides_labels {
            "whether a row has its own label or that at the farther bound"
        } else {
            "whether a row took part"
        };
        format!(
            "What was attacked are the twins, which follow from noised releases: no attack of any kind tells {what} \
             rightly in more than {} of cases, or with an AUC above {} (ε = {}, δ = {}).",
            percent(self.right_share),
            significant(self.auc),
            significant(self.epsilon),
            significant(self.delta)
        )
    }
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
        let promised = study.settings.privacy.as_ref().map(Promised::of);
        notes.extend(promised.as_ref().map(Promised::note));
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
                // What lying neighbours read off twins was released, and is no secret.
                Approach::FedRelax(method) if promised.is_none() => {
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
            let sentence = sentence(&name, node.rows, (node.membership, promised), recovered);
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
            promised,
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
    (membership, promised): (Membership, Option<Promised>),
    recovered: Option<Recovered>,
) -> String {
    let (guessed, told) = match promised {
        Some(Promised { hides_labels: true, .. }) => {
            ("whose label is its own", "their label is their own")
        }
        _ => ("who took part", "they took part"),
    };
    let rows = counted(rows, "training row");
    let hundred = (100.0 * membership.right_share).round();
    let mut parts = vec![if membership.right_share < LITTLE_SHARE {
        format!(
            "{name} ({rows}): a neighbour who keeps all messages guesses little better than chance {guessed}, \
             rightly for {hundred} of 100 rows."
        )
    } else {
        format!(
            "{name} ({rows}): a neighbour who keeps all messages tells rightly of {hundred} of 100 rows whether \
             {told}, where chance is 50."
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
