//! Wrong input gets one sentence that says where and what would do, and leaves no trace.

use std::fs;

use crate::common::Folder;

/// The sentence after one change of the small experiment.
fn refusal_after(change: impl FnOnce(&Folder)) -> String {
    let folder = Folder::new();
    change(&folder);
    folder.fit_refusal(&[])
}

/// The sentence after another text in one cell of the table.
fn refusal_of_cell(row: usize, column: usize, cell: &str) -> String {
    refusal_after(|folder| folder.set_cell("rows.csv", row, column, cell))
}

/// The sentence with another table of edges.
fn refusal_of_edges(edges: &str) -> String {
    refusal_after(|folder| folder.write("edges.csv", format!("src,dst,weight\n{edges}")))
}

/// The sentence with one more line below a section of the experiment file.
fn refusal_of_line(section: &str, line: &str) -> String {
    refusal_after(|folder| {
        let lines = format!("{section}\n{line}");
        if folder.read("experiment.toml").contains(section) {
            folder.edit("experiment.toml", section, &lines);
        } else {
            folder.append("experiment.toml", &lines);
        }
    })
}

/// The sentence with one flag or setting.
fn refusal_of(arguments: &[&str]) -> String {
    Folder::new().fit_refusal(arguments)
}

/// The kinds of models, as messages list them.
const KINDS: &str = "linear, elastic-net, huber, quantile, poisson, logistic, \
                     graphical-lasso, tree, forest, extra-trees, boosting, neighbours, kernel-ridge, smoother, perceptron or \
                     constant";

#[test]
fn files_that_cannot_be_read_are_named() {
    let folder = Folder::new();
    assert_eq!(
        folder.refusal(&["fit", "no.toml", "--out", "run"]),
        "cannot read the experiment 'no.toml': there is no such file"
    );
    assert_eq!(
        folder.refusal(&["fit", ".", "--out", "run"]),
        "'.' is a folder, expected an experiment file; to continue an unfinished run there, add --resume"
    );
    assert_eq!(
        folder.fit_refusal(&["--data", "no.csv"]),
        "cannot read the table 'no.csv': there is no such file"
    );
    assert_eq!(
        folder.fit_refusal(&["--edges", "no.csv"]),
        "cannot read the table 'no.csv': there is no such file"
    );
    folder.write("experiment.toml", [0xff, 0xfe]);
    assert_eq!(
        folder.fit_refusal(&[]),
        "cannot read the experiment 'experiment.toml': it is not a text file (UTF-8)"
    );
}

#[test]
fn tables_without_rows_are_refused() {
    assert_eq!(
        refusal_after(|folder| folder.write("rows.csv", "")),
        "rows.csv is empty, expected a header and rows"
    );
    assert_eq!(
        refusal_after(|folder| folder.write("rows.csv", "node,x,z,y,split\n")),
        "rows.csv has a header but no row, expected rows below it"
    );
}

#[test]
fn a_delimiter_that_is_given_must_be_that_of_the_file() {
    let folder = Folder::new();
    folder.write("rows.csv", folder.read("rows.csv").replace(',', ";"));
    assert_eq!(
        folder.fit_refusal(&["--delimiter", ","]),
        "rows.csv has one column, 'node;x;z;y;split'; the delimiter looks like ';': leave out \
         data.format.delimiter, or set it to that"
    );
    folder.done(&["fit", "experiment.toml", "--no-compare", "--out", "run"]);
    assert_eq!(
        folder.refusal(&["predict", "run", "--data", "rows.csv", "--delimiter", ","]),
        "rows.csv has one column, 'node;x;z;y;split'; the delimiter looks like ';': leave out --delimiter, or set \
         it to that"
    );
}

#[test]
fn rows_and_headers_of_a_wrong_length_are_named() {
    assert_eq!(
        refusal_after(|folder| folder.append("rows.csv", "a,1,2\n")),
        "rows.csv: row 49 has 3 cells, expected 5 as in the header"
    );
    assert_eq!(
        refusal_of_cell(5, 4, "train,1"),
        "rows.csv: row 5 has 6 cells, expected 5 as in the header"
    );
    assert_eq!(
        refusal_of_cell(0, 2, "x"),
        "rows.csv: column 'x' appears twice; give one of them another name"
    );
}

#[test]
fn binary_files_are_no_tables() {
    assert_eq!(
        refusal_after(|folder| folder.write("rows.csv", b"node,x\n\xff\x00\x01,1\n")),
        "rows.csv is not a text file (UTF-8, UTF-16 or Latin-1)"
    );
    let folder = Folder::new();
    folder.write("rows.parquet", folder.read("rows.csv"));
    assert_eq!(
        folder.fit_refusal(&["--data", "rows.parquet"]),
        "rows.parquet is not a whole Parquet file: invalid parquet file, corrupt footer"
    );
    folder.write("rows.parquet", "");
    assert_eq!(
        folder.fit_refusal(&["--data", "rows.parquet"]),
        "rows.parquet is empty, expected a Parquet file"
    );
}

#[test]
fn missing_columns_are_named_with_the_nearest_one() {
    let cases = [
        ("data.node=nod", "nodes.csv: there is no column 'nod'; did you mean 'node'?"),
        ("data.target=yy", "rows.csv: there is no column 'yy'; did you mean 'y'?"),
        ("data.features=['x', 'zz']", "rows.csv: there is no column 'zz'; did you mean 'z'?"),
        ("data.split=splt", "rows.csv: there is no column 'splt'; did you mean 'split'?"),
        (
            "data.target=humidity",
            "rows.csv: there is no column 'humidity'; known are node, x, z, y, split",
        ),
    ];
    for (assignment, sentence) in cases {
        assert_eq!(refusal_of(&["--set", assignment]), sentence);
    }
    assert_eq!(
        refusal_after(|folder| folder.edit("rows.csv", "node,", "station,")),
        "rows.csv: there is no column 'node'; known are station, x, z, y, split"
    );
    assert_eq!(
        refusal_after(|folder| folder.edit("edges.csv", "src", "from")),
        "edges.csv: there is no column 'src'; known are from, dst, weight"
    );
}

#[test]
fn features_are_other_columns_each_once() {
    assert_eq!(
        refusal_of(&["--features", "x,x"]),
        "data.features: 'x' is listed twice, expected each once"
    );
    assert_eq!(
        refusal_of(&["--features", "x,y"]),
        "data.features: 'y' is already the node, the target or the split"
    );
    assert_eq!(
        refusal_after(|folder| folder.write("rows.csv", "node,y,split\na,1,train\nb,2,train\n")),
        "rows.csv: there is no feature besides node, target and split, expected one"
    );
}

#[test]
fn cells_that_are_no_finite_numbers_are_named() {
    let cases = [
        ("warm", "rows.csv: row 4, column 'x' is 'warm', expected a number"),
        ("-inf", "rows.csv: row 4, column 'x' is -inf, expected a finite number"),
        ("1e60", "rows.csv: row 4, column 'x' is 1e60, expected a number of size 1e50 at most"),
    ];
    for (cell, sentence) in cases {
        assert_eq!(refusal_of_cell(4, 1, cell), sentence);
    }
    assert_eq!(
        refusal_of_cell(7, 3, ""),
        "rows.csv: row 7, column 'y' is empty, expected a number; fill it in, or leave such rows out by \
         --set data.columns.y.missing=drop"
    );
    // Which does so whatever the rule of features is; gaps of targets are not filled.
    let folder = Folder::new();
    let rows = folder.read("rows.csv");
    let mut lines: Vec<String> = rows.lines().map(String::from).collect();
    let mut cells: Vec<&str> = lines[7].split(',').collect();
    cells[3] = "";
    lines[7] = cells.join(",");
    folder.write("rows.csv", lines.join("\n") + "\n");
    let fit =
        ["fit", "experiment.toml", "--no-compare", "--set", "data.missing=mean", "--out", "run"];
    let dropped = folder.done(&[&fit[..], &["--set", "data.columns.y.missing=drop"]].concat());
    assert!(dropped.contains("1 row"), "{dropped}");
    let filled = ["--force", "--set", "data.columns.y.missing=mean"];
    let refused = folder.refusal(&[&fit[..], &filled].concat());
    assert!(
        refused.contains("'y' is the node, the target or the split, expected a feature"),
        "{refused}"
    );
}

#[test]
fn one_wrong_cell_does_not_drop_a_feature_in_silence() {
    let folder = Folder::new();
    folder.set_cell("rows.csv", 4, 1, "warm");
    let by_default = folder.fit_refusal(&[]);
    assert_eq!(by_default, folder.fit_refusal(&["--features", "x,z"]));
}

#[test]
fn rows_of_unknown_nodes_are_named() {
    assert_eq!(
        refusal_of_cell(9, 0, "q"),
        "rows.csv: row 9, column 'node' is 'q', which is not a node of the network; \
         known are a, b, c, d, e, f; add it there, or leave such rows out by --set data.unknown_nodes=drop"
    );
    assert_eq!(
        refusal_of_cell(9, 0, ""),
        "rows.csv: row 9, column 'node' is empty, expected a name; or leave such rows out by \
         --set data.unknown_nodes=drop"
    );
}

#[test]
fn rows_of_unknown_nodes_can_be_left_out() {
    let folder = Folder::new();
    let lines = folder.read("rows.csv").lines().count() - 1;
    let without =
        folder.fit("without", &["--no-compare", "--method", "fedrelax", "--alpha", "0.1"]);
    let mut rows = folder.read("rows.csv");
    // Names that no node has, and none at all.
    rows += "q,0.5,0.5,1.5,train\nr,0.5,0.5,1.5,train\n,0.5,0.5,1.5,train\n";
    folder.write("rows.csv", rows);
    let drop = ["--set", "data.unknown_nodes=drop"];
    let flags = ["--no-compare", "--method", "fedrelax", "--alpha", "0.1"];
    let with = folder.fit("with", &[&flags[..], &drop].concat());
    assert_eq!(with["nodes"], without["nodes"]);
    let said = format!(
        "Left out for nodes that the network does not have ('', 'q', 'r'): 3 rows of {}.",
        lines + 3
    );
    assert!(
        with["notes"].as_array().unwrap().iter().any(|note| *note == said),
        "{}",
        with["notes"]
    );
    // A table without any other row is refused.
    folder.write("rows.csv", "node,x,z,y,split\nq,0.5,0.5,1.5,train\n");
    let refusal = folder.fit_refusal(&drop);
    assert!(refusal.contains("none is of a node of the network"), "{refusal}");
}

#[test]
fn roles_are_train_val_or_test_and_some_row_trains() {
    assert_eq!(
        refusal_of_cell(3, 4, "dev"),
        "rows.csv: row 3, column 'split' is 'dev', expected train, val or test"
    );
    let without_training = |folder: &Folder| {
        folder.write("rows.csv", folder.read("rows.csv").replace("train", "test"));
    };
    assert_eq!(
        refusal_after(without_training),
        "rows.csv: column 'split' has no row for training, expected some 'train'"
    );
    let folder = Folder::new();
    folder.edit("experiment.toml", "split = \"split\"", "train = 0");
    assert_eq!(
        folder.fit_refusal(&["--features", "x"]),
        "rows.csv: data.train is 0, expected a larger share"
    );
}

#[test]
fn wrong_edges_are_named_by_their_row() {
    let cases = [
        ("a,b,1\nb,c,1\na,b,2\n", "row 3 repeats the edge a – b of row 1, expected each once"),
        ("a,b,1\nb,c,1\nb,a,2\n", "row 3 repeats the edge b – a of row 1, expected each once"),
        ("a,b,1\nc,c,1\n", "row 2, column 'dst' is 'c', the same node as src, expected another"),
        ("a,b,-1\n", "row 1, column 'weight' is -1, expected a positive number"),
        ("a,b,0\n", "row 1, column 'weight' is 0, expected a positive number"),
        ("a,b,NaN\n", "row 1, column 'weight' is NaN, expected a finite number"),
        ("a,b,heavy\n", "row 1, column 'weight' is 'heavy', expected a number"),
        (
            "a,b,1\nb,q,1\n",
            "row 2, column 'dst' is 'q', which is not a node of the network; \
             known are a, b, c, d, e, f",
        ),
    ];
    for (edges, sentence) in cases {
        assert_eq!(refusal_of_edges(edges), format!("edges.csv: {sentence}"));
    }
}

#[test]
fn a_node_listed_twice_is_named() {
    assert_eq!(
        refusal_after(|folder| folder.set_cell("nodes.csv", 2, 0, "a")),
        "nodes.csv: row 2, column 'node' is 'a', which is listed above, expected each node once"
    );
}

#[test]
fn a_pull_is_zero_or_more_wherever_it_is_given() {
    let sentence = "method.alpha is -1, expected zero or more, or \"auto\"";
    let relax = ["--method", "fedrelax"];
    let refusal_of = |more: &[&str]| refusal_of(&[&relax, more].concat());
    assert_eq!(refusal_of(&["--alpha", "-1"]), sentence);
    assert_eq!(refusal_of(&["--set", "method.alpha=-1"]), sentence);
    assert_eq!(
        refusal_of_line("[method]", "kind = \"fedrelax\"\nalpha = -1"),
        format!("experiment.toml: {sentence}")
    );
    let sentence = "method.alpha is NaN, expected zero or more, or \"auto\"";
    assert_eq!(refusal_of(&["--alpha", "nan"]), sentence);
    assert_eq!(
        refusal_of_line("[method]", "kind = \"fedrelax\"\nalpha = nan"),
        format!("experiment.toml: {sentence}")
    );
    assert_eq!(
        refusal_of(&["--alpha", "much"]),
        "method.alpha is \"much\", expected a number or \"auto\""
    );
}

#[test]
fn other_strengths_have_their_ranges() {
    let cases = [
        ("model.ridge=-1", "model.ridge is -1, expected zero or more, or \"auto\""),
        ("model.nodes.a.ridge=-1", "model.nodes.a.ridge is -1, expected zero or more, or \"auto\""),
        (
            "model.nodes.a.ridge=nan",
            "model.nodes.a.ridge is NaN, expected zero or more, or \"auto\"",
        ),
        (
            "model.nodes.a={kind=\"tree\",min_leaf_weight=2}",
            "model.nodes.a.min_leaf_weight is 2, expected zero to one half",
        ),
        ("method.relaxation=2", "method.relaxation is 2, expected a number between zero and two"),
        ("method.threshold=0", "method.threshold is 0, expected a positive number"),
        ("method.step_size=-1", "method.step_size is -1, expected a positive number"),
        ("method.clip=-1", "method.clip is -1, expected zero or more"),
        ("method.rounds=0", "method.rounds is 0, expected at least 1"),
        ("data.folds=1", "data.folds is 1, expected at least 2"),
        ("public.points=0", "public.points is 0, expected at least 1"),
        ("data.train=0.5", "data.split and data.train or data.validation exclude each other"),
    ];
    for (assignment, sentence) in cases {
        assert_eq!(refusal_of(&["--method", "fedrelax", "--set", assignment]), sentence);
    }
}

#[test]
fn flags_choose_kinds_and_values_before_those_of_a_file_are_judged() {
    let folder = Folder::new();
    folder.append(
        "experiment.toml",
        "[model]\nmax_depth = 2\n[method]\npenalty = \"norm\"\nrounds = 0\n",
    );
    let chosen = ["--model", "tree", "--set", "method.kind=gtv", "--set", "method.rounds=3"];
    let refused = folder.fit_refusal(&chosen);
    assert!(refused.contains("\"gtv\", which couples weights, and the tree model"), "{refused}");
    assert!(folder.fit_refusal(&chosen[2..]).contains("model.max_depth is 2, but kind \"linear\""));
    assert!(folder.fit_refusal(&chosen[..4]).contains("method.rounds is 0, expected at least 1"));
}

#[test]
fn unknown_keys_and_sections_are_named_with_what_is_known() {
    let folder = Folder::new();
    folder.append("experiment.toml", "[method]\nalhpa = 1\n");
    assert_eq!(
        folder.fit_refusal(&[]),
        "experiment.toml: unknown key 'method.alhpa'; did you mean 'method.alpha'?"
    );
    assert_eq!(
        refusal_of(&["--set", "method.alhpa=1"]),
        "unknown key 'method.alhpa'; did you mean 'method.alpha'?"
    );
    assert_eq!(
        refusal_of_line("[quantum]", "bits = 1"),
        "experiment.toml: unknown key 'quantum'; \
         known are title, seed, data, network, model, method, public, compare, privacy, federation"
    );
    assert_eq!(
        refusal_of_line("[models]", "kind = \"tree\""),
        "experiment.toml: unknown key 'models'; did you mean 'model'?"
    );
}

#[test]
fn values_of_a_wrong_type_are_named_without_words_of_the_program() {
    let cases = [
        ("seed=x", "seed is \"x\", expected a whole number, zero or more"),
        ("seed=-1", "seed is -1, expected a whole number, zero or more"),
        ("seed=1.5", "seed is 1.5, expected a whole number, zero or more"),
        ("model.kind=lineer", &format!("model.kind is \"lineer\", expected {KINDS}")),
        ("model.kind=3", &format!("model.kind is 3, expected {KINDS}")),
        ("model=3", "model is 3, expected a section with keys"),
        ("model.nodes.a=tree", "model.nodes.a is \"tree\", expected a section with keys"),
        ("method.hub=much", "method.hub is \"much\", expected a number"),
        (
            "data.standardise=true",
            "data.standardise is gone: every study scales features by their training rows now, and no unit changes \
             a result; delete this key",
        ),
        ("data.target=3", "data.target is 3, expected text"),
        ("data.delimiter=ab", "data.format.delimiter is \"ab\", expected one character"),
        (
            "data.features=x",
            "data.features is \"x\", expected a list of names, such as [\"a\", \"b\"]",
        ),
        ("data.task=guess", "data.task is \"guess\", expected regression, classification or auto"),
        (
            "network.shape=cube",
            "network.shape is \"cube\", expected complete, ring, path, star or none",
        ),
    ];
    for (assignment, sentence) in cases {
        assert_eq!(refusal_of(&["--method", "fedrelax", "--set", assignment]), sentence);
    }
    let folder = Folder::new();
    folder.edit("experiment.toml", "[data]", "seed = \"x\"\n[data]");
    assert_eq!(
        folder.fit_refusal(&[]),
        "experiment.toml: seed is \"x\", expected a whole number, zero or more"
    );
    assert_eq!(refusal_of(&["--set", "seed"]), "--set seed: expected key.key=value");
}

#[test]
fn wrong_arguments_get_one_sentence() {
    let folder = Folder::new();
    let cases: [(&[&str], &str); 6] = [
        (&["fit", "--seed", "x"], "'x' does not fit --seed <NUMBER>; see --help"),
        (&["predict", "run"], "--data <FILE>... is missing; see --help"),
        (&["export", "run"], "--out <FILE_OR_FOLDER> is missing; see --help"),
        (&["fit", "--colour"], "unexpected argument '--colour' found; see --help"),
        (&["fitt"], "unrecognized subcommand 'fitt'; did you mean fit?"),
        (
            &["fit", "--force", "--resume"],
            "the argument '--force' cannot be used with '--resume'; see --help",
        ),
    ];
    for (arguments, sentence) in cases {
        assert_eq!(folder.refusal(arguments), sentence);
    }
}

#[test]
fn broken_toml_is_named_by_its_line() {
    assert_eq!(
        refusal_of_line("[network]", "file = \"other.csv\""),
        "experiment.toml: line 9: duplicate key"
    );
    assert_eq!(
        refusal_after(|folder| folder.edit("experiment.toml", "[network]", "[network")),
        "experiment.toml: line 7: unclosed table, expected `]`"
    );
    assert_eq!(
        refusal_after(|folder| folder.edit("experiment.toml", "\"rows.csv\"", "\"rows.csv")),
        "experiment.toml: line 2: invalid basic string, expected `\"`"
    );
}

#[test]
fn missing_keys_are_named_with_their_flags() {
    let folder = Folder::new();
    let begin = ["fit", "--out", "run", "--data", "rows.csv"];
    let cases: [(&[&str], &str); 4] = [
        (&["--target", "y", "--shape", "ring"], "data.node is missing; give it, or --node"),
        (&["--node", "node", "--shape", "ring"], "data.target is missing; give it, or --target"),
        (
            &["--node", "node", "--target", "y"],
            "the section [network] is missing; give it, or --edges, --nearest, --shape or --learn",
        ),
        (
            &["--node", "node", "--target", "y", "--nodes", "nodes.csv"],
            "[network] needs one of nearest, edges, shape, learn",
        ),
    ];
    for (arguments, sentence) in cases {
        assert_eq!(folder.refusal(&[&begin, arguments].concat()), sentence);
    }
    assert_eq!(
        folder.refusal(&["fit", "--out", "run"]),
        "the section [data] is missing; give it, or --data"
    );
    assert!(!folder.path("run").exists());
}

#[test]
fn networks_are_given_in_one_way_with_what_it_needs() {
    assert_eq!(
        refusal_of(&["--shape", "ring", "--learn"]),
        "[network] has more than one of nearest, edges, shape, learn; list them in network.candidates to choose"
    );
    let folder = Folder::new();
    let by_coordinates = |coordinates: &str| {
        let network = ["--nodes", "nodes.csv", "--nearest", "2", "--coordinates", coordinates];
        let rows = ["fit", "--out", "run", "--data", "rows.csv", "--node", "node", "--target", "y"];
        folder.refusal(&[&rows[..], &network[..]].concat())
    };
    assert_eq!(by_coordinates("lon=far"), "network.coordinates.lon is \"far\", expected a number");
    assert_eq!(
        by_coordinates("lon=nan"),
        "network.coordinates.lon is NaN, expected a positive number"
    );
    assert_eq!(by_coordinates("lan=1"), "nodes.csv: there is no column 'lan'; did you mean 'lon'?");
}

#[test]
fn folders_that_cannot_be_made_are_named() {
    let folder = Folder::new();
    assert_eq!(
        folder.refusal(&["fit", "experiment.toml", "--out", "rows.csv/run"]),
        "cannot make 'rows.csv/run': a part of its path is a file; give another folder with --out"
    );
    assert_eq!(
        folder.refusal(&["demo", "--out", "rows.csv/run"]),
        "cannot make 'rows.csv/run': a part of its path is a file; give another folder with --out"
    );
    if cfg!(target_os = "linux") {
        assert_eq!(
            folder.refusal(&["fit", "experiment.toml", "--out", "/proc/fedgrid"]),
            "cannot make '/proc/fedgrid': no folder can be made there; give another folder with --out"
        );
    }
}

#[test]
fn an_earlier_run_is_not_overwritten() {
    let folder = Folder::new();
    folder.fit("run", &[]);
    let before = folder.read("run/result.json");
    assert_eq!(
        folder.refusal(&["fit", "experiment.toml", "--out", "run", "--seed", "2"]),
        "'run' exists: replace it with --force, or give another folder with --out"
    );
    assert_eq!(
        folder.refusal(&["fit", "experiment.toml", "--out", "run", "--resume"]),
        "'run' holds no unfinished run; begin one without --resume"
    );
    assert_eq!(folder.read("run/result.json"), before);
}

#[test]
fn foreign_folders_are_never_replaced() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("thesis/models")).unwrap();
    folder.write("thesis/models/chapter.txt", "years of work");
    // Other programs write files of this name too.
    folder.write("thesis/metrics.jsonl", "{\"loss\": 1}\n");
    assert_eq!(
        folder.refusal(&["fit", "experiment.toml", "--out", "thesis", "--force"]),
        "'thesis' is not the folder of a run; --force replaces only runs, give another folder with --out"
    );
    assert_eq!(
        folder.refusal(&["fit", "experiment.toml", "--out", "thesis"]),
        "'thesis' exists and is not the folder of a run; give another folder with --out"
    );
    assert_eq!(
        folder.refusal(&["demo", "--out", "thesis", "--force"]),
        "'thesis' is not the folder of a run; --force replaces only runs, give another folder with --out"
    );
    assert_eq!(folder.read("thesis/models/chapter.txt"), "years of work");
    assert_eq!(fs::read_dir(folder.path("thesis")).unwrap().count(), 2);
}

#[test]
fn models_of_unknown_nodes_are_named() {
    assert_eq!(
        refusal_of(&["--set", "model.nodes.q.kind=tree"]),
        "model.nodes: 'q' is not a node of the network; known are a, b, c, d, e, f"
    );
    assert_eq!(
        refusal_of(&["--set", "model.nodes.ab.kind=tree"]),
        "model.nodes: 'ab' is not a node of the network; did you mean 'a'?"
    );
}

#[test]
fn models_that_do_not_fit_the_target_are_refused() {
    let folder = Folder::with_classes();
    assert_eq!(
        folder.fit_refusal(&["--model", "linear", "--set", "data.task=classification"]),
        "model.kind = \"linear\" predicts numbers; use logistic or tree for classes"
    );
    assert_eq!(
        folder.fit_refusal(&["--set", "model.nodes.b.kind=linear"]),
        "model.nodes.b.kind = \"linear\" predicts numbers; use logistic or tree for classes"
    );
    assert_eq!(
        folder.fit_refusal(&["--model", "linear"]),
        "rows.csv: column 'y' holds text, and model.kind = \"linear\" predicts numbers only; for classes use --model logistic, or another that predicts them"
    );
    assert_eq!(
        Folder::new().fit_refusal(&["--model", "logistic", "--set", "data.task=regression"]),
        "model.kind = \"logistic\" predicts classes; use linear or tree for numbers"
    );
}

#[test]
fn methods_that_do_not_fit_the_target_or_the_models_are_refused() {
    let folder = Folder::with_classes();
    let set = |assignment: &'static str| ["--method", "fedrelax", "--set", assignment];
    assert_eq!(
        folder.fit_refusal(&set("method.coupling=symmetric")),
        "method.coupling is \"symmetric\", expected \"one-sided\" for classes"
    );
    assert_eq!(
        folder.fit_refusal(&set("method.relaxation=1.5")),
        "method.relaxation is 1.5, expected at most one for classes"
    );
    assert_eq!(
        folder.fit_refusal(&set("method.discrepancy=huber")),
        "method.discrepancy compares numbers, \
         expected auto, cross-entropy or kullback-leibler for classes"
    );
    assert_eq!(
        refusal_of(&set("method.discrepancy=kullback-leibler")),
        "method.discrepancy compares classes, expected auto, squared, absolute or huber for numbers"
    );
    assert_eq!(
        refusal_of(&[&set("method.step=descend")[..], &["--model", "tree"]].concat()),
        "method.step is \"descend\", expected refit or distil for the tree model of node 'a'"
    );
}

#[test]
fn shapes_need_enough_nodes() {
    let folder = Folder::new();
    folder.write("one.csv", "node\na\n");
    let shape = ["network", "show", "--shape", "ring"];
    assert_eq!(
        folder.refusal(&[&shape[..], &["--nodes", "one.csv"]].concat()),
        "network.shape needs three or more nodes, found 1"
    );
    assert_eq!(folder.refusal(&shape), "a shape needs nodes; give network.file, or --nodes");
}

#[test]
fn a_wrong_key_that_begins_a_line_is_found_in_that_line() {
    let folder = Folder::new();
    let new = "federation new experiment.toml --sites sites.toml --out home --set method.kind=fedrelax --set \
               method.alpha=0.5";
    let new: Vec<&str> = new.split_whitespace().collect();
    folder.write(
        "sites.toml",
        "[[site]]\nname = \"ann\"\nnodes = [\"a\"]\n\nadress = \"10.0.0.1:7447\"\n",
    );
    assert_eq!(
        folder.refusal(&new),
        "sites.toml, line 5: unknown key 'adress'; known are name, address, nodes"
    );
    folder.append("experiment.toml", "= 3\n");
    let line = folder.read("experiment.toml").lines().count();
    let refusal = folder.refusal(&new);
    assert!(refusal.starts_with(&format!("experiment.toml: line {line}: ")), "{refusal}");
}

#[test]
fn a_cell_of_several_lines_is_quoted_in_one() {
    assert_eq!(
        refusal_of_cell(3, 4, "\"for\nlater\""),
        "rows.csv: row 3, column 'split' is 'for later', expected train, val or test"
    );
}

#[test]
fn classes_are_at_least_two_and_fewer_than_rows() {
    let folder = Folder::with_classes();
    folder.write("rows.csv", folder.read("rows.csv").replace("warm", "cold"));
    assert_eq!(
        folder.fit_refusal(&[]),
        "rows.csv: column 'y' holds one class, 'cold', expected at least two"
    );
    assert_eq!(
        refusal_of(&["--model", "logistic"]),
        "rows.csv: column 'y' holds 48 classes in 48 rows, expected fewer; \
         use linear or tree for numbers"
    );
}

#[test]
fn public_points_that_are_not_there_are_named() {
    assert_eq!(
        refusal_of(&["--set", "public.kind=columns", "--set", "public.columns=['xx']"]),
        "public.columns: 'xx' is not a feature; did you mean 'x'?"
    );
    assert_eq!(
        refusal_of(&["--set", "public.kind=file"]),
        "public.kind = \"file\" needs public.file"
    );
}

#[test]
fn rows_that_no_model_can_predict_are_named() {
    let folder = Folder::new();
    folder.fit("run", &[]);
    let predict = ["predict", "run", "--data", "rows.csv", "--out", "predictions.csv"];
    let predict = [&predict[..], &["--unknown", "refuse"]].concat();
    folder.set_cell("rows.csv", 9, 0, "q");
    assert_eq!(
        folder.refusal(&predict),
        "rows.csv: row 9, column 'node' is 'q', which is not a node of the run; \
         known are a, b, c, d, e, f"
    );
    folder.edit("rows.csv", "node,x,z", "node,x,zz");
    assert_eq!(
        folder.refusal(&predict),
        "rows.csv: there is no column 'z'; known are node, x, zz, y, split"
    );
    assert!(!folder.path("predictions.csv").exists());
}

#[test]
fn runs_without_models_are_named() {
    let folder = Folder::new();
    assert_eq!(
        folder.refusal(&["predict", "nowhere", "--data", "rows.csv"]),
        "'nowhere' holds no finished run; make one with fit"
    );
    folder.fit("run", &[]);
    fs::remove_file(folder.path("run/models/nodes.jsonl")).unwrap();
    assert_eq!(
        folder.refusal(&["predict", "run", "--data", "rows.csv"]),
        "cannot read the models of the run 'run/models/nodes.jsonl': there is no such file"
    );
}

#[test]
fn damaged_models_are_not_predicted_with() {
    let folder = Folder::new();
    folder.fit("run", &["--set", "model.nodes.c.kind=tree"]);
    let models = folder.read("run/models/nodes.jsonl");
    let damages = [
        (2, "\"slopes\":[", "\"slopes\":[0.5,"),
        (3, "\"right\":[", "\"right\":[99,"),
        (1, "\"names\":[\"x\",", "\"names\":["),
        (4, "\"intercept\":", "\"intercept\":\""),
    ];
    for (line, from, to) in damages {
        let lines = models.lines().enumerate().map(|(at, text)| {
            if at + 1 == line { text.replacen(from, to, 1) } else { text.to_string() }
        });
        folder.write("run/models/nodes.jsonl", lines.collect::<Vec<_>>().join("\n"));
        assert_eq!(
            folder.refusal(&["predict", "run", "--data", "rows.csv"]),
            format!(
                "'run/models/nodes.jsonl' is damaged: line {line} is not a model of the run; \
                 run the experiment again"
            )
        );
    }
    let about = folder.read("run/models/about.json");
    for (from, to) in [("\"format\": 3", "\"format\": 9"), ("[]", "[\"cold\"]"), ("{", "")] {
        folder.write("run/models/about.json", about.replacen(from, to, 1));
        let sentence = folder.refusal(&["predict", "run", "--data", "rows.csv"]);
        assert!(sentence.starts_with("'run/models/about.json' is damaged: "), "{sentence}");
        assert!(sentence.ends_with("; run the experiment again"), "{sentence}");
    }
}
