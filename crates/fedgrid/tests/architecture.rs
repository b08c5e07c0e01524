//! The order of modules: each uses only those listed above it in `lib.rs`; and inside of modules, how
//! many files all reach each other.
//!
//! Every file is read whole but for its tests and comments, private modules as well as public ones.
//! Paths are followed through `crate::`, `self::`, any number of `super::`, groups, and what a `mod.rs`
//! passes on from the files below it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// A module by the names on the way to it, such as `["compare", "tuning"]`.
type Module = Vec<String>;

/// One file of a crate.
struct Source {
    path: PathBuf,
    module: Module,
    /// Whether other files of its module lie in its folder.
    is_folder: bool,
    /// The code without tests and comments.
    code: String,
}

/// All files of a crate.
struct Crate {
    /// The top-level modules in the order of `lib.rs`.
    order: Vec<String>,
    sources: Vec<Source>,
    /// Where a name that a module passes on comes from.
    passed_on: BTreeMap<(Module, String), Module>,
}

impl Crate {
    fn read(root: &Path) -> Self {
        let lib = code(&fs::read_to_string(root.join("lib.rs")).expect("every crate has a lib.rs"));
        let order = lib.lines().filter_map(declared).collect();
        let mut sources = Vec::new();
        collect(root, &Module::new(), &mut sources);
        let mut crates = Self { order, sources, passed_on: BTreeMap::new() };
        crates.passed_on = crates.find_passed_on();
        crates
    }

    fn is_module(&self, module: &[String]) -> bool {
        self.sources.iter().any(|source| source.module == module)
    }

    fn find_passed_on(&self) -> BTreeMap<(Module, String), Module> {
        let mut found = BTreeMap::new();
        for source in self.sources.iter().filter(|source| source.is_folder) {
            for path in self.paths(source) {
                let Some((name, before)) = path.split_last() else { continue };
                if before.len() > source.module.len() && before.starts_with(&source.module) {
                    let child = before[..=source.module.len()].to_vec();
                    if self.is_module(&child) {
                        found.insert((source.module.clone(), name.clone()), child);
                    }
                }
            }
        }
        found
    }

    /// All paths that a file names, from the root of the crate.
    fn paths(&self, source: &Source) -> Vec<Vec<String>> {
        let mut found = Vec::new();
        for prefix in ["crate::", "self::", "super::"] {
            for (place, _) in source.code.match_indices(prefix) {
                let before = source.code[..place].chars().next_back();
                // In the middle of a longer path or word.
                if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                    continue;
                }
                let mut rest = &source.code[place..];
                let mut base = source.module.clone();
                if let Some(after) = rest.strip_prefix("crate::") {
                    (base, rest) = (Module::new(), after);
                } else {
                    rest = rest.strip_prefix("self::").unwrap_or(rest);
                    while let Some(after) = rest.strip_prefix("super::") {
                        base.pop();
                        rest = after;
                    }
                }
                expand(&base, rest, &mut found);
            }
        }
        // A module names the files below it without a prefix.
        if source.is_folder {
            for line in source.code.lines() {
                let line = line.trim_start();
                let Some(place) = line.find("use ") else { continue };
                let is_use = line[..place].is_empty() || line.starts_with("pub");
                let rest = &line[place + 4..];
                let first = [&source.module[..], &[word(rest)]].concat();
                if is_use && self.is_module(&first) {
                    let whole = &source.code[source.code.find(line).unwrap_or(0) + place + 4..];
                    expand(&source.module, whole, &mut found);
                }
            }
        }
        found
    }

    /// The file that a path leads to.
    fn target(&self, path: &[String]) -> Option<Module> {
        let deepest = (1..=path.len()).rev().find(|&length| self.is_module(&path[..length]))?;
        let (mut module, mut rest) = (path[..deepest].to_vec(), &path[deepest..]);
        while let Some((name, after)) = rest.split_first() {
            let Some(child) = self.passed_on.get(&(module.clone(), name.clone())) else { break };
            (module, rest) = (child.clone(), if after.is_empty() { rest } else { after });
            if after.is_empty() && !self.passed_on.contains_key(&(module.clone(), name.clone())) {
                break;
            }
        }
        Some(module)
    }

    /// The files that each file uses, by their places.
    fn uses(&self) -> Vec<BTreeSet<usize>> {
        let place = |module: &Module| self.sources.iter().position(|s| s.module == *module);
        let of = |(own, source): (usize, &Source)| {
            let targets = self.paths(source).into_iter().filter_map(|path| self.target(&path));
            targets.filter_map(|module| place(&module)).filter(|other| *other != own).collect()
        };
        self.sources.iter().enumerate().map(of).collect()
    }

    /// All uses of a module that stands below the user in the list.
    fn backward_uses(&self) -> Vec<String> {
        let rank = |place: usize| {
            let name = self.sources[place].module.first();
            self.order.iter().position(|listed| Some(listed) == name)
        };
        let mut backward = Vec::new();
        for (user, used) in self.uses().iter().enumerate() {
            for &other in used.iter().filter(|&&other| rank(other) > rank(user)) {
                let (user, other) = (&self.sources[user], &self.sources[other]);
                backward.push(format!("{} uses {}", user.path.display(), other.module.join("::")));
            }
        }
        backward
    }

    /// The largest set of files of each top-level module that all reach each other, without those that
    /// only hold a folder together.
    fn knots(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut reach = self.uses();
        let inside = |a: usize, b: usize| self.sources[a].module[0] == self.sources[b].module[0];
        for (user, used) in reach.iter_mut().enumerate() {
            used.retain(|&other| !self.sources[other].is_folder && inside(user, other));
        }
        for middle in 0..reach.len() {
            for user in 0..reach.len() {
                if reach[user].contains(&middle) && !self.sources[user].is_folder {
                    let further = reach[middle].clone();
                    reach[user].extend(further);
                }
            }
        }
        let mut knots: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (user, source) in self.sources.iter().enumerate().filter(|(_, s)| !s.is_folder) {
            let knot: BTreeSet<String> = (reach[user].iter())
                .filter(|&&other| reach[other].contains(&user))
                .map(|&other| self.sources[other].module.join("::"))
                .collect();
            let largest = knots.entry(source.module[0].clone()).or_default();
            if knot.len() > largest.len() {
                *largest = knot;
            }
        }
        knots.retain(|_, knot| knot.len() > 1);
        knots
    }
}

/// The name that a line declares as a module.
fn declared(line: &str) -> Option<String> {
    let line = line.trim_start();
    let line = line.strip_prefix("pub(crate) ").or(line.strip_prefix("pub ")).unwrap_or(line);
    line.strip_prefix("mod ")?.strip_suffix(';').map(String::from)
}

/// Reads the files below a folder, `lib.rs`, `main.rs` and modules of tests apart.
fn collect(folder: &Path, module: &Module, sources: &mut Vec<Source>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder of sources").flatten().map(|e| e.path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            collect(&path, &[&module[..], &[name]].concat(), sources);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).expect("a source file can be read");
            let is_folder = name == "mod" || folder.join(&name).is_dir();
            let of_tests = ["tests", "reference"].contains(&name.as_str());
            if ["lib", "main"].contains(&name.as_str()) && module.is_empty() || of_tests {
                continue;
            }
            let own = if name == "mod" { module.clone() } else { [&module[..], &[name]].concat() };
            sources.push(Source { path, module: own, is_folder, code: code(&text) });
        }
    }
}

/// A text without comments, and without what is compiled for tests only.
fn code(text: &str) -> String {
    let mut lines = text.lines().filter(|line| !line.trim_start().starts_with("//")).peekable();
    let mut kept = String::new();
    while let Some(line) = lines.next() {
        if line.trim() != "#[cfg(test)]" {
            kept += line;
            kept.push('\n');
            continue;
        }
        // The item after it: to its semicolon, or to the brace that closes it.
        let (mut depth, mut begun) = (0_i32, false);
        for line in lines.by_ref() {
            for letter in line.chars() {
                match letter {
                    '{' => (depth, begun) = (depth + 1, true),
                    '}' => depth -= 1,
                    _ => {}
                }
            }
            if depth == 0 && (begun || line.trim_end().ends_with(';')) {
                break;
            }
        }
    }
    kept
}

fn word(text: &str) -> String {
    text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// Adds the paths of `a::{b::C, d}` below a base.
fn expand(base: &[String], text: &str, found: &mut Vec<Vec<String>>) {
    let text = text.trim_start();
    if let Some(group) = text.strip_prefix('{') {
        for item in items(group) {
            expand(base, &item, found);
        }
        return;
    }
    let name = word(text);
    if name.is_empty() {
        return;
    }
    let rest = &text[name.len()..];
    let path = if name == "self" { base.to_vec() } else { [base, &[name]].concat() };
    match rest.strip_prefix("::") {
        Some(rest) if rest.trim_start().starts_with(|c: char| c.is_alphabetic() || c == '{') => {
            expand(&path, rest, found);
        }
        _ => found.push(path),
    }
}

/// The items of a `{…}` group that are separated by commas of its own level.
fn items(group: &str) -> Vec<String> {
    let (mut depth, mut items) = (0, vec![String::new()]);
    for letter in group.chars() {
        match letter {
            '}' if depth == 0 => break,
            ',' if depth == 0 => items.push(String::new()),
            letter => {
                depth += i32::from(letter == '{') - i32::from(letter == '}');
                items.last_mut().expect("there is always an item").push(letter);
            }
        }
    }
    items
}

fn crates() -> [(&'static str, Crate); 4] {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("crates/ holds the crates");
    ["fedgrid", "fedgrid-lab", "fedgrid-zenoh", "fedgrid-cli"]
        .map(|name| (name, Crate::read(&folder.join(name).join("src"))))
}

#[test]
fn a_module_uses_only_modules_listed_above_it() {
    for (name, found) in crates() {
        assert!(found.order.len() > 1, "{name}: lib.rs lists its modules");
        let backward = found.backward_uses();
        assert!(backward.is_empty(), "{}", backward.join("\n"));
    }
}

#[test]
fn no_more_than_three_files_of_a_module_all_reach_each_other() {
    let mut wrong = Vec::new();
    for (name, found) in crates() {
        for (module, knot) in found.knots() {
            let path = format!("{name}/{module}");
            if knot.len() > 3 {
                let files: Vec<String> = knot.iter().cloned().collect();
                wrong.push(format!("{path}: {} files: {}", knot.len(), files.join(", ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_use_is_seen_in_every_form() {
    let source = |module: &[&str], code: &str| Source {
        path: PathBuf::new(),
        module: module.iter().map(ToString::to_string).collect(),
        is_folder: false,
        code: self::code(code),
    };
    let seen = |text: &str| {
        let mut folder = source(&["method"], "pub use fedrelax::FedRelax;");
        folder.is_folder = true;
        let sources = vec![
            source(&["error"], ""),
            source(&["data", "deep"], text),
            folder,
            source(&["method", "fedrelax"], ""),
        ];
        let order = ["error", "data", "method"].map(String::from).to_vec();
        let mut found = Crate { order, sources, passed_on: BTreeMap::new() };
        found.passed_on = found.find_passed_on();
        found.backward_uses()
    };
    for form in [
        "use crate::method::FedRelax;",
        "use crate::{\n    error::{Error, Result},\n    method::{self, Local},\n};",
        "fn f() -> crate::method::Local { todo() }",
        "use super::super::method::Local;",
        "#[cfg(test)]\nmod tests {\n    fn f() {}\n}\nuse crate::method::Local;",
        "#[cfg(test)]\nmod tests;\nuse crate::method::Local;",
    ] {
        assert_eq!(seen(form).len(), 1, "{form}");
    }
    // Through what a folder passes on, down to the file.
    assert!(seen("use crate::method::FedRelax;")[0].ends_with("uses method::fedrelax"));
    let hidden = "// crate::method\n#[cfg(test)]\nmod tests {\n    use crate::method;\n}";
    assert!(seen(hidden).is_empty());
}

#[test]
fn the_core_does_no_input_or_output() {
    let [(_, core), ..] = crates();
    for source in &core.sources {
        for word in ["std::fs", "std::net", "std::io", "SystemTime", "Instant", "std::env"] {
            assert!(!source.code.contains(word), "{} names {word}", source.path.display());
        }
    }
}
