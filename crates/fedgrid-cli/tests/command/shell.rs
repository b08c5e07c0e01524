//! What a shell sees of the command: help, completions, manual pages, colours, progress, errors as JSON.

use std::{fs, process::Command};

use serde_json::Value;

use crate::common::{Folder, on_path, skipped};

#[test]
fn the_flags_of_fit_stand_under_headings() {
    let folder = Folder::empty();
    let help = folder.done(&["fit", "--help"]);
    let heading = |flag: &str| {
        let lines: Vec<&str> = help.lines().collect();
        let place = lines.iter().position(|line| line.trim_start().starts_with(flag)).unwrap();
        let above = lines[..place].iter().rev();
        let is_heading = |line: &&&str| line.ends_with(':') && !line.starts_with(' ');
        above.clone().find(is_heading).unwrap().trim_end_matches(':').to_string()
    };
    for (flag, expected) in [
        ("--data", "Table"),
        ("--node", "Table"),
        ("--delimiter", "Table"),
        ("--features", "Columns"),
        ("--nearest", "Network"),
        ("--learn", "Network"),
        ("--method", "Models and methods"),
        ("--alpha", "Models and methods"),
        ("--metric", "Comparison"),
        ("--quick", "Comparison"),
        ("--out", "Run"),
        ("--resume", "Run"),
        ("--set", "Run"),
        ("-q, --quiet", "General"),
        ("--json", "General"),
        ("--threads", "General"),
    ] {
        assert_eq!(heading(flag), expected, "{flag}");
    }
    let place = |heading: &str| help.find(&format!("\n{heading}:")).unwrap();
    let order =
        ["Table", "Columns", "Network", "Models and methods", "Comparison", "Run", "General"];
    let places: Vec<usize> = order.iter().map(|heading| place(heading)).collect();
    assert!(places.is_sorted(), "{help}");
}

#[test]
fn shells_complete_commands_and_flags() {
    let folder = Folder::empty();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = folder.done(&["completions", shell]);
        for word in ["sweep", "compare", "nearest", "threads"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    assert!(folder.refusal(&["completions", "tcsh"]).contains("tcsh"));
    if !on_path("bash") {
        return skipped("bash is not installed");
    }
    folder.write("fedgrid.bash", folder.done(&["completions", "bash"]));
    let asked = "source fedgrid.bash; COMP_WORDS=(fedgrid swe); COMP_CWORD=1; COMP_LINE='fedgrid swe'; \
                 _fedgrid fedgrid swe fedgrid; echo \"${COMPREPLY[@]}\"";
    let output =
        Command::new("bash").args(["-c", asked]).current_dir(folder.path("")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "sweep");
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = Folder::empty();
    folder.done(&["man", "--out", "pages"]);
    for (page, word) in [
        ("fedgrid", "sweep"),
        ("fedgrid-fit", "nearest"),
        ("fedgrid-sweep", "seeds"),
        ("fedgrid-network-build", "coordinates"),
    ] {
        let text = folder.read(&format!("pages/{page}.1"));
        assert!(text.contains(&format!(".TH {page} 1")), "{text}");
        assert!(text.contains(word) && text.contains(".SH NAME"), "{page}");
    }
    let sentence = folder.refusal(&["man", "--out", "pages"]);
    assert!(sentence.ends_with("exists: replace it with --force"), "{sentence}");
    let before = fs::read_dir(folder.path("pages")).unwrap().count();
    folder.done(&["man", "--out", "pages", "--force"]);
    assert_eq!(fs::read_dir(folder.path("pages")).unwrap().count(), before);
}

#[test]
fn with_json_an_error_is_one_object_on_standard_error() {
    let folder = Folder::new();
    for (arguments, message) in [
        (&["fit", "none.toml", "--json"][..], "cannot read the experiment 'none.toml'"),
        (&["--json", "fit", "experiment.toml", "--set", "seed=-1"], "seed is -1"),
        (
            &["fit", "--json", "--alhpa", "1"],
            "unexpected argument '--alhpa' found; did you mean --alpha?",
        ),
        (&["--json", "learn"], "unrecognized subcommand 'learn'"),
        (&["--json"], "'fedgrid' requires a subcommand but one was not provided; see --help"),
    ] {
        let answer = folder.run(arguments);
        assert_eq!((answer.code, answer.out.as_str()), (Some(2), ""), "{arguments:?}");
        assert_eq!(answer.err.lines().count(), 1, "{}", answer.err);
        let error: Value = serde_json::from_str(&answer.err).unwrap();
        assert_eq!(error["error"]["exit_code"], 2);
        let found = error["error"]["message"].as_str().unwrap();
        assert!(found.starts_with(message), "{found}");
    }
    // What stands behind -- is no flag.
    let answer = folder.run(&["fit", "--alhpa", "--", "--json"]);
    assert!(answer.err.starts_with("fedgrid: "), "{}", answer.err);
}

#[test]
fn colours_are_for_terminals_and_no_color_forbids_them() {
    let folder = Folder::new();
    let fit = |out: &str, variables: &[(&str, &str)]| {
        let arguments = ["fit", "experiment.toml", "--quick", "--out", out];
        let mut command = folder.command(&arguments);
        command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        let output = command.envs(variables.iter().copied()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(!fit("plain", &[]).contains('\u{1b}'));
    let coloured = fit("coloured", &[("CLICOLOR_FORCE", "1")]);
    assert!(coloured.contains("\u{1b}[33mWarning:\u{1b}[0m This is a first look"), "{coloured}");
    assert!(coloured.contains("\u{1b}[1mAt first look: "), "{coloured}");
    assert!(!fit("never", &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]).contains('\u{1b}'));
    let refused = |name: &str| {
        let mut command = folder.command(&["show", "nothing"]);
        command.env_remove("NO_COLOR").env(name, "1").env("CLICOLOR_FORCE", "1");
        String::from_utf8(command.output().unwrap().stderr).unwrap()
    };
    assert!(refused("CLICOLOR_FORCE").starts_with("\u{1b}[1;31mfedgrid:\u{1b}[0m "));
    assert!(refused("NO_COLOR").starts_with("fedgrid: "));
}

#[test]
fn lines_of_progress_count_steps_and_say_what_has_passed_and_is_left() {
    let folder = Folder::new();
    let answer = folder.run(&["fit", "experiment.toml", "--quick", "--method", "fedrelax"]);
    let lines: Vec<&str> = answer.err.lines().collect();
    let all = lines.len();
    for (at, line) in lines.iter().enumerate() {
        let pace = line.rsplit_once(" (").unwrap().1;
        let begin = format!("{} of {all}, ", at + 1);
        assert!(pace.starts_with(&begin), "{line}");
        assert_eq!(pace.ends_with(" left)"), at + 1 < all, "{line}");
    }
    assert!(lines[0].starts_with("local: "), "{}", lines[0]);
}

#[test]
fn a_bar_that_goes_on_counts_from_where_it_was() {
    if !on_path("script") {
        return skipped("script is not installed");
    }
    let folder = Folder::new();
    folder.fit("run", &["--method", "fedrelax"]);
    let metrics = folder.read("run/metrics.jsonl");
    // The first line is no step, and the models to keep are one without a line.
    let steps = metrics.lines().count();
    let kept: Vec<&str> = metrics.lines().take(4).collect();
    folder.write("run/metrics.jsonl", kept.join("\n") + "\n");
    fs::remove_file(folder.path("run/result.json")).unwrap();
    let command = format!("stty cols 100; {} fit run --resume", env!("CARGO_BIN_EXE_fedgrid"));
    let output = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .env("TERM", "xterm")
        .current_dir(folder.path(""))
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    let counts: Vec<usize> = shown
        .match_indices(&format!("/{steps}  "))
        .filter_map(|(at, _)| shown[..at].rsplit(' ').next()?.parse().ok())
        .collect();
    assert_eq!(counts.first(), Some(&3), "{shown}");
    assert!(counts.is_sorted() && shown.contains(" s"), "{shown}");
}
