//! What runs and nodes are called in reports, and numbers that can be told apart.

use crate::common::Folder;

const QUICK: [&str; 4] = ["--method", "fedrelax", "--alpha", "0.3"];

fn with_names(folder: &Folder) {
    let text = folder.read("nodes.csv");
    let names = ["", "Åbo", "<b>", "Kemi", "Kemi", "Ulvila"];
    let lines = text.lines().enumerate().map(|(row, line)| match row {
        0 => format!("{line},town,county\n"),
        _ => format!("{line},{},C{}\n", names[row - 1], row % 2),
    });
    folder.write("nodes.csv", lines.collect::<String>());
}

#[test]
fn nodes_are_called_by_columns_of_their_table() {
    let folder = Folder::new();
    with_names(&folder);
    let result =
        folder.fit("run", &[&QUICK[..], &["--no-compare", "--label", "town,county"]].concat());
    let labels: Vec<&str> = result["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["label"].as_str().unwrap())
        .collect();
    assert_eq!(labels, ["C1", "Åbo, C0", "<b>, C1", "Kemi, C0", "Kemi, C1", "Ulvila, C0"]);
    let page = folder.read("run/report.html");
    assert!(page.contains("Åbo, C0 <small>b</small>") && !page.contains("<b>"));
    // A node is found by its label, too, and called by both.
    let shown = folder.done(&["show", "run", "--node", "Kemi, C1"]);
    assert!(shown.starts_with("e (Kemi, C1) of experiment: linear model"), "{shown}");
    assert!(shown.contains("\nKemi, C0 ") && shown.contains("\nUlvila, C0 "), "{shown}");
    let one = folder.fit("one", &[&QUICK[..], &["--no-compare", "--label", "town"]].concat());
    // A gap is no label.
    assert_eq!((&one["nodes"][0]["label"], &one["nodes"][1]["label"]), (&().into(), &"Åbo".into()));
    let said = folder.refusal(&["show", "one", "--node", "Kemi"]);
    assert_eq!(
        said,
        "'Kemi' is the label of 2 nodes, 'd' and 'e' among them; give the name of one"
    );
}

#[test]
fn a_label_needs_a_table_of_nodes_with_that_column() {
    let folder = Folder::new();
    let said = folder.fit_refusal(&["--label", "town"]);
    assert!(said.contains("nodes.csv") && said.contains("no column 'town'"), "{said}");
    folder.edit("experiment.toml", "file = \"nodes.csv\"\n", "");
    let said = folder.fit_refusal(&["--label", "town"]);
    assert!(
        said.starts_with("network.label names columns of the table of nodes, and there is none")
    );
    let said = folder.fit_refusal(&["--set", "network.label=3"]);
    assert!(said.contains("label"), "{said}");
}

#[test]
fn a_title_heads_the_report_with_the_data_and_the_date() {
    let folder = Folder::new();
    let fit = ["fit", "experiment.toml", "--no-compare", "--quiet", "--title", "Six <towns>"];
    folder.done(&[&fit[..], &QUICK[..]].concat());
    // The folder keeps the name of the file, which is one that any system can have.
    let page = folder.read("runs/experiment/report.html");
    assert!(page.contains("<h1>Six &lt;towns&gt;</h1>"));
    assert!(page.contains("data: rows.csv · 20") && page.contains(" UTC</p>"));
    assert!(folder.read("runs/experiment/experiment.toml").contains("title = \"Six <towns>\""));
    assert!(folder.done(&["show", "runs/experiment"]).starts_with("Six <towns>: 6 nodes"));
}

#[test]
fn the_report_holds_the_cards_that_show_prints() {
    let folder = Folder::new();
    folder.fit("run", &[&QUICK[..], &["--set", "compare.shuffles=1"]].concat());
    let page = folder.read("run/report.html");
    let (_, rest) = page.split_once("id=\"data\">").unwrap();
    let data: serde_json::Value =
        serde_json::from_str(rest.split("</script>").next().unwrap()).unwrap();
    let card: serde_json::Value =
        serde_json::from_str(&folder.done(&["show", "run", "--node", "b", "--json"])).unwrap();
    let own = &data["nodes"][1];
    let methods: Vec<&serde_json::Value> =
        card["errors"].as_array().unwrap().iter().map(|one| &one["method"]).collect();
    assert_eq!(data["methods"].as_array().unwrap().iter().collect::<Vec<_>>(), methods);
    let texts = |of: &str| -> String {
        let all = card["coefficients"].as_array().unwrap().iter();
        let text = |one: &serde_json::Value| fedgrid_lab::number::perhaps(one[of].as_f64());
        all.map(text).collect::<Vec<_>>().join("|").replace('−', "-")
    };
    assert_eq!(
        (own["v"].as_str(), own["n"].as_str()),
        (Some(&*texts("value")), Some(&*texts("neighbours")))
    );
    assert_eq!(data["pooled"].as_str(), Some(&*texts("pooled")));
    assert_eq!(own["w"], "0 50.0|2 50.0");
    // Which rows, the error, how many columns are left out, and the columns by their places.
    let first = &card["importance"]["columns"][0];
    let columns = data["columns"].as_array().unwrap();
    let place = columns.iter().position(|name| *name == first["column"]).unwrap();
    let [rise, deviation] = ["rise", "deviation"]
        .map(|name| fedgrid_lab::number::significant(first[name].as_f64().unwrap()));
    let line = own["i"].as_str().unwrap();
    assert!(line.starts_with("2 validation rows|"), "{line}");
    let expected = format!("|0|{place};{rise};{deviation}|").replace('−', "-");
    assert!(format!("{line}|").contains(&expected), "{line}: {expected}");
}
