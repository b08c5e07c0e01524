//! The command line, one file per command.

mod audit;
mod check;
mod clock;
mod compare;
mod demo;
mod diff;
mod export;
#[cfg(feature = "federation")]
pub mod federation;
mod fit;
mod flags;
mod format;
mod job;
mod network;
mod network_learn;
mod predict;
mod privacy;
mod reproduce;
mod serve;
mod shell;
mod show;
mod simulate;
mod sweep;
mod update;

use std::process::ExitCode;

use clap::{
    CommandFactory, Parser, Subcommand,
    error::{ContextKind, ErrorKind},
};

#[cfg(feature = "federation")]
use self::federation::host::{CommandHost, SiteHost};
#[cfg(feature = "federation")]
use crate::terminal::{Stream, read_by};
use crate::{
    colour::Output,
    terminal::{Terminal, complain, print, watch_for_interruption},
};
use fedgrid_lab::{error::Result, experiment::Experiment, run::to_json_pretty};

/// The heading of flags that all commands have.
const GENERAL: &str = "General";

/// Train one tailored model for every node of a network of small, private datasets.
#[derive(Debug, Parser)]
#[command(name = "fedgrid", version, max_term_width = 96, arg_required_else_help = true)]
#[command(after_help = "Example: fedgrid demo")]
struct Arguments {
    #[command(subcommand)]
    command: Command,

    /// Say nothing but errors.
    #[arg(long, short, global = true, help_heading = GENERAL)]
    quiet: bool,

    /// Give the result as JSON on standard output; an error is then JSON, too, on standard error.
    #[arg(long, global = true, help_heading = GENERAL)]
    json: bool,

    /// How many threads to use; by default one per core. The result is the same for any number.
    #[arg(long, global = true, value_name = "N", help_heading = GENERAL)]
    threads: Option<usize>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Train the bundled example, the weather stations of Colorado.
    Demo(demo::Demo),
    /// Look at a table: what becomes of its columns, and all that is wrong with it.
    Check(Box<check::Check>),
    /// Attack the messages of an experiment before anything is shared: what they tell of single rows.
    Audit(Box<audit::AuditCommand>),
    /// Say what a private network can be expected to gain at several budgets, before anything is published.
    Privacy(Box<privacy::PrivacyCommand>),
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
    /// Put finished runs side by side: errors of each method, strengths, verdicts.
    Compare(compare::Compare),
    /// Run an experiment at several values of its keys and several seeds: one table, one plot.
    Sweep(Box<sweep::SweepCommand>),
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
    /// Print what a shell needs to complete this command.
    Completions(shell::Completions),
    /// Write the manual pages of all commands.
    Man(shell::ManPages),
}

impl Command {
    /// Whether it works for others on threads of its own, for which those of the pool must stay free.
    fn serves_others(&self) -> bool {
        match self {
            Self::Serve(_) => true,
            #[cfg(feature = "federation")]
            Self::Federation(_) => true,
            _ => false,
        }
    }
}

/// The stack of a thread that works: what the first thread of a process usually has.
const STACK_BYTES: usize = 8 << 20;

/// Runs the command of this process.
#[must_use]
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return refused(&error),
    };
    let terminal = Terminal { quiet: arguments.quiet, json: arguments.json };
    // The pool can be made only once, which is now; zero is as many threads as there are cores.
    let _ = rayon::ThreadPoolBuilder::new()
        .num_threads(arguments.threads.unwrap_or(0))
        .stack_size(STACK_BYTES)
        .build_global();
    watch_for_interruption();
    #[cfg(feature = "federation")]
    federation::this_is_the_command();
    let command = arguments.command;
    let ended = if command.serves_others() {
        run(command, terminal)
    } else {
        // On a thread of the pool: from any other, each parallel step would be handed over to one and waited for.
        rayon::join(|| run(command, terminal), || ()).0
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            terminal.refuse(&error.to_string(), error.exit_code());
            ExitCode::from(error.exit_code())
        }
    }
}

/// Why a command of federations that another program has run ended without its result.
#[cfg(feature = "federation")]
#[derive(Debug)]
pub struct Refusal {
    /// What is wrong and what would do, in one sentence.
    pub message: String,
    /// The exit code of the command.
    pub exit_code: u8,
}

/// Runs `fedgrid federation` with these arguments inside of another program, which reads what it says.
#[cfg(feature = "federation")]
pub fn federate(
    arguments: Vec<String>,
    host: &dyn SiteHost,
    reader: impl Fn(Stream, &str) + 'static,
) -> std::result::Result<(), Refusal> {
    let all = ["fedgrid", "federation"].map(String::from).into_iter().chain(arguments);
    read_by(reader, || {
        let arguments = match Arguments::try_parse_from(all) {
            Ok(arguments) => arguments,
            Err(error) if error.use_stderr() => {
                return Err(Refusal { message: sentence(&error), exit_code: WRONG_USAGE });
            }
            Err(help) => {
                print(help.to_string().trim_end());
                return Ok(());
            }
        };
        let terminal = Terminal { quiet: arguments.quiet, json: arguments.json };
        let ended = match arguments.command {
            Command::Federation(command) => command.run(terminal, host),
            // No other can be read after these two words.
            other => run(other, terminal),
        };
        ended.map_err(|error| Refusal { message: error.to_string(), exit_code: error.exit_code() })
    })
}

/// Help and version are printed as they are; a wrong argument gets one sentence.
fn refused(error: &clap::Error) -> ExitCode {
    // Clap reports help and version as errors; their users asked for them.
    if !error.use_stderr() {
        print(shown(error, Output::Standard).trim_end());
        return ExitCode::SUCCESS;
    }
    // Arguments that cannot be read may still say how the refusal is to be written.
    let json = std::env::args_os().take_while(|given| given != "--").any(|given| given == "--json");
    let terminal = Terminal { quiet: false, json };
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand && !json {
        complain(shown(error, Output::Error).trim_end());
    } else {
        terminal.refuse(&sentence(error), WRONG_USAGE);
    }
    ExitCode::from(WRONG_USAGE)
}

/// The exit code of wrong usage, as shells and clap have it.
const WRONG_USAGE: u8 = 2;

/// The text of clap, with its colours where they are shown.
fn shown(error: &clap::Error, output: Output) -> String {
    if output.has_colours() { error.render().ansi().to_string() } else { error.to_string() }
}

/// What is wrong with the arguments, in one sentence.
fn sentence(error: &clap::Error) -> String {
    let value = |kind| error.get(kind).map(ToString::to_string);
    let given = (value(ContextKind::InvalidArg), value(ContextKind::InvalidValue));
    match (error.kind(), given) {
        (ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand, _) => {
            "a command is missing; see --help".into()
        }
        // Clap's own first line ends before it names them.
        (ErrorKind::MissingRequiredArgument, (Some(missing), _)) => {
            let is = if missing.contains(", ") { "are" } else { "is" };
            format!("{missing} {is} missing; see --help")
        }
        // Clap's own text quotes the parser's error, which speaks of Rust types.
        (ErrorKind::ValueValidation, (Some(argument), Some(value))) => {
            format!("'{value}' does not fit {argument}; see --help")
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
            format!("{first}; {advice}")
        }
    }
}

fn run(command: Command, terminal: Terminal) -> Result<()> {
    match command {
        Command::Demo(demo) => demo.run(terminal),
        Command::Check(check) => check.run(terminal),
        Command::Audit(audit) => audit.run(terminal),
        Command::Privacy(privacy) => privacy.run(terminal),
        Command::Fit(fit) => fit.run(terminal),
        Command::Show(show) => show.run(terminal),
        Command::Predict(predict) => predict.run(terminal),
        Command::Serve(serve) => serve.run(terminal),
        Command::Update(update) => update.run(terminal),
        Command::Diff(diff) => diff.run(terminal),
        Command::Compare(compare) => compare.run(terminal),
        Command::Sweep(sweep) => sweep.run(terminal),
        Command::Export(export) => export.run(terminal),
        Command::Network(network) => network.run(terminal),
        Command::Reproduce(reproduce) => reproduce.run(terminal),
        Command::Simulate(simulate) => simulate.run(terminal),
        #[cfg(feature = "federation")]
        Command::Federation(federation) => federation.run(terminal, &CommandHost),
        Command::Schema { markdown: true } => {
            print(&Experiment::reference());
            Ok(())
        }
        Command::Schema { markdown: false } => {
            print(&to_json_pretty(Experiment::schema()));
            Ok(())
        }
        Command::Completions(completions) => {
            completions.run(Arguments::command());
            Ok(())
        }
        Command::Man(pages) => pages.run(Arguments::command(), terminal),
    }
}
