//! `fedgrid audit`: what the messages of an experiment would tell of rows, before anything is shared.

use clap::Args;
use fedgrid::{audit::AuditSettings, compare::Strength};
use fedgrid_lab::{
    assembly::Assembly,
    audit::{AuditReport, AuditedNode},
    error::{Error, Result},
    experiment::Experiment,
    number::{counted, percent, significant},
    run::to_json_pretty,
};

use super::{
    flags::{ExperimentFlags, FlaggedTable, OUTPUT},
    job::wrapped,
};
use crate::terminal::Terminal;

/// How many nodes are printed, the most endangered first; `--json` has all.
const LINES: usize = 20;
/// The length of names; longer ones are cut.
const NAME_CHARS: usize = 24;

/// Arguments of `fedgrid audit`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  fedgrid audit examples/colorado/colorado.toml --method fedrelax
  fedgrid audit runs/weak/experiment.toml --set method.alpha=0.1 --worlds 256 --json")]
pub(super) struct AuditCommand {
    #[command(flatten)]
    from: ExperimentFlags,

    /// Override any key of the experiment, such as method.alpha=0.1.
    #[arg(long, value_name = "KEY=VALUE", allow_hyphen_values = true, help_heading = OUTPUT)]
    set: Vec<String>,

    /// In how many worlds the method is trained: in each, rows take part by the toss of a coin.
    #[arg(long, value_name = "N", default_value_t = 64, help_heading = OUTPUT)]
    worlds: usize,
}

impl AuditCommand {
    pub(super) fn run(self, terminal: Terminal) -> Result<()> {
        let FlaggedTable { mut table, base, source, .. } = self.from.table()?;
        for assignment in &self.set {
            Experiment::set(&mut table, assignment)?;
        }
        let source = if self.set.is_empty() { source } else { String::new() };
        let experiment = Experiment::from_table(table, &source)?;
        let mut assembly = Assembly::new(&experiment, &base)?;
        let steps = assembly.study.members().len() + 2;
        let progress = terminal.progress(steps);
        let strength = strength(&mut assembly, &progress)?;
        let settings = AuditSettings { worlds: self.worlds, seed: assembly.study.settings.seed };
        let report = AuditReport::new(&assembly, strength, settings, &progress)?;
        progress.finish();
        if report.nodes.is_empty() {
            return Err(Error::input(
                "no node has two training rows or more, of which one could be told from the other",
            ));
        }
        terminal.say(&printed(&report));
        terminal.give(&to_json_pretty(&report));
        Ok(())
    }
}

/// The strength of the study's own method: given, or chosen on validation rows as `fit` does.
fn strength(assembly: &mut Assembly, progress: &crate::terminal::Progress) -> Result<Strength> {
    let study = &mut assembly.study;
    let members = study.members();
    if !members.is_empty() {
        let cards: Result<Vec<_>, _> =
            members.iter().map(|member| study.tune(*member, progress)).collect();
        study.choose(&cards?);
    }
    Ok(study.card(study.main(), progress)?.strength)
}

fn printed(report: &AuditReport) -> String {
    let Strength { alpha, ridge } = report.strength;
    let ridge = ridge.map_or_else(String::new, |ridge| format!(", ridge {}", significant(ridge)));
    let mut lines = vec![wrapped(&format!(
        "{} at strength {}{ridge}: {} with {}, trained in {} worlds",
        report.method,
        significant(alpha),
        counted(report.nodes.len(), "node"),
        counted(report.features, "feature"),
        report.worlds,
    ))];
    lines.push(String::new());
    lines.push(format!(
        "{:<NAME_CHARS$}{:>6}{:>9}{:>8}{:>14}{:>8}{:>9}",
        "node", "rows", "right", "AUC", "found at 1 %", "ε ≥", "asked"
    ));
    lines.extend(report.nodes.iter().take(LINES).map(line));
    if report.nodes.len() > LINES {
        lines.push(format!(
            "… and {} more, less endangered (--json has all)",
            report.nodes.len() - LINES
        ));
    }
    lines.push(String::new());
    let hides_labels = report.promised.is_some_and(|promised| promised.hides_labels);
    let what =
        if hides_labels { "whether their labels are their own" } else { "whether they took part" };
    let all = format!(
        "Over all nodes, a neighbour who keeps all messages tells rightly of {} of rows {what} (chance is 50 %).",
        percent(report.mean_right_share())
    );
    let worst = report.nodes.first().map(|node| node.sentence.clone());
    for text in worst
        .into_iter()
        .chain([all])
        .chain(report.notes.iter().map(|note| format!("Note: {note}")))
    {
        lines.push(wrapped(&text));
    }
    lines.join("\n")
}

fn line(node: &AuditedNode) -> String {
    let name: String = node.name.chars().take(NAME_CHARS - 1).collect();
    let own = node.membership;
    let asked = node.recovered.map_or_else(|| "-".into(), |found| found.answers.to_string());
    format!(
        "{name:<NAME_CHARS$}{:>6}{:>9}{:>8.3}{:>14}{:>8.2}{asked:>9}",
        node.rows,
        percent(own.right_share),
        own.auc,
        percent(own.found_at_1_percent),
        own.epsilon_at_least,
    )
}
