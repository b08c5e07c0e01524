//! Members that come and go while a federation runs.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    error::{Error, Result, same_size},
    network::View,
    runtime::{
        layout::{Layout, ProcessId},
        protocol::Membership,
    },
};

/// Who takes part from some time on.
#[derive(Debug, Clone)]
pub struct Change {
    /// When it is made known, in ticks: each process learns of it some ticks later.
    pub tick: u64,
    /// The nodes, with their present neighbours.
    pub views: Vec<View>,
    /// Where they live.
    pub layout: Layout,
    /// The processes that take no part any more; their nodes have no edges left.
    pub gone: BTreeSet<ProcessId>,
    /// Those of them that crash for good before, and when, in ticks.
    pub lost: BTreeMap<ProcessId, u64>,
}

impl Change {
    /// How many processes take part.
    pub(super) fn present(&self) -> usize {
        self.layout.assignments().len() - self.gone.len()
    }
}

/// Refuses changes in which processes or nodes would be numbered anew.
pub(super) fn check(layout: &Layout, views: &[View], changes: &[Change]) -> Result<()> {
    let (mut processes, mut nodes) = (layout.assignments().len(), views.len());
    for Change { views, layout, .. } in changes {
        same_size(
            "nodes of a change",
            layout.assignments().iter().map(|own| own.nodes.len()).sum(),
            views.len(),
        )?;
        if layout.assignments().len() < processes || views.len() < nodes {
            return Err(Error::Malformed {
                what: "a change",
                reason: "has fewer members than were listed before",
            });
        }
        (processes, nodes) = (layout.assignments().len(), views.len());
    }
    Ok(())
}

/// How a process takes part after so many changes.
pub(super) fn membership(
    first: &Layout,
    changes: &[Change],
    process: ProcessId,
    change: usize,
) -> Membership {
    let layouts = std::iter::once(first).chain(changes.iter().map(|change| &change.layout));
    let since = layouts.take_while(|layout| layout.assignments().len() <= process).count();
    let anew = false;
    Membership { change: change as u64, since: since as u64, anew }
}
