//! `fedgrid federation check`: whether a site's own rows fit the plan of its kit, without a word to anyone.

use std::path::PathBuf;

use clap::Args;

use super::kit::{self, Kit};
use crate::{command::job::wrapped, terminal::Terminal};
use fedgrid_lab::{
    assembly::{Assembly, OwnModels},
    error::{Error, Result},
    number::counted,
    run::to_json_pretty,
};

/// Arguments of `fedgrid federation check`.
#[derive(Debug, Args)]
#[command(after_help = "Example: fedgrid federation check hospital-a --data rows.csv")]
pub(in crate::command) struct CheckSite {
    /// The kit: the folder that the project gave to this site.
    kit: PathBuf,

    /// The site's own rows: a CSV or Parquet file.
    #[arg(long, value_name = "FILE")]
    data: PathBuf,
}

impl CheckSite {
    pub(super) fn run(self, terminal: Terminal) -> Result<()> {
        let kit = Kit::read(&self.kit)?;
        let (table, mut checked) = kit.table(&self.data)?;
        if checked.problems.is_empty() {
            // What join would refuse when all cells are read.
            let own = (&kit.own[..], OwnModels::default());
            let joined = Assembly::at_site(&kit.experiment, &table, kit.common.clone(), own);
            checked.problems.extend(joined.err().map(|error| error.to_string()));
        }
        kit::tell(terminal, &kit, &checked, true);
        for problem in &checked.problems {
            terminal.say(&wrapped(&format!("Problem: {problem}")));
        }
        terminal.give(&to_json_pretty(&checked));
        match checked.problems.len() {
            0 => {
                terminal.say("The table fits; nothing was sent.");
                Ok(())
            }
            found => {
                let found = counted(found, "problem");
                let sentence =
                    format!("{}: {found} to be solved before this site joins", checked.table);
                Err(Error::input(sentence))
            }
        }
    }
}
