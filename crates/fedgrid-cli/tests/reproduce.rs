//! The papers' figures: every value of a quick run lies in its band, and the files are there.

mod common;

use common::Folder;

#[test]
fn every_value_of_a_quick_run_lies_in_its_band_or_its_figure_says_why_not() {
    let folder = Folder::empty();
    folder.done(&["reproduce", "--all", "--quick", "--quiet", "--out", "figures"]);
    let result = folder.json("figures/result.json");
    let figures = result["figures"].as_array().unwrap();
    assert_eq!(figures.len(), 24);
    for figure in figures {
        let name = figure["name"].as_str().unwrap();
        let apart: Vec<_> = figure["values"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|value| value["agrees"] != true)
            .collect();
        let stated = figure["disagrees_because"].is_string();
        assert!(apart.is_empty() || stated, "{name}: {apart:#?}");
        let claims = figure["claims"].as_array().unwrap();
        assert!(claims.iter().all(|claim| claim["holds"] == true) || stated, "{name}: {claims:#?}");
        for ending in ["csv", "curves.csv", "svg"] {
            assert!(!folder.read(&format!("figures/{name}.{ending}")).is_empty());
        }
    }
    let page = folder.read("figures/index.html");
    assert_eq!(page.matches("<section").count(), 24);
    // Nothing is fetched: the only address is the name of SVG.
    assert_eq!(page.matches("://").count(), page.matches("http://www.w3.org/2000/svg").count());
}

#[test]
fn a_figure_has_the_same_bits_on_any_number_of_threads() {
    let folder = Folder::empty();
    for figure in ["your-data-my-model/fig6", "plug-in-and-learn/fig5b"] {
        let run = |threads: &str| {
            folder.done(&[
                "reproduce",
                figure,
                "--quick",
                "--quiet",
                "--force",
                "--threads",
                threads,
                "--out",
                threads,
            ]);
            folder.read(&format!("{threads}/{figure}.curves.csv"))
        };
        assert_eq!(run("1"), run("3"));
    }
}

#[test]
fn without_a_name_the_figures_are_listed_and_nothing_is_written() {
    let folder = Folder::empty();
    let list = folder.done(&["reproduce"]);
    assert_eq!(list.lines().count(), 24);
    assert!(list.contains("plug-in-and-learn/fig1a"));
    assert!(!folder.path("fedgrid-reproduce").exists());
}

#[test]
fn a_wrong_name_and_a_full_folder_are_refused() {
    let folder = Folder::empty();
    let message = folder.refusal(&["reproduce", "plug-in-and-learn/fig9"]);
    assert!(message.contains("there is no figure 'plug-in-and-learn/fig9'"), "{message}");
    folder.write("note.txt", "mine");
    let message =
        folder.refusal(&["reproduce", "your-data-my-model/fig6", "--quick", "--out", "."]);
    assert!(message.contains("is not empty"), "{message}");
    folder.write("own.toml", "paper = 3");
    let message = folder.refusal(&["reproduce", "own.toml"]);
    assert!(message.contains("own.toml"), "{message}");
}
