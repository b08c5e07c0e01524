//! A federation whose rows are with the sites, from what each tells of its own: one plan, one set of units and public
//! points for all, and nobody's rows in one place.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use fedgrid::{
    data::{FeatureMoments, Features, Task},
    model::{LocalModel, Rescaling, Scales},
    network::Network,
    random::{Purpose, Stream},
};

use super::{
    Common, DataSchema, Files, Graph,
    class_weights::{balanced, class_note, of_classes},
    features_of, leakage,
    site::{check, checked_models},
    summary::{SUMMARY_VERSION, SiteSummary, TargetSummary, agreed_keys, weighs_rows},
    target::class_names,
};
use crate::{
    columns::{ColumnPlan, KnownPart, Problems, SitePart},
    error::{Error, Result},
    experiment::{ClassWeights, Experiment, PublicKind, TaskKey, advice},
    number::counted,
};

/// With fewer nodes nothing is known of the spread of slopes, and fit scales as summaries do.
const NODES_WITH_UNITS: usize = 5;

/// The summary of a site, by the name of its file.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedSummary {
    /// What messages call the site.
    pub site: String,
    /// What it tells.
    pub summary: SiteSummary,
}

impl NamedSummary {
    /// Reads summaries: files, or folders of them.
    pub fn read_all(paths: &[PathBuf]) -> Result<Vec<Self>> {
        let mut files = Vec::new();
        for path in paths {
            if path.is_dir() {
                let found = json_files(path)?;
                if found.is_empty() {
                    let sentence = format!("'{}' holds no summary (*.json)", path.display());
                    return Err(Error::input(sentence));
                }
                files.extend(found);
            } else {
                files.push(path.clone());
            }
        }
        files.iter().map(|path| Self::read(path)).collect()
    }

    fn read(path: &Path) -> Result<Self> {
        let text =
            std::fs::read_to_string(path).map_err(|error| Error::file("read", path, &error))?;
        let wrong = |found: String| Error::input(format!("{}: {found}", path.display()));
        let expected = "expected a file that fedgrid federation describe wrote";
        let summary: SiteSummary = serde_json::from_str(&text)
            .map_err(|error| wrong(format!("line {}: {expected}", error.line())))?;
        // Sums of another version may mean something else under the same name.
        if summary.fedgrid_summary != SUMMARY_VERSION {
            let found = summary.fedgrid_summary;
            return Err(wrong(format!(
                "is a summary of version {found}, expected {SUMMARY_VERSION}; describe again with this version"
            )));
        }
        if let Some(found) = summary.contradiction() {
            return Err(wrong(format!("{found}; {expected}")));
        }
        let site = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { site, summary })
    }

    fn part(&self) -> SitePart<'_> {
        let SiteSummary { rows, columns, products, .. } = &self.summary;
        let (site, weight) = (&self.site, self.summary.trained());
        SitePart { site, rows: *rows, weight, columns, products: products.as_ref() }
    }
}

fn json_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).map_err(|error| Error::file("read", folder, &error))?;
    let files = entries.flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|ending| ending == "json")).collect();
    // A folder lists its files in no order, and the first that is wrong is named.
    files.sort();
    Ok(files)
}

impl SiteSummary {
    /// How much the training rows count.
    pub(super) fn trained(&self) -> f64 {
        self.weighed.map_or(self.rows as f64, |weighed| weighed.trained)
    }

    /// What cannot be in a summary, if it is.
    fn contradiction(&self) -> Option<String> {
        if self.rows == 0 || self.nodes.is_empty() {
            return Some("it is of no row".into());
        }
        if !self.products.as_ref().is_none_or(crate::columns::FeatureProducts::is_whole) {
            return Some("its products contradict each other".into());
        }
        let is_weight = |weight: f64| weight.is_finite() && weight > 0.0;
        let weights = self.weighed.map(|weighed| [weighed.counted, weighed.trained]);
        if !weights.is_none_or(|weights| weights.into_iter().all(is_weight)) {
            return Some("its weights contradict each other".into());
        }
        let is_sound = match &self.target {
            TargetSummary::Numbers { mean, squares } => {
                mean.is_finite() && squares.is_finite() && *squares >= 0.0
            }
            TargetSummary::Classes { counts, rare_rows, weights } => {
                let are_named = weights.is_empty() || weights.keys().eq(counts.keys());
                let are_counted = counts.values().sum::<usize>() + rare_rows == self.rows;
                are_counted && are_named && weights.values().all(|weight| is_weight(*weight))
            }
        };
        if !is_sound {
            return Some("the sums of its target contradict each other".into());
        }
        let is_weighed = self.weighed.is_some();
        self.columns.iter().find_map(|column| column.contradiction(self.rows, is_weighed))
    }
}

impl Common {
    /// What all sites share, by the summaries of their rows, and what a reader should know of it.
    pub fn from_summaries(
        experiment: &Experiment,
        base: &Path,
        mut summaries: Vec<NamedSummary>,
    ) -> Result<(Self, Vec<String>)> {
        if experiment.privacy.is_some() {
            return Err(Error::input(
                "there is a section [privacy], and summaries tell sums of rows as they are; give public.file instead, and \
                 all features by name",
            ));
        }
        check(experiment)?;
        leakage::check_kinds(experiment)?;
        check_public(experiment)?;
        if experiment.data.task == Some(TaskKey::Auto) {
            return Err(Error::input(
                "data.task is \"auto\", which takes all values of the target in one place, expected \
                 \"classification\" or \"regression\" with --summaries",
            ));
        }
        // By what they are about, so that nothing depends on the names of files.
        summaries.sort_by(|a, b| a.summary.nodes.cmp(&b.summary.nodes));
        let files = Files::new(base, experiment);
        let network = Graph::new(experiment, files, None)?.network;
        let mut problems = Problems::new("summaries");
        check_keys(experiment, &summaries, &mut problems);
        check_nodes(&network, &summaries, &mut problems);
        check_weighed(experiment, &summaries, &mut problems);
        // Sums of other keys or nodes would be compared in vain.
        problems.clone().into_result()?;
        let parts: Vec<SitePart> = summaries.iter().map(NamedSummary::part).collect();
        let columns = ColumnPlan::agreed(&experiment.data, &parts, &mut problems);
        let target = agreed_target(experiment, &summaries, &mut problems);
        if columns.feature_names().is_empty() && problems.is_empty() {
            problems.add(columns.no_feature());
        }
        problems.into_result()?;
        let (classes, numbers) = target.expect("what is wrong with the target is a problem");
        let task = match classes.len() {
            0 => Task::Regression,
            classes => Task::Classification { classes },
        };
        let class_weights = agreed_weights(experiment, &classes, &summaries)?;
        let moments = columns.moments(&parts)?;
        let about = DataSchema::new(experiment, (task, classes), columns);
        let graph = Graph::from(network);
        let experiment = &experiment.settled(task);
        let models = checked_models(experiment, &graph, &about)?;
        let scales = Scales::of_moments(&moments, numbers, &models.models)
            .filter(|_| !experiment.federation.own_models);
        let public = public_points(experiment, files, &about, (&moments, scales.as_ref()))?;
        let has_units = scales.is_some() && have_slope_units(&models.models);
        let mut notes = notes(experiment, &graph.network, &summaries, has_units);
        notes.extend(class_weights.as_ref().map(|own| class_note(&about.classes, own)));
        notes.extend(about.known.as_ref().map(KnownPart::note));
        let (network, public) = (graph.network, Arc::new(public));
        let common = Self { network, about, public, scales, class_weights };
        Ok((common, notes))
    }
}

/// Refuses public points that sums cannot tell.
fn check_public(experiment: &Experiment) -> Result<()> {
    let found = match experiment.public.kind {
        PublicKind::Normal | PublicKind::File => return Ok(()),
        PublicKind::Box => "box",
        PublicKind::Columns => "columns",
    };
    Err(Error::input(format!(
        "public.kind is \"{found}\", which takes values of single rows, expected \"normal\" or \"file\" with --summaries"
    )))
}

/// Refuses summaries that were made by other keys.
fn check_keys(experiment: &Experiment, summaries: &[NamedSummary], problems: &mut Problems) {
    let own = agreed_keys(experiment);
    for NamedSummary { site, summary } in summaries {
        let names = own.keys().chain(summary.keys.keys().filter(|key| !own.contains_key(*key)));
        for key in names.filter(|key| own.get(*key) != summary.keys.get(*key)) {
            let value = |keys: &BTreeMap<String, serde_json::Value>| {
                keys.get(key).map_or_else(|| "not given".into(), ToString::to_string)
            };
            problems.add(format!(
                "{site} was described with {key} = {}, and the experiment has {}; describe it again with this \
                 experiment",
                value(&summary.keys),
                value(&own)
            ));
        }
    }
}

/// Refuses summaries whose rows count otherwise than the experiment says, such as by models of another kind.
fn check_weighed(experiment: &Experiment, summaries: &[NamedSummary], problems: &mut Problems) {
    let is_weighed = weighs_rows(experiment);
    for NamedSummary { site, summary } in summaries {
        if summary.weighed.is_some() != is_weighed {
            let (there, here) =
                if is_weighed { ("alike", "differently") } else { ("differently", "alike") };
            problems.add(format!(
                "rows of {site} count {there} in its summary and {here} by the experiment; describe it again with this \
                 experiment"
            ));
        }
    }
}

/// The weights of the classes, if rows count by them.
fn agreed_weights(
    experiment: &Experiment,
    classes: &[String],
    summaries: &[NamedSummary],
) -> Result<Option<Vec<f64>>> {
    match &experiment.data.class_weights {
        None => Ok(None),
        Some(ClassWeights::Given(given)) => of_classes(experiment, given, classes).map(Some),
        // What a class weighs is known when all have told, and sums of rows by then.
        Some(ClassWeights::Balanced) => Err(Error::input(format!(
            "data.class_weights is \"balanced\", which takes the classes of all sites before sums of rows are told, \
             expected numbers with --summaries{}",
            balancing(classes, summaries).map_or_else(String::new, |numbers| format!(
                "; those of these rows are class_weights = {numbers}: write them into the experiment and describe again"
            ))
        ))),
    }
}

/// The weights that balance the classes of all sites, as a key; none if a site hides some of its rows.
fn balancing(classes: &[String], summaries: &[NamedSummary]) -> Option<String> {
    let mut counts = vec![0.0; classes.len()];
    for NamedSummary { summary, .. } in summaries {
        let TargetSummary::Classes { counts: rows, rare_rows: 0, weights } = &summary.target else {
            return None;
        };
        for (class, rows) in rows {
            let place = classes.iter().position(|known| known == class)?;
            counts[place] += weights.get(class).copied().unwrap_or(*rows as f64);
        }
    }
    let weights = classes.iter().cloned().zip(balanced(&counts));
    let numbers = weights.map(|(class, weight)| (class, toml::Value::Float(weight)));
    Some(toml::Value::Table(numbers.collect()).to_string())
}

/// Refuses nodes that are not of the network, or are counted twice.
fn check_nodes(network: &Network, summaries: &[NamedSummary], problems: &mut Problems) {
    let mut known: BTreeMap<&str, &str> = BTreeMap::new();
    for NamedSummary { site, summary } in summaries {
        for node in &summary.nodes {
            if !network.names().contains(node) {
                let advice = advice(node, network.names().iter().map(String::as_str));
                problems.add(format!(
                    "{site} has rows of '{node}', which is not a node of the network{advice}"
                ));
            }
            if let Some(other) = known.insert(node, site) {
                problems.add(format!(
                    "{other} and {site} both have rows of node '{node}', expected each node at one site"
                ));
            }
        }
    }
}

/// The names of the classes, and the mean and deviation of numbers.
type AgreedTarget = (Vec<String>, Option<(f64, f64)>);

fn agreed_target(
    experiment: &Experiment,
    summaries: &[NamedSummary],
    problems: &mut Problems,
) -> Option<AgreedTarget> {
    let target = &experiment.data.target;
    let of_numbers =
        |one: &&NamedSummary| matches!(one.summary.target, TargetSummary::Numbers { .. });
    let (numbers, classes): (Vec<&NamedSummary>, Vec<&NamedSummary>) =
        summaries.iter().partition(of_numbers);
    if let Some((number, class)) = numbers.first().zip(classes.first()) {
        problems.add(format!(
            "target '{target}' holds numbers at {} and classes at {}; write it alike, or set data.task = \
             \"classification\" or \"regression\"",
            number.site, class.site
        ));
        return None;
    }
    if classes.is_empty() {
        return Some((Vec::new(), Some(target_moments(&numbers)?)));
    }
    let named = classes.iter().filter_map(|one| match &one.summary.target {
        TargetSummary::Classes { counts, .. } => Some(counts.keys().cloned()),
        TargetSummary::Numbers { .. } => None,
    });
    let found: Vec<String> = named.flatten().collect();
    let names = class_names(experiment.data.classes.as_deref().unwrap_or(&found));
    if names.len() < 2 {
        let found =
            names.first().map_or_else(|| "no class".into(), |name| format!("one, '{name}'"));
        problems.add(format!(
            "of the classes of target '{target}' the sites name {found}, expected at least two; give data.classes"
        ));
        return None;
    }
    Some((names, None))
}

/// The mean and the deviation of targets at all sites.
fn target_moments(summaries: &[&NamedSummary]) -> Option<(f64, f64)> {
    let name: Arc<[String]> = ["target".to_string()].into();
    let of = |one: &&NamedSummary| match one.summary.target {
        TargetSummary::Numbers { mean, squares } => {
            let (rows, weight) = (one.summary.rows, one.summary.trained());
            let variance = vec![squares / weight];
            let own = FeatureMoments::new(name.clone(), rows, vec![mean], variance).ok()?;
            Some(own.counting(weight))
        }
        TargetSummary::Classes { .. } => None,
    };
    let parts: Vec<FeatureMoments> = summaries.iter().filter_map(of).collect();
    let all = FeatureMoments::of_parts(&parts).ok()?;
    Some((all.means()[0], all.covariance(0, 0).sqrt()))
}

/// The public points, in the units of models.
fn public_points(
    experiment: &Experiment,
    files: Files,
    about: &DataSchema,
    (moments, scales): (&FeatureMoments, Option<&Scales>),
) -> Result<Features> {
    let keys = &experiment.public;
    if let Some(table) = files.points()?.filter(|_| keys.kind == PublicKind::File) {
        let (points, _) = features_of(&table, about)?;
        return Ok(scales.map_or_else(|| Ok(points.clone()), |own| own.features(&points))?);
    }
    // Drawn in the units of models, as fit draws them from the rows.
    let scaled = scales.map_or_else(|| Ok(moments.clone()), |own| own.moments(moments))?;
    let mut stream = Stream::new(experiment.seed, 0, 0, Purpose::Public);
    Ok(scaled.normal_points(experiment.public_points(about.task), &mut stream)?)
}

/// What a reader should know.
fn notes(
    experiment: &Experiment,
    network: &Network,
    summaries: &[NamedSummary],
    has_units: bool,
) -> Vec<String> {
    let rows: usize = summaries.iter().map(|one| one.summary.rows).sum();
    let mut notes = vec![format!(
        "The plan is by the summaries of {} with {}; its levels, fills and units, and the public points, are shared \
         statistics of these rows.",
        counted(summaries.len(), "site"),
        counted(rows, "training row")
    )];
    let is_told = |name: &&String| summaries.iter().any(|one| one.summary.nodes.contains(name));
    let untold: Vec<&str> =
        network.names().iter().filter(|name| !is_told(name)).map(String::as_str).collect();
    if !untold.is_empty() {
        notes.push(format!("{} in no summary.", super::listed(untold.into_iter(), "is", "are")));
    }
    let apart = summaries.iter().filter(|one| one.summary.products.is_none());
    let apart: Vec<&str> = apart.map(|one| one.site.as_str()).collect();
    if !apart.is_empty() && experiment.public.kind == PublicKind::Normal {
        notes.push(format!(
            "Without products from {}, public points are drawn as if columns were independent there.",
            apart.join(", ")
        ));
    }
    if experiment.data.classes.is_none() {
        for NamedSummary { site, summary } in summaries {
            if let TargetSummary::Classes { rare_rows: rare @ 1.., .. } = summary.target {
                notes.push(format!(
                    "{site} does not name the classes of {}; a class that no other site names is refused when it \
                     joins, unless data.classes lists it.",
                    counted(rare, "row")
                ));
            }
        }
    }
    if has_units {
        notes.push(
            "Features have variance one; the units of slopes, which fit finds from the rows of each node, are not in \
             summaries."
                .into(),
        );
    }
    notes
}

/// Whether slopes of these models, one for each node, would have units of their own if their rows were at hand.
fn have_slope_units(models: &[Arc<dyn LocalModel>]) -> bool {
    let asked = || models.iter().map(|model| model.rescaling());
    models.len() >= NODES_WITH_UNITS
        && asked().any(|asked| matches!(asked, Rescaling::Affine { .. }))
        && !asked().any(|asked| matches!(asked, Rescaling::Standardised { .. }))
}
