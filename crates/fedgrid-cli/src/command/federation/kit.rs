//! A kit that was read and found good: what a site is told, without its rows.

use std::{path::Path, sync::Arc};

use fedgrid::{data::Features, network::NodeId};
use fedgrid_zenoh::{agent::network_of, identity::now, site_bundle::SiteBundle};

use super::{
    judge_plan,
    new::{PublicPoints, SiteSettings},
    refused,
};
use crate::{
    command::{check::plan_lines, job::wrapped},
    terminal::Terminal,
};
use fedgrid_lab::{
    assembly::{Checked, Common, check_at_site},
    error::{Error, Result},
    experiment::Experiment,
    number::counted,
    source::Table,
};

/// What a site is told.
pub(super) struct Kit {
    pub(super) bundle: SiteBundle,
    pub(super) site: SiteSettings,
    pub(super) experiment: Experiment,
    /// The nodes of the site.
    pub(super) own: Vec<NodeId>,
    /// What all sites share.
    pub(super) common: Common,
}

impl Kit {
    pub(super) fn read(folder: &Path) -> Result<Self> {
        Self::read_following(folder, None)
    }

    /// The same by the manifest in this file, if it is there and newer.
    pub(super) fn read_following(folder: &Path, sent: Option<&Path>) -> Result<Self> {
        let bundle = SiteBundle::read_following(folder, sent, now()).map_err(refused)?;
        let site: SiteSettings = serde_json::from_str(&bundle.shared.settings)
            .map_err(|_| Error::input("wrong manifest: part.json is damaged"))?;
        let table = Experiment::table_from_text(&bundle.shared.experiment, "experiment.toml")?;
        let experiment = Experiment::from_table(table, "experiment.toml")?;
        let own = bundle.manifest.nodes_of(bundle.process);
        let own = own.into_iter().map(|node| node as usize).collect();
        let common = common(&bundle, &site)?;
        Ok(Self { bundle, site, experiment, own, common })
    }

    /// The site's own rows, and how the plan of the federation reads them.
    pub(super) fn table(&self, data: &Path) -> Result<(Table, Checked)> {
        Ok(self.checked(Table::from_file(data, &self.experiment.data)?))
    }

    /// Rows, and how the plan of the federation reads them.
    pub(super) fn checked(&self, table: Table) -> (Table, Checked) {
        let checked = check_at_site(&self.experiment, &table, &self.common, &self.own);
        (table, checked)
    }
}

fn common(bundle: &SiteBundle, site: &SiteSettings) -> Result<Common> {
    let points: PublicPoints = serde_json::from_str(&bundle.shared.public)
        .map_err(|_| Error::input("wrong public set: public.json is damaged"))?;
    let shape = bundle.manifest.shape;
    let count = |size: usize| u32::try_from(size).unwrap_or(u32::MAX);
    let found = (count(site.about.features.len()), count(points.rows.len()));
    if found != (shape.features, shape.points) {
        let (features, points) = found;
        return Err(Error::input(format!(
            "wrong shape: {features} features and {points} public points, the manifest says {} \
             and {}",
            shape.features, shape.points
        )));
    }
    let values = points.rows.concat();
    Ok(Common {
        network: network_of(&bundle.manifest).map_err(refused)?,
        about: site.about.clone(),
        public: Arc::new(Features::new(points.names.into(), values)?),
        scales: site.scales.clone(),
        class_weights: site.class_weights.clone(),
    })
}

/// Says how the plan reads a site's table: in a line, or every column.
pub(super) fn tell(terminal: Terminal, kit: &Kit, checked: &Checked, is_long: bool) {
    let heading = format!(
        "{}: {} of {} at {}, {} by the plan of '{}'",
        checked.table,
        counted(checked.rows, "row"),
        counted(kit.own.len(), "node"),
        kit.bundle.name(),
        counted(checked.features.len(), "feature"),
        kit.site.title
    );
    if is_long {
        terminal.say(&format!("{heading}\n\n{}", plan_lines(&checked.plan)));
    } else {
        let features = checked.plan.short_features().join(", ");
        terminal.say(&wrapped(&format!("{heading}: {features}")));
    }
    let manifest = &kit.bundle.manifest;
    let site_of = |node: NodeId| {
        let process = manifest.nodes.get(node).and_then(|node| manifest.process(node.process));
        process.map_or_else(String::new, |process| process.name.clone())
    };
    for note in judge_plan::notes(&kit.experiment, &kit.common.network, site_of) {
        terminal.say(&wrapped(&format!("Note: {note}")));
    }
    for note in &checked.notes {
        terminal.say(&wrapped(&format!("Note: {note}")));
    }
}
