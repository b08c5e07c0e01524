//! A site whose agent runs inside of another program, such as Python: its models, its rows in memory, its own way to say
//! stop. The command is a host that brings nothing.

use std::{path::Path, sync::Arc};

use fedgrid::{model::Hypothesis, network::NodeId};
use fedgrid_lab::{
    assembly::{DataSchema, OwnModels},
    error::Result,
    experiment::Experiment,
    source::Table,
};

/// What a host must know to make models for the nodes of its site.
#[derive(Debug)]
pub struct SiteAbout<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// How rows are read, and which classes there are.
    pub about: &'a DataSchema,
    /// The nodes of the site with their names.
    pub nodes: Vec<(NodeId, &'a str)>,
}

/// What a site is left with.
#[derive(Debug)]
pub struct SiteModels<'a> {
    /// The folder of the run.
    pub folder: &'a Path,
    /// How rows are read.
    pub about: &'a DataSchema,
    /// The names of the nodes.
    pub names: &'a [String],
    /// Their models, for rows of the table.
    pub models: Vec<Arc<dyn Hypothesis>>,
}

/// The program that runs an agent.
pub trait SiteHost {
    /// The site's own rows, if they are not in the file that `--data` names.
    fn table(&self, _experiment: &Experiment) -> Option<Table> {
        None
    }

    /// The models that it brings.
    fn models(&self, _site: &SiteAbout) -> Result<OwnModels> {
        Ok(OwnModels::default())
    }

    /// Whether its user has asked to stop.
    fn is_stopped(&self) -> bool {
        false
    }

    /// Keeps what no file of a run can hold, before the run counts as finished; a sentence for the report, if any.
    fn keep(&self, _models: SiteModels) -> Result<Option<String>> {
        Ok(None)
    }
}

/// A program that brings nothing: the command itself.
#[derive(Debug, Clone, Copy)]
pub struct CommandHost;

impl SiteHost for CommandHost {}
