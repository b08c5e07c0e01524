//! The column plan: what becomes of categories, gaps and dates, the same for rows that train and for new ones.

use std::fmt::Write as _;

use crate::common::{Folder, NODES};

const ROLES: [&str; 8] = ["train", "train", "val", "train", "test", "train", "val", "test"];

/// A table with more columns than `rows.csv`: a function gives the cells of a row besides node, x, y and split.
fn write_rows(folder: &Folder, header: &str, cells: impl Fn(usize) -> String) {
    let mut text = format!("node,x,{header},y,split\n");
    for row in 0..48 {
        let (node, role, at) = (NODES[row / 8], ROLES[row % 8], row as f64);
        let (x, y) =
            ((1.0 + at).sin(), (1.0 + at).sin() + (row % 3) as f64 + 0.1 * (7.0 * at).sin());
        writeln!(text, "{node},{x:.6},{},{y:.6},{role}", cells(row)).unwrap();
    }
    folder.write("rows.csv", text);
}

fn level(row: usize) -> &'static str {
    ["none", "flyer", "tv"][row % 3]
}

/// The errors of all rows of the comparison.
fn errors(result: &serde_json::Value) -> String {
    result["comparison"].to_string()
}

#[test]
fn categories_are_columns_of_zeros_and_ones() {
    let folder = Folder::new();
    write_rows(&folder, "promo", |row| level(row).into());
    let by_plan = folder.fit("plan", &[]);
    let dummies =
        |row| ["flyer", "none", "tv"].map(|one| u8::from(level(row) == one).to_string()).join(",");
    write_rows(&folder, "promo_flyer,promo_none,promo_tv", dummies);
    let by_hand = folder.fit("hand", &[]);
    assert_eq!(errors(&by_plan), errors(&by_hand));
    let text = folder.read("plan/coefficients.csv");
    assert!(text.contains("promo=flyer") && text.contains("promo=tv") && !text.contains("(other)"));
}

#[test]
fn a_level_of_test_rows_alone_has_no_column_and_new_levels_are_counted() {
    let folder = Folder::new();
    let cell = |row: usize| if row % 8 == 4 { "radio" } else { level(row) };
    write_rows(&folder, "promo", |row| cell(row).into());
    let said = folder.done(&["fit", "experiment.toml", "--out", "run"]);
    assert!(said.contains("promo (3 levels)"), "{said}");
    assert!(said.contains("Cells that hold none of the known levels: 6 of 'promo'"), "{said}");
    let answer = folder.run(&["predict", "run", "--data", "rows.csv"]);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    assert!(answer.err.contains("none of the known levels: 6 of 'promo'"), "{}", answer.err);
    let known = "data.columns.promo={levels=[\"none\",\"flyer\",\"tv\"],other=false}";
    std::fs::remove_dir_all(folder.path("run")).unwrap();
    assert_eq!(
        folder.fit_refusal(&["--set", known]),
        "rows.csv: row 5, column 'promo' is 'radio', expected one of none, flyer, tv (and 5 more cells of this \
         column)"
    );
}

#[test]
fn rare_levels_share_a_column() {
    let folder = Folder::new();
    write_rows(&folder, "ward", |row| format!("w{}", (row * row) % 11));
    let said =
        folder.done(&["fit", "experiment.toml", "--set", "data.most_levels=2", "--out", "run"]);
    assert!(said.contains("ward (2 levels and other)"), "{said}");
    assert!(folder.read("run/coefficients.csv").contains("ward=(other)"));
}

#[test]
fn what_is_learnt_of_columns_is_learnt_from_training_rows_alone() {
    let folder = Folder::new();
    let cell = |row: usize, odd: &str| match ROLES[row % 8] {
        "train" if row.is_multiple_of(3) => ",none,2024-02-01".into(),
        "train" => format!("{},{},2024-01-{:02}", row % 5, level(row), 1 + row % 28),
        _ => odd.to_string(),
    };
    let fit = |odd: &str, out: &str| {
        write_rows(&folder, "age,promo,day", |row| cell(row, odd));
        folder.fit(out, &["--missing", "mean"]);
        let about = folder.json(&format!("{out}/models/about.json"));
        (about["columns"].clone(), folder.read(&format!("{out}/models/nodes.jsonl")))
    };
    // Values of other rows, however odd, change neither the plan nor the models at a given strength.
    let (plan, _) = fit("3,none,2024-01-05", "usual");
    let (odd, _) = fit("1e9,radio,1999-12-31", "odd");
    assert_eq!(plan, odd);
}

#[test]
fn missing_cells_are_counted_with_what_would_do_and_rules_do_it() {
    let folder = Folder::new();
    let age = |row: usize| if row % 6 == 1 { String::new() } else { (row % 7).to_string() };
    let ward = |row: usize| if row % 8 == 3 { "NA" } else { level(row) };
    write_rows(&folder, "age,ward", |row| format!("{},{}", age(row), ward(row)));
    assert_eq!(
        folder.fit_refusal(&[]),
        "rows.csv: column 'age' has 8 missing cells of 48 (first in row 2), column 'ward' has 6 missing cells of 48 \
         (first in row 4); add --missing mean, most-frequent, indicator or drop (key data.missing, or \
         data.columns.age.missing for one column)"
    );
    for (rule, features) in [
        ("mean", "5 features"),
        ("most-frequent", "5 features"),
        ("indicator", "7 features"),
        ("drop", "5 features"),
    ] {
        let said = folder.done(&["fit", "experiment.toml", "--missing", rule, "--out", rule]);
        assert!(said.contains(features), "{rule}: {said}");
        let told = match rule {
            "drop" => "Left out for missing cells: 12 rows of 48.",
            _ => "Missing cells that were filled: 8 of 'age', 6 of 'ward'.",
        };
        assert!(said.contains(told), "{rule}: {said}");
    }
    let mean: f64 = (0..48)
        .filter(|row| ROLES[row % 8] == "train" && row % 6 != 1)
        .map(|row| (row % 7) as f64)
        .sum::<f64>()
        / (0..48).filter(|row| ROLES[row % 8] == "train" && row % 6 != 1).count() as f64;
    let about = folder.json("mean/models/about.json");
    let columns = about["columns"]["columns"].as_array().unwrap();
    let fill = columns[2]["keys"]["fill"].as_str().unwrap();
    assert!((fill.parse::<f64>().unwrap() - mean).abs() < 1e-12, "{fill} {mean}");
    // New rows are filled by the same mean, and those that a rule of refusal meets are refused.
    let answer = folder.run(&["predict", "mean", "--data", "rows.csv"]);
    assert!(answer.err.contains("filled: 8 of 'age', 6 of 'ward'"), "{}", answer.err);
    let refused = folder.refusal(&["predict", "drop", "--data", "rows.csv"]);
    assert!(refused.contains("'age' has 8 missing cells of 48"), "{refused}");
    // `predict` has no rule of its own to offer.
    assert!(
        refused.ends_with("or train again with --missing mean, most-frequent or indicator"),
        "{refused}"
    );
}

#[test]
fn words_for_no_value_can_be_named() {
    let folder = Folder::new();
    write_rows(&folder, "age", |row| if row == 5 { "-9".into() } else { (row % 7).to_string() });
    let set = ["--set", "data.missing_values=['-9', '?']"];
    let refused = folder.fit_refusal(&set);
    assert!(refused.contains("'age' has 1 missing cell of 48 (first in row 6)"), "{refused}");
    folder.done(
        &[&["fit", "experiment.toml", "--missing", "mean", "--out", "run"][..], &set].concat(),
    );
    let answer = folder.run(&["predict", "run", "--data", "rows.csv"]);
    assert!(answer.err.contains("filled: 1 of 'age'"), "{}", answer.err);
}

#[test]
fn dates_are_parts_of_the_calendar_and_never_ticks() {
    let folder = Folder::new();
    let day = |row: usize| format!("{:02}/{:02}/2024", 1 + row % 28, 1 + row % 12);
    write_rows(&folder, "day", day);
    folder.done(&["fit", "experiment.toml", "--out", "first"]);
    let names = folder.json("first/models/about.json")["features"].to_string();
    assert_eq!(
        names,
        "[\"x\",\"day.days\",\"day.month_sin\",\"day.month_cos\",\"day.weekday_sin\",\"day.weekday_cos\"]"
    );
    write_rows(&folder, "day", |row| format!("{:02}/{:02}/2024", 1 + row % 12, 1 + row % 7));
    assert_eq!(
        folder.fit_refusal(&[]),
        "rows.csv: column 'day' holds dates such as '08/01/2024', which do not tell day from month; set \
         data.columns.day.order = \"day-first\" or \"month-first\""
    );
    for order in ["day-first", "month-first"] {
        let set = format!(
            "data.columns.day={{order=\"{order}\",parts=[\"year\",\"month\"],calendar=\"categories\"}}"
        );
        folder.done(&["fit", "experiment.toml", "--set", &set, "--out", order]);
        let features = folder.json(&format!("{order}/models/about.json"))["features"].clone();
        assert_eq!(features.as_array().unwrap().len(), 1 + 1 + 12, "{features}");
    }
}

#[test]
fn a_date_of_new_rows_that_may_be_two_days_is_refused_where_training_told_no_order() {
    let folder = Folder::new();
    let iso = |row: usize| format!("2024-{:02}-{:02}", 1 + row % 12, 1 + row % 28);
    write_rows(&folder, "day", iso);
    folder.done(&["fit", "experiment.toml", "--out", "iso"]);
    let other = |row: usize| if row == 2 { "03/04/2024".into() } else { iso(row) };
    write_rows(&folder, "day", other);
    assert_eq!(
        folder.refusal(&["predict", "iso", "--data", "rows.csv"]),
        "rows.csv: row 3, column 'day' is '03/04/2024', which is 2024-04-03 or 2024-03-04, and no training row tells \
         which; write it so"
    );
    // What can be one day only is that day.
    write_rows(&folder, "day", |row| if row == 2 { "31/03/2024".into() } else { iso(row) });
    let by_hand = folder.done(&["predict", "iso", "--data", "rows.csv"]);
    write_rows(&folder, "day", |row| if row == 2 { "2024-03-31".into() } else { iso(row) });
    assert_eq!(by_hand, folder.done(&["predict", "iso", "--data", "rows.csv"]));
    // An order that training told holds for new rows.
    write_rows(&folder, "day", |row| format!("{:02}/{:02}/2024", 1 + row % 12, 1 + row % 28));
    folder.done(&["fit", "experiment.toml", "--out", "american"]);
    write_rows(&folder, "day", other);
    folder.done(&["predict", "american", "--data", "rows.csv"]);
}

#[test]
fn columns_are_declared_listed_and_excluded_by_name_and_by_pattern() {
    let folder = Folder::new();
    write_rows(&folder, "zip,size,s1,s2", |row| {
        format!("{},{},{},{}", 100 + row % 3, ["s", "m", "l"][row % 3], row % 5, row % 4)
    });
    folder.append("experiment.toml", "[data.columns]\nzip = \"category\"\ns2 = \"ignore\"\n");
    folder.edit(
        "experiment.toml",
        "[data.columns]",
        "[data.columns]\nsize = { levels = [\"s\", \"m\", \"l\"], ordered = true }",
    );
    let features =
        |run: &str| folder.json(&format!("{run}/models/about.json"))["features"].to_string();
    folder.fit("declared", &[]);
    assert_eq!(features("declared"), "[\"x\",\"zip=100\",\"zip=101\",\"zip=102\",\"size\",\"s1\"]");
    folder.fit("excluded", &["--exclude", "s*,zip"]);
    assert_eq!(features("excluded"), "[\"x\"]");
    folder.fit("listed", &["--features", "s?,x"]);
    assert_eq!(features("listed"), "[\"s1\",\"x\"]");
    assert_eq!(
        folder.fit_refusal(&["--features", "q*"]),
        "data.features: 'q*' matches no column of rows.csv"
    );
    assert_eq!(
        folder.fit_refusal(&["--set", "data.columns.zap=number"]),
        "data.columns: rows.csv has no column 'zap'; did you mean 'zip'?"
    );
    assert_eq!(
        folder.fit_refusal(&["--set", "data.columns.y=number"]),
        "data.columns: 'y' is the node, the target or the split, expected a feature"
    );
    assert_eq!(
        folder.fit_refusal(&["--set", "data.columns.zip.parts=['year']"]),
        "data.columns.zip.parts is for dates and times, and data.columns.zip.kind says otherwise"
    );
}

#[test]
fn a_run_trained_again_on_other_rows_has_the_features_of_the_first() {
    let folder = Folder::new();
    write_rows(&folder, "promo", |row| level(row).into());
    folder.fit("run", &[]);
    let text = folder.read("run/experiment.toml");
    assert!(text.contains("levels = [\"flyer\", \"none\", \"tv\"]"), "{text}");
    // Without one level, and with a new one.
    write_rows(&folder, "promo", |row| ["none", "radio", "tv"][row % 3].into());
    folder.done(&["fit", "run/experiment.toml", "--out", "again"]);
    let names = folder.json("again/models/about.json")["features"].to_string();
    assert_eq!(names, "[\"x\",\"promo=flyer\",\"promo=none\",\"promo=tv\",\"promo=(other)\"]");
}

#[test]
fn all_problems_of_a_table_are_told_at_once() {
    let folder = Folder::new();
    write_rows(&folder, "age,day", |row| {
        let age = match row {
            3 | 4 => "old".into(),
            9 => String::new(),
            row => row.to_string(),
        };
        format!("{age},{}", if row == 7 { "tomorrow" } else { "2024-01-01" })
    });
    folder.set_cell("rows.csv", 12, 4, "warm");
    let answer = folder.run(&["check", "experiment.toml"]);
    assert_eq!(answer.code, Some(2), "{}", answer.out);
    let said = answer.out.replace('\n', " ");
    for problem in [
        "Problem: row 12, column 'y' is 'warm', expected a number",
        "Problem: row 4, column 'age' is 'old', expected a number (and 1 more cell of this column)",
        "Problem: column 'age' has 1 missing cell of 48 (first in row 10)",
    ] {
        assert!(said.contains(problem), "{problem}: {}", answer.out);
    }
    assert!(
        answer.err.contains("rows.csv: 3 problems to be solved before training"),
        "{}",
        answer.err
    );
    let refused = folder.fit_refusal(&[]);
    assert!(
        refused.contains("'warm'")
            && refused.contains("'old'")
            && refused.contains("1 missing cell")
    );
}

#[test]
fn a_table_can_be_looked_at_before_node_and_target_are_known() {
    let folder = Folder::new();
    write_rows(&folder, "promo,one", |row| format!("{},1", level(row)));
    let said = folder.done(&["check", "rows.csv"]);
    assert!(said.contains("rows.csv: 48 rows, 6 columns"), "{said}");
    assert!(said.contains("promo   feature  category: flyer, none, tv"), "{said}");
    assert!(said.contains("Note: Feature 'one' is constant."), "{said}");
    let said =
        folder.done(&["check", "rows.csv", "--node", "node", "--target", "y", "--split", "split"]);
    assert!(said.contains("node    node     names the node of each row"), "{said}");
    assert!(said.contains("48 rows, 6 nodes, 6 columns, 5 features"), "{said}");
    let json: serde_json::Value =
        serde_json::from_str(&folder.done(&["check", "rows.csv", "--json"])).unwrap();
    assert_eq!(json["problems"].as_array().unwrap().len(), 0);
}
