//! From a file, flags and `--set` to a checked experiment.

use std::{
    path::{Path, PathBuf},
    sync::OnceLock,
};

use serde_json::Value as Json;

use super::{
    Experiment, MethodSection, PublicKind, TaskKey, columns, files,
    keys::{self, Extent},
    lags, network, split,
};
use crate::{
    error::{Error, Result},
    wording::{in_plain_words, line_of},
};

/// How the names of tables end, compressed or not.
const TABLE_ENDINGS: [&str; 8] = ["csv", "tsv", "txt", "parquet", "arrow", "feather", "gz", "zst"];

/// Whether a file is a table by its name.
fn is_table(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending
        .is_some_and(|ending| TABLE_ENDINGS.iter().any(|known| known.eq_ignore_ascii_case(ending)))
}

impl Experiment {
    /// The JSON schema of experiment files.
    #[must_use]
    pub fn schema() -> &'static Json {
        // It is asked for whenever an experiment is read, and making it takes a millisecond.
        static SCHEMA: OnceLock<Json> = OnceLock::new();
        SCHEMA.get_or_init(|| schemars::schema_for!(Self).to_value())
    }

    /// Reads an experiment file as a table, to be overridden and then read.
    pub fn table_from_file(path: &Path) -> Result<toml::Table> {
        if is_table(path) {
            let name = path.display();
            return Err(Error::input(format!(
                "'{name}' is a table, where an experiment file (.toml) is expected; give a table with --data {name}"
            )));
        }
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error::file("read the experiment", path, &error))?;
        Self::table_from_text(&text, &path.display().to_string())
    }

    /// The table of an experiment file, the folder that its paths are relative to, and what messages
    /// call it; without a file an empty one.
    pub fn opened(path: Option<&Path>) -> Result<(toml::Table, PathBuf, String)> {
        let Some(path) = path else {
            return Ok((toml::Table::new(), PathBuf::new(), String::new()));
        };
        let base = path.parent().unwrap_or(Path::new("")).to_path_buf();
        Ok((Self::table_from_file(path)?, base, path.display().to_string()))
    }

    /// Reads an experiment from text.
    pub fn table_from_text(text: &str, source: &str) -> Result<toml::Table> {
        let mut table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let line = line_of(&error, text);
            Error::input(format!("{source}: line {line}: {}", in_plain_words(error.message())))
        })?;
        in_full(&mut table);
        keys::check(&table, source, Extent::NamesAndTypes)?;
        Ok(table)
    }

    /// Overrides one key, `a.b=c`; the value is TOML, or text if it is not.
    pub fn set(table: &mut toml::Table, assignment: &str) -> Result<()> {
        let wrong = || Error::input(format!("--set {assignment}: expected key.key=value"));
        let (path, value) = assignment.split_once('=').ok_or_else(wrong)?;
        let said = |sentence| Error::input(format!("--set {assignment}: {sentence}"));
        Self::put(table, path, Self::value_from_text(value)).map_err(said)
    }

    /// A value as `--set` has it: TOML, or text if it is not.
    #[must_use]
    pub fn value_from_text(text: &str) -> toml::Value {
        // A tab is a value, too.
        let text = if text.trim().is_empty() { text } else { text.trim() };
        let parsed = format!("value = {text}").parse::<toml::Table>();
        let parsed = parsed.ok().and_then(|mut table| table.remove("value"));
        parsed.unwrap_or_else(|| toml::Value::String(text.to_string()))
    }

    /// Puts a value in the place of a key `a.b`; refuses a key below one that holds a value.
    pub fn put(
        table: &mut toml::Table,
        path: &str,
        value: toml::Value,
    ) -> std::result::Result<(), String> {
        // The name that this key had before each file had its own.
        let path = if path.trim() == "data.delimiter" { "data.format.delimiter" } else { path };
        let names: Vec<&str> = path.split('.').map(str::trim).collect();
        let (last, parents) = names.split_last().expect("a split has a part");
        let mut place = table;
        for name in parents {
            let entry =
                place.entry(*name).or_insert_with(|| toml::Value::Table(toml::Table::new()));
            let inner = entry.as_table_mut();
            place = inner.ok_or_else(|| format!("'{name}' holds a value, not keys"))?;
        }
        place.insert((*last).to_string(), value);
        Ok(())
    }

    /// The checked experiment of a table; `source` is named in messages.
    pub fn from_table(mut table: toml::Table, source: &str) -> Result<Self> {
        // Once more, because flags and --set may have brought short forms.
        in_full(&mut table);
        keys::check(&table, source, Extent::All)?;
        let said = |sentence: String| {
            Error::input(if source.is_empty() { sentence } else { format!("{source}: {sentence}") })
        };
        network::check_candidates(&table).map_err(said)?;
        let is_alone =
            MethodSection::kind_in(&table).is_some_and(|kind| !kind.facts().uses_network);
        // Whoever trains without a network need not say that there is none.
        if is_alone && !table.contains_key("network") {
            let none =
                toml::Value::Table([("shape".to_string(), "none".into())].into_iter().collect());
            table.insert("network".into(), none);
        }
        for (section, flag) in
            [("data", "--data"), ("network", "--edges, --nearest, --shape or --learn")]
        {
            if !table.contains_key(section) {
                let sentence = format!("the section [{section}] is missing; give it, or {flag}");
                return Err(said(sentence));
            }
        }
        // Before the reader of TOML looks: it knows no flags.
        for (key, flag) in [("file", "--data"), ("node", "--node"), ("target", "--target")] {
            if table["data"].get(key).is_none() {
                return Err(said(format!("data.{key} is missing; give it, or {flag}")));
            }
        }
        let experiment: Self = toml::Value::Table(table)
            .try_into()
            .map_err(|error: toml::de::Error| said(in_plain_words(&error.to_string())))?;
        experiment.check().map_err(said)?;
        Ok(experiment)
    }

    fn check(&self) -> std::result::Result<(), String> {
        self.method.check()?;
        self.check_files()?;
        self.check_data()?;
        self.network.check()?;
        self.check_public()?;
        self.privacy.as_ref().map_or(Ok(()), |privacy| privacy.check(self))
    }

    fn check_files(&self) -> std::result::Result<(), String> {
        let (data, network, public) = (&self.data, &self.network, &self.public);
        if data.file.names().is_empty() {
            return Err("data.file is an empty list, expected a file".into());
        }
        data.format.check("data.format.")?;
        network.format.check("network.format.")?;
        network.edges_format.check("network.edges_format.")?;
        public.format.check("public.format.")?;
        let others = network.file.iter().chain(&network.edges).chain(&public.file);
        let mut all = data.file.names().iter().chain(others);
        // `any` stops behind the first that it finds, and the second search goes on from there.
        if all.by_ref().any(|name| files::is_standard_input(name))
            && all.any(|name| files::is_standard_input(name))
        {
            return Err("two tables are '-', but standard input is one; give a file".into());
        }
        Ok(())
    }

    fn check_data(&self) -> std::result::Result<(), String> {
        let (train, validation) = (self.data.train, self.data.validation);
        if self.data.split.is_some() && (train.is_some() || validation.is_some()) {
            return Err("data.split and data.train or data.validation exclude each other".into());
        }
        if let Some(split) = &self.data.split {
            split.check(self.data.time.as_ref())?;
        }
        self.check_lags()?;
        if train.is_none() && validation.is_some() {
            return Err("data.validation needs data.train".into());
        }
        for (key, share) in [("data.train", train), ("data.validation", validation)] {
            if let Some(share) = share.filter(|share| !(0.0..=1.0).contains(share)) {
                return Err(format!("{key} is {share}, expected a share between 0 and 1"));
            }
        }
        if train.unwrap_or(0.0) + validation.unwrap_or(0.0) > 1.0 {
            return Err("data.train and data.validation add up to more than 1".into());
        }
        for (name, keys) in &self.data.columns {
            keys.check(name)?;
        }
        self.check_known()?;
        self.check_classes()
    }

    fn check_lags(&self) -> std::result::Result<(), String> {
        let data = &self.data;
        if data.lags.is_empty() {
            return Ok(());
        }
        if data.time.is_none() {
            return Err("data.lags needs data.time, the column that orders rows".into());
        }
        if data.train.is_some() {
            return Err(
                "data.lags and data.train exclude each other, because rows that are drawn to test would be \
                 features of later rows that train; divide rows by time: data.split = { by = \"time\", train = \
                 0.6, validation = 0.2 }"
                    .into(),
            );
        }
        data.lags.iter().try_for_each(|(column, keys)| keys.check(column))
    }

    /// Refuses known parts of the target that no model can take.
    fn check_known(&self) -> std::result::Result<(), String> {
        let keys = &self.data;
        if keys.offset.is_some() && keys.exposure.is_some() {
            return Err(
                "data.offset and data.exposure exclude each other: an exposure is an offset of its \
                 logarithm"
                    .into(),
            );
        }
        let is_of_classes = keys.task == Some(TaskKey::Classification) || keys.classes.is_some();
        for (key, column) in [("offset", &keys.offset), ("exposure", &keys.exposure)] {
            if is_of_classes && column.is_some() {
                return Err(format!(
                    "data.{key} is for numbers and counts, and the target is of classes"
                ));
            }
        }
        if keys.task == Some(TaskKey::Regression) && keys.class_weights.is_some() {
            return Err("data.class_weights is for classes, and data.task is \"regression\"".into());
        }
        let columns = [
            ("node", Some(keys.node.as_str())),
            ("target", Some(keys.target.as_str())),
            ("split", keys.split_column()),
            ("weight", keys.weight.as_deref()),
            ("offset", keys.offset.as_deref()),
            ("exposure", keys.exposure.as_deref()),
        ];
        for (at, (key, column)) in columns.iter().enumerate().skip(3) {
            let is_same = |(_, other): &&(&str, Option<&str>)| column.is_some() && other == column;
            if let (Some((other, _)), Some(column)) = (columns[..at].iter().find(is_same), column) {
                return Err(format!(
                    "data.{key} and data.{other} are both '{column}', expected two columns"
                ));
            }
        }
        Ok(())
    }

    fn check_classes(&self) -> std::result::Result<(), String> {
        let Some(classes) = &self.data.classes else { return Ok(()) };
        if self.data.task == Some(TaskKey::Regression) {
            return Err("data.classes and data.task = \"regression\" exclude each other".into());
        }
        if classes.len() < 2 {
            return Err(format!("data.classes holds {}, expected at least two", classes.len()));
        }
        if classes.iter().any(String::is_empty) {
            return Err("data.classes holds an empty name, expected the names of classes".into());
        }
        match classes.iter().enumerate().find(|(at, name)| classes[..*at].contains(name)) {
            Some((_, name)) => {
                Err(format!("data.classes: '{name}' is listed twice, expected each once"))
            }
            None => Ok(()),
        }
    }

    fn check_public(&self) -> std::result::Result<(), String> {
        let public = &self.public;
        if public.kind == PublicKind::File && public.file.is_none() {
            return Err("public.kind = \"file\" needs public.file".into());
        }
        if public.kind == PublicKind::Columns && public.columns.is_none() {
            return Err("public.kind = \"columns\" needs public.columns".into());
        }
        if public.per_node && matches!(public.kind, PublicKind::File | PublicKind::Columns) {
            return Err("public.per_node needs public.kind = \"normal\" or \"box\"".into());
        }
        Ok(())
    }

    /// The complete experiment, defaults filled in, as a TOML file.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut table = toml::Table::try_from(self).expect("an experiment is plain values");
        split::in_short(&mut table);
        toml::to_string(&table).expect("an experiment is plain values")
    }
}

/// Writes all short forms in full.
fn in_full(table: &mut toml::Table) {
    network::in_full(table);
    columns::in_full(table);
    files::in_full(table);
    split::in_full(table);
    lags::in_full(table);
}
