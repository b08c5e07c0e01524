//! The papers' figures: every value of a quick run lies in its band, and the files are there.

use crate::common::Folder;
use serde_json::Value;

/// The values of a quick run outside of their bands, and the sentences that do not hold; the page
/// says of each figure why.
const APART: [[&str; 2]; 4] = [
    ["plug-in-and-learn/fig4", "d 2, α 0.001 at 4"],
    ["plug-in-and-learn/fig4", "d 2, α 1 at 4"],
    ["networked-multi-task-learning/fig3", "norm2, σ 0.01 at 0.1"],
    ["persfl-active-sampling/fig2", "Algorithm 1 clearly outperforms IFCA, same step"],
];

#[test]
fn every_value_of_a_quick_run_lies_in_its_band_but_for_those_known() {
    let folder = Folder::empty();
    folder.done(&["reproduce", "--all", "--quick", "--quiet", "--out", "figures"]);
    let result = folder.json("figures/result.json");
    let figures = result["figures"].as_array().unwrap();
    assert_eq!(figures.len(), 24);
    let mut found: Vec<[String; 2]> = Vec::new();
    for figure in figures {
        let name = figure["name"].as_str().unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_string();
        let values = figure["values"].as_array().unwrap().iter();
        let apart = values
            .filter(|value| value["agrees"] != true)
            .map(|value| format!("{} at {}", text(&value["series"]), text(&value["at"])));
        let claims = figure["claims"].as_array().unwrap().iter();
        let wrong = claims.filter(|claim| claim["holds"] != true).map(|claim| text(&claim["says"]));
        let before = found.len();
        found.extend(apart.chain(wrong).map(|what| [name.to_string(), what]));
        assert!(found.len() == before || figure["disagrees_because"].is_string(), "{name}");
        for ending in ["csv", "curves.csv", "svg"] {
            assert!(!folder.read(&format!("figures/{name}.{ending}")).is_empty());
        }
    }
    assert_eq!(found, APART);
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
