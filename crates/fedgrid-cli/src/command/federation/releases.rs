//! What a site's nodes release of their rows before they take part: drawn once, paid for, and kept.

use std::{collections::BTreeMap, path::Path};

use fedgrid::{
    data::Dataset,
    network::NodeId,
    privacy::{Bits, Privacy, PrivateKind, Release, epsilon_of, mu_of},
};
use fedgrid_zenoh::{
    frame::RunId,
    releases::{Asked, Releases},
};

use super::refused;
use crate::{command::job::wrapped, terminal::Terminal};
use fedgrid_lab::{
    assembly::Assembly,
    error::{Error, Result},
    number::significant,
};

/// The releases of the nodes of a site.
pub(super) type NodeReleases = BTreeMap<NodeId, Vec<Release>>;

/// How a site releases.
pub(super) struct Terms<'a> {
    /// Where ledger and releases are kept, over all runs.
    pub(super) folder: &'a Path,
    pub(super) run: RunId,
    /// ε of all runs together; none for that of this one.
    pub(super) most_epsilon: Option<f64>,
    /// Whether the noise is that of the experiment's seed, which protects nothing.
    pub(super) is_rehearsal: bool,
}

/// What the nodes here release; none where the experiment has no section of privacy.
pub(super) fn released(
    assembly: &Assembly,
    own: &[NodeId],
    terms: &Terms,
    terminal: Terminal,
) -> Result<Option<NodeReleases>> {
    let study = &assembly.study;
    let Some(privacy) = study.settings.privacy else { return Ok(None) };
    if terms.is_rehearsal {
        terminal.say(&wrapped(
            "Warning: this is a rehearsal: the noise is drawn from the seed of the experiment, and protects nothing.",
        ));
        let all = study.rehearsed(own, &privacy)?;
        return Ok(Some(own.iter().copied().zip(all).collect()));
    }
    let most_mu = match terms.most_epsilon {
        Some(epsilon) => mu_of(epsilon, privacy.delta)?.max(0.0),
        None => privacy.mu,
    };
    if most_mu < privacy.mu {
        return Err(Error::input(format!(
            "--most-epsilon is {}, and this run alone tells ε = {}",
            significant(terms.most_epsilon.unwrap_or(0.0)),
            significant(epsilon_of(privacy.mu, privacy.delta))
        )));
    }
    let (mut found, mut are_old, mut spent) = (NodeReleases::new(), true, 0.0_f64);
    for &node in own {
        let parts = study.rows_to_release(node, &privacy)?;
        let asked = Asked {
            node: &study.network.names()[node],
            rows: hash(&parts, &privacy),
            mu: privacy.mu,
            delta: privacy.delta,
            most_mu,
            run: terms.run,
        };
        let mechanism = privacy.mechanism();
        let draw = |bits: &mut dyn Bits| -> Vec<Release> {
            parts.iter().map(|rows| mechanism.release(rows, bits)).collect()
        };
        let mut releases = Releases::of_node(terms.folder, asked.node).map_err(refused)?;
        let before = releases.records();
        found.insert(node, releases.release(&asked, draw).map_err(refused)?);
        are_old &= releases.records() == before;
        spent = spent.max(releases.spent());
    }
    let how = if are_old {
        "What was released before is used again, which tells nothing more"
    } else {
        "Rows were noised, once and for all rounds"
    };
    terminal.say(&wrapped(&format!(
        "{how}: over all runs ε = {} at most, δ = {} (μ = {}).",
        significant(epsilon_of(spent, privacy.delta)),
        significant(privacy.delta),
        significant(spent)
    )));
    Ok(Some(found))
}

/// What is released of what: another row, bound or kind is another release.
fn hash(parts: &[Dataset], privacy: &Privacy) -> [u8; 32] {
    let mut bytes = Vec::new();
    bytes.push(u8::from(privacy.kind == PrivateKind::Rows));
    bytes.extend(privacy.middle.to_le_bytes());
    for part in parts {
        bytes.extend((part.rows() as u64).to_le_bytes());
        let numbers = part.features().values().iter().chain(part.labels().as_slice());
        bytes.extend(numbers.flat_map(|number| number.to_le_bytes()));
    }
    fedgrid_zenoh::releases::hash(&bytes)
}
