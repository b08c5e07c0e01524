//! The order of modules: each uses only those listed above it in `lib.rs`.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The modules of a crate, in the order of its `lib.rs`.
fn modules(source: &Path) -> Vec<String> {
    let text = fs::read_to_string(source.join("lib.rs")).expect("every crate has a lib.rs");
    let name = |line: &str| line.strip_prefix("pub mod ")?.strip_suffix(';').map(String::from);
    text.lines().filter_map(name).collect()
}

/// The files of a module: its own, or all in its folder.
fn files(source: &Path, module: &str) -> Vec<PathBuf> {
    let single = source.join(format!("{module}.rs"));
    if single.exists() {
        return vec![single];
    }
    let mut found = Vec::new();
    let mut open = vec![source.join(module)];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("a module is a file or a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(path);
            }
        }
    }
    found
}

/// What a file uses of its crate outside of its tests and comments: `crate::x` and `crate::{x, …}`.
fn used(text: &str, modules: &[String]) -> Vec<String> {
    let code: String = text
        .split("#[cfg(test)]\nmod ")
        .next()
        .unwrap_or_default()
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n");
    let mut used = Vec::new();
    for (place, _) in code.match_indices("crate::") {
        let rest = &code[place + "crate::".len()..];
        let names = rest.strip_prefix('{').map_or_else(
            || vec![first_word(rest)],
            |group| top_level(group).into_iter().map(|item| first_word(&item)).collect(),
        );
        used.extend(names.into_iter().filter(|name| modules.contains(name)));
    }
    used
}

fn first_word(text: &str) -> String {
    text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// The items of a `{…}` group that are separated by commas of its own level.
fn top_level(group: &str) -> Vec<String> {
    let (mut depth, mut items) = (0, vec![String::new()]);
    for letter in group.chars() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => items.push(String::new()),
            _ => items.last_mut().expect("there is always an item").push(letter),
        }
    }
    items
}

/// All uses of a module that stands at or below the user in the list, other than the user itself.
fn backward_uses(source: &Path) -> Vec<String> {
    let modules = modules(source);
    assert!(modules.len() > 5, "lib.rs lists its modules");
    let mut backward = Vec::new();
    for (place, module) in modules.iter().enumerate() {
        for file in files(source, module) {
            let text = fs::read_to_string(&file).expect("a source file can be read");
            for name in used(&text, &modules) {
                if modules.iter().position(|other| *other == name) > Some(place) {
                    backward.push(format!("{} uses {name}", file.display()));
                }
            }
        }
    }
    backward
}

#[test]
fn a_module_uses_only_modules_listed_above_it() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("crates/ holds the crates");
    for name in ["fedgrid", "fedgrid-zenoh", "fedgrid-cli"] {
        let backward = backward_uses(&crates.join(name).join("src"));
        assert!(backward.is_empty(), "{}", backward.join("\n"));
    }
}

#[test]
fn a_backward_use_is_seen_in_every_form() {
    let modules = ["error", "data", "method"].map(String::from);
    let forms = [
        "use crate::method::FedRelax;",
        "use crate::{\n    error::{Error, Result},\n    method::{self, Local},\n};",
        "fn f() -> crate::method::Local { todo() }",
    ];
    for form in forms {
        assert!(used(form, &modules).contains(&"method".to_string()), "{form}");
    }
    assert!(
        used("// crate::method\n#[cfg(test)]\nmod tests { use crate::method; }", &modules)
            .is_empty()
    );
}

#[test]
fn the_core_does_no_input_or_output() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for module in modules(&source) {
        for file in files(&source, &module) {
            let text = fs::read_to_string(&file).expect("a source file can be read");
            for word in ["std::fs", "std::net", "std::io", "SystemTime", "Instant", "std::env"] {
                assert!(!text.contains(word), "{} names {word}", file.display());
            }
        }
    }
}
