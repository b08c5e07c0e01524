//! `fedgrid export`: the models of a run for other programs.

use std::path::PathBuf;

use clap::Args;
use fedgrid_lab::{
    error::{Error, Result},
    number::counted,
    onnx::{self, Form, NodeModels},
    run::{RunModels, to_json_pretty},
};
use serde_json::json;

use crate::terminal::{Terminal, complain};

/// Arguments of `fedgrid export`.
#[derive(Debug, Args)]
#[command(after_help = "Example: fedgrid export runs/colorado --onnx --out colorado.onnx")]
pub(super) struct Export {
    /// The folder of a finished run.
    run: PathBuf,

    /// As ONNX, which runtimes in many languages can compute; the only form there is.
    #[arg(long)]
    onnx: bool,

    /// Where to write: a name that ends with .onnx is one file, which takes the name of each row's node as an input;
    /// any other is a folder with a file of each node.
    #[arg(long, value_name = "FILE_OR_FOLDER", required = true)]
    out: PathBuf,

    /// The method whose models are written, among those that the run keeps: network, mixed, shrunk, pooled, local; by
    /// default the one that the verdict advises.
    #[arg(long = "use", value_name = "METHOD")]
    used: Option<String>,

    /// The model of this node only, in one file that does not ask for the node.
    #[arg(long, value_name = "NAME")]
    node: Option<String>,

    /// Replace an existing file, or the files of an existing folder.
    #[arg(long)]
    force: bool,
}

impl Export {
    pub(super) fn run(self, terminal: Terminal) -> Result<()> {
        if !self.onnx {
            return Err(Error::input("export needs a form to write: add --onnx"));
        }
        let run = RunModels::of_method(&self.run, self.used.as_deref())?;
        let left_out = run.predicted_by_neighbours();
        let RunModels { about, by_node, used, .. } = run;
        let is_own = |(name, _): &(&str, _)| !left_out.iter().any(|other| other == name);
        let models = by_node.iter().map(|(name, model)| (name.as_str(), model)).filter(is_own);
        let models = models.collect();
        let models = NodeModels { about: &about, models };
        let form = Form::of(self.node.as_deref(), &self.out);
        let said = onnx::write(&models, form, &self.out, self.force)?;
        terminal.say(&format!("{said}, by {used}"));
        let preparation = models.preparation();
        let told = json!({
            "out": self.out.display().to_string(),
            "method": used,
            "features": about.features,
            "preparation": preparation,
            "left_out": left_out,
        });
        terminal.give(&to_json_pretty(&told));
        let without = (!left_out.is_empty()).then(|| {
            let nodes = counted(left_out.len(), "node");
            format!(
                "{nodes} without a training row left out, which predict predicts by the mean of their neighbours' models"
            )
        });
        for note in preparation.into_iter().chain(without).filter(|_| !terminal.quiet) {
            complain(&format!("Note: {note}"));
        }
        Ok(())
    }
}
