//! What is to be run: the experiment of every case, read and checked before the first begins.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toml::Value;

use super::keys::{SweptKey, text};
use crate::{
    assembly::relative_path,
    error::{Error, Result},
    experiment::{Experiment, MethodSection, ModelSection, is_standard_input},
    wording::in_plain_words,
};

/// A sweep as its folder keeps it (`sweep.toml`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepPlan {
    /// What it is called.
    pub title: String,
    /// The folder that paths of the experiment lead from; in the file as seen from the sweep's own folder.
    pub base: PathBuf,
    /// How many seeds each case has, counted from the experiment's own.
    pub seeds: usize,
    /// The keys that take several values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vary: Vec<SweptKey>,
    /// The keys of all cases.
    pub experiment: toml::Table,
}

/// A sweep with the experiments of its cases.
#[derive(Debug, Clone)]
pub struct Sweep {
    /// What was asked for.
    pub plan: SweepPlan,
    /// The cases: all combinations of values, the last key's changing fastest.
    pub cases: Vec<SweepCase>,
    /// What a reader should know of the plan.
    pub notes: Vec<String>,
}

/// One combination of values.
#[derive(Debug, Clone)]
pub struct SweepCase {
    /// The value of each key, in words.
    pub values: Vec<String>,
    /// Its experiment.
    pub experiment: Experiment,
}

impl SweepPlan {
    /// Takes `--set`: a single value goes into the experiment, several vary.
    pub fn set(&mut self, assignment: &str) -> Result<()> {
        let mut one = SweptKey::from_text(assignment)?;
        let key = one.key.clone();
        if self.vary.iter().any(|known| known.key == key) {
            return Err(Error::input(format!(
                "--set {key} is given twice, expected all its values in one list"
            )));
        }
        if one.varies() && key == "seed" {
            return Err(Error::input(format!(
                "--set {assignment}: seeds are no case of their own; give their number with --seeds"
            )));
        }
        if one.varies() {
            self.vary.push(one);
            return Ok(());
        }
        let value = one.values.remove(0);
        let said = |sentence| Error::input(format!("--set {assignment}: {sentence}"));
        Experiment::put(&mut self.experiment, &key, value).map_err(said)
    }

    /// Reads the plan of a sweep from its folder.
    pub fn from_folder(folder: &Path) -> Result<Self> {
        let path = folder.join("sweep.toml");
        let text =
            std::fs::read_to_string(&path).map_err(|error| Error::file("read", &path, &error))?;
        let plan: Self = toml::from_str(&text).map_err(|error| {
            let what = in_plain_words(error.message());
            Error::input(format!("'{}' is damaged: {what}", path.display()))
        })?;
        Ok(Self { base: folder.join(&plan.base), ..plan })
    }

    /// The plan as a folder keeps it, naming no place on this machine.
    pub(super) fn to_text(&self, folder: &Path) -> String {
        let here = Path::new(".");
        let base = if self.base.as_os_str().is_empty() { here } else { &self.base };
        let kept = Self { base: relative_path(base, folder), ..self.clone() };
        toml::to_string(&kept).expect("keys are plain values")
    }
}

impl Sweep {
    /// Reads and checks the experiment of every case.
    pub fn new(plan: SweepPlan) -> Result<Self> {
        if plan.vary.is_empty() && plan.seeds < 2 {
            let advice = "give --set KEY=VALUE,VALUE or --seeds N";
            return Err(Error::input(format!("nothing varies in this sweep; {advice}")));
        }
        let mut cases = Vec::new();
        let mut unused: Vec<String> = Vec::new();
        for values in combinations(&plan.vary) {
            let (case, left_out) = case(&plan, &values)?;
            cases.push(case);
            unused.extend(left_out);
        }
        unused.sort_unstable();
        unused.dedup();
        let notes = unused;
        Ok(Self { plan, cases, notes })
    }

    /// The seeds of a case, from that of its experiment on.
    pub(super) fn seeds(&self) -> Vec<u64> {
        let first = self.cases.first().map_or(1, |case| case.experiment.seed);
        (0..self.plan.seeds as u64).map(|more| first.wrapping_add(more)).collect()
    }

    /// A case in words, such as `network.nearest = 4, method.kind = gtv`; empty if there is one.
    #[must_use]
    pub fn named(&self, case: usize) -> String {
        named(&self.plan.vary, &self.cases[case].values)
    }
}

fn named(keys: &[SweptKey], values: &[String]) -> String {
    let pairs = keys.iter().zip(values).map(|(key, value)| format!("{} = {value}", key.key));
    pairs.collect::<Vec<_>>().join(", ")
}

/// All combinations of values, the last key's changing fastest.
fn combinations(keys: &[SweptKey]) -> Vec<Vec<&Value>> {
    let mut all: Vec<Vec<&Value>> = vec![Vec::new()];
    for key in keys {
        let mut longer = Vec::new();
        for known in &all {
            longer.extend(key.values.iter().map(|value| [&known[..], &[value]].concat()));
        }
        all = longer;
    }
    all
}

/// The case of some values, and what of its experiment is not used by them.
fn case(plan: &SweepPlan, values: &[&Value]) -> Result<(SweepCase, Vec<String>)> {
    let texts: Vec<String> = values.iter().map(|value| text(value)).collect();
    let here = named(&plan.vary, &texts);
    let said = |sentence: String| {
        Error::input(if here.is_empty() { sentence } else { format!("{here}: {sentence}") })
    };
    let mut table = plan.experiment.clone();
    let mut unused = Vec::new();
    let is_kind = |key: &str| ["method.kind", "model.kind"].contains(&key);
    let pairs = || plan.vary.iter().map(|key| key.key.as_str()).zip(values);
    // Kinds first: to choose one takes out keys of another, and must not take out what is varied.
    for (key, value) in pairs().filter(|(key, _)| is_kind(key)) {
        match (key, value.as_str()) {
            ("method.kind", Some(kind)) => {
                let left_out = MethodSection::choose(&mut table, kind);
                let sentence =
                    |key: &String| format!("{key} is not used with method.kind = {kind}.");
                unused.extend(left_out.iter().map(sentence));
            }
            ("model.kind", Some(kind)) => {
                let before = model_keys(&table);
                ModelSection::choose(&mut table, kind);
                let after = model_keys(&table);
                let left_out = before.iter().filter(|key| !after.contains(key));
                let sentence =
                    |key: &String| format!("{key} is not used with model.kind = {kind}.");
                unused.extend(left_out.map(sentence));
            }
            _ => Experiment::put(&mut table, key, (*value).clone()).map_err(said)?,
        }
    }
    for (key, value) in pairs().filter(|(key, _)| !is_kind(key)) {
        Experiment::put(&mut table, key, (*value).clone()).map_err(said)?;
    }
    let experiment = Experiment::from_table(table, "").map_err(|error| said(error.to_string()))?;
    if experiment.data.file.names().iter().any(|name| is_standard_input(name)) {
        return Err(Error::input(
            "a sweep reads its table more than once, so that it cannot be '-'; give a file",
        ));
    }
    Ok((SweepCase { values: texts, experiment }, unused))
}

/// The names of the keys that an experiment has for models.
fn model_keys(table: &toml::Table) -> Vec<String> {
    let keys = table.get("model").and_then(Value::as_table);
    keys.into_iter().flat_map(|keys| keys.keys()).map(|key| format!("model.{key}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(sets: &[&str]) -> Result<SweepPlan> {
        let text = "[data]\nfile = 'a.csv'\nnode = 'n'\ntarget = 'y'\n[network]\nfile = 'n.csv'\nnearest = 2\n\
                    coordinates = { x = 1.0 }\n[method]\nkind = 'fedrelax'\nalpha = 0.5\n";
        let experiment = Experiment::table_from_text(text, "here")?;
        let (title, base) = ("t".to_string(), PathBuf::new());
        let mut plan = SweepPlan { title, base, seeds: 3, vary: Vec::new(), experiment };
        sets.iter().try_for_each(|set| plan.set(set))?;
        Ok(plan)
    }

    #[test]
    fn cases_are_all_combinations_with_the_last_key_fastest() {
        let sweep = Sweep::new(
            plan(&["network.nearest=4,8", "seed=7", "method.kind=gtv,mixed,fedrelax"]).unwrap(),
        );
        let sweep = sweep.unwrap();
        let names: Vec<String> = (0..sweep.cases.len()).map(|case| sweep.named(case)).collect();
        assert_eq!(names[0], "network.nearest = 4, method.kind = gtv");
        assert_eq!(names[1], "network.nearest = 4, method.kind = mixed");
        assert_eq!(names[5], "network.nearest = 8, method.kind = fedrelax");
        assert_eq!(names.len(), 6);
        assert_eq!(sweep.seeds(), [7, 8, 9]);
        assert_eq!(sweep.cases[3].experiment.network.nearest, Some(8));
        // The strength of the file's method means nothing to the others, which is said.
        assert_eq!(
            sweep.notes,
            [
                "method.alpha is not used with method.kind = gtv.",
                "method.alpha is not used with method.kind = mixed."
            ]
        );
    }

    #[test]
    fn keys_of_models_that_another_kind_has_not_are_left_out_aloud() {
        let mut plan = plan(&["model.kind=tree,linear"]).unwrap();
        let own = "max_depth = 3\nkind = 'tree'\n".parse::<toml::Table>().unwrap();
        plan.experiment.insert("model".into(), own.into());
        let sweep = Sweep::new(plan).unwrap();
        assert_eq!(sweep.notes, ["model.max_depth is not used with model.kind = linear."]);
    }

    #[test]
    fn a_wrong_key_or_value_names_its_case() {
        for (sets, sentence) in [
            (
                &["network.nerest=4,8"][..],
                "network.nerest = 4: unknown key 'network.nerest'; did you mean 'network.nearest'?",
            ),
            (
                &["network.nearest=4,many"],
                "network.nearest = many: network.nearest is \"many\", expected a whole number",
            ),
            (
                &["seed=1,2"],
                "--set seed=1,2: seeds are no case of their own; give their number with --seeds",
            ),
            (
                &["network.nearest=4,8", "network.nearest=2"],
                "--set network.nearest is given twice, expected all its values in one list",
            ),
            (
                &["data.file=-"],
                "a sweep reads its table more than once, so that it cannot be '-'; give a file",
            ),
        ] {
            let found = plan(sets).and_then(Sweep::new).unwrap_err();
            assert_eq!(found.exit_code(), 2);
            assert!(found.to_string().starts_with(sentence), "{found}");
        }
    }

    #[test]
    fn a_plan_comes_back_from_its_folder() {
        let root = tempfile::tempdir().unwrap();
        let mut plan = plan(&["data.features=[\"x\"],[\"x\",\"z\"]"]).unwrap();
        plan.base = root.path().to_path_buf();
        let folder = root.path().join("sweeps/one");
        std::fs::create_dir_all(&folder).unwrap();
        let text = plan.to_text(&folder);
        assert!(text.contains("base = \"../..\"") && !text.contains("tmp"), "{text}");
        std::fs::write(folder.join("sweep.toml"), &text).unwrap();
        let again = SweepPlan::from_folder(&folder).unwrap();
        assert_eq!((&again.vary, &again.experiment), (&plan.vary, &plan.experiment));
        assert_eq!(again.to_text(&folder), text);
    }
}
