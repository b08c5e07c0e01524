//! The command line, one file per command.

mod check;
mod clock;
mod demo;
mod diff;
mod export;
#[cfg(feature = "federation")]
mod federation;
mod fit;
mod format;
mod job;
mod network;
mod network_learn;
mod predict;
mod reproduce;
mod serve;
mod show;
mod simulate;
mod update;

use std::process::ExitCode;

use clap::{
    Parser, Subcommand,
    error::{ContextKind, ErrorKind},
};

use crate::terminal::{Terminal, complain, print, watch_for_interruption};
use fedgrid_lab::{error::Result, experiment::Experiment, run::to_json_pretty};

/// Train one tailored model for every node of a network of small, private datasets.
#[derive(Debug, Parser)]
#[command(name = "fedgrid", version, max_term_width = 96, arg_required_else_help = true)]
#[command(after_help = "Example: fedgrid demo")]
struct Arguments {
    #[command(subcommand)]
    command: Command,

    /// Say nothing but errors.
    #[arg(long, short, global = true)]
    quiet: bool,

    /// Give the result as JSON on standard output.
    #[arg(long, global = true)]
    json: bool,

    /// How many threads to use; by default one per core. The result is the same for any number.
    #[arg(long, global = true, value_name = "N")]
    threads: Option<usize>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Train the bundled example, the weather stations of Colorado.
    Demo(demo::Demo),
    /// Look at a table: what becomes of its columns, and all that is wrong with it.
    Check(Box<check::Check>),
    /// Train a model for every node and say whether the network helps.
    Fit(Box<fit::Fit>),
    /// Show a finished run, or one of its nodes.
    Show(show::Show),
    /// Predict new rows, each by its own node's model.
    Predict(predict::Predict),
    /// Answer requests for predictions over HTTP, by the models of a run.
    Serve(serve::Serve),
    /// Add rows and nodes to a run, from where it stands.
    Update(update::Update),
    /// Show what changed between two runs.
    Diff(diff::Diff),
    /// Write the models of a run as ONNX, for other programs.
    Export(export::Export),
    /// Build a network, learn one from rows, or show one in numbers.
    #[command(subcommand, after_help = "Example: fedgrid network show --edges edges.csv")]
    Network(network::NetworkCommand),
    /// Run the papers' figures again, with the authors' values beside ours.
    Reproduce(reproduce::Reproduce),
    /// Run an experiment as a federation in which things go wrong, by seed.
    Simulate(Box<simulate::Simulate>),
    /// Run an experiment as a federation of processes, each with its own rows.
    #[cfg(feature = "federation")]
    #[command(
        subcommand,
        after_help = "Example: fedgrid federation new experiment.toml --sites sites.toml"
    )]
    Federation(federation::FederationCommand),
    /// Print the schema of experiment files: every key with its default, values and meaning.
    #[command(after_help = "Example: fedgrid schema > experiment.schema.json")]
    Schema {
        /// As tables to read instead of JSON schema.
        #[arg(long)]
        markdown: bool,
    },
}

/// Runs the command of this process.
#[must_use]
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return refused(&error),
    };
    let terminal = Terminal { quiet: arguments.quiet, json: arguments.json };
    if let Some(threads) = arguments.threads {
        // The pool can be made only once, which is now.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    }
    watch_for_interruption();
    match run(arguments.command, terminal) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("fedgrid: {error}"));
            ExitCode::from(error.exit_code())
        }
    }
}

/// Help and version are printed as they are; a wrong argument gets one sentence.
fn refused(error: &clap::Error) -> ExitCode {
    // Clap reports help and version as errors; their users asked for them.
    if !error.use_stderr() {
        print(error.to_string().trim_end());
        return ExitCode::SUCCESS;
    }
    let value = |kind| error.get(kind).map(ToString::to_string);
    let given = (value(ContextKind::InvalidArg), value(ContextKind::InvalidValue));
    match (error.kind(), given) {
        (ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand, _) => {
            complain(error.to_string().trim_end());
        }
        // Clap's own text quotes the parser's error, which speaks of Rust types.
        (ErrorKind::ValueValidation, (Some(argument), Some(value))) => {
            complain(&format!("fedgrid: '{value}' does not fit {argument}; see --help"));
        }
        _ => {
            // The first line names the mistake; the usage below it repeats --help.
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
            let near = [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand]
                .into_iter()
                .find_map(value);
            let advice =
                near.map_or_else(|| "see --help".into(), |near| format!("did you mean {near}?"));
            complain(&format!("fedgrid: {first}; {advice}"));
        }
    }
    // As shells and clap have it for wrong usage.
    ExitCode::from(2)
}

fn run(command: Command, terminal: Terminal) -> Result<()> {
    match command {
        Command::Demo(demo) => demo.run(terminal),
        Command::Check(check) => check.run(terminal),
        Command::Fit(fit) => fit.run(terminal),
        Command::Show(show) => show.run(terminal),
        Command::Predict(predict) => predict.run(terminal),
        Command::Serve(serve) => serve.run(terminal),
        Command::Update(update) => update.run(terminal),
        Command::Diff(diff) => diff.run(terminal),
        Command::Export(export) => export.run(terminal),
        Command::Network(network) => network.run(terminal),
        Command::Reproduce(reproduce) => reproduce.run(terminal),
        Command::Simulate(simulate) => simulate.run(terminal),
        #[cfg(feature = "federation")]
        Command::Federation(federation) => federation.run(terminal),
        Command::Schema { markdown: true } => {
            print(&Experiment::reference());
            Ok(())
        }
        Command::Schema { markdown: false } => {
            print(&to_json_pretty(&Experiment::schema()));
            Ok(())
        }
    }
}
