//! Summaries of sites against all rows in one table.

use std::fmt::Write;

use fedgrid::data::Features;
use fedgrid_lab::{
    Result,
    assembly::{Assembly, Common, NamedSummary, SiteSummary},
    columns::{ColumnPlan, SummaryOptions},
    experiment::{ColumnKeys, ColumnKind, Experiment},
};

const OPTIONS: SummaryOptions = SummaryOptions { least_count: 5, products: true, months: false };

/// Four nodes at two sites, and all rows in `pooled.csv`; the first site has no ward d, the second no ward a.
struct World {
    folder: tempfile::TempDir,
    keys: String,
}

impl World {
    fn new(keys: &str) -> Self {
        let world = Self { folder: tempfile::tempdir().unwrap(), keys: keys.into() };
        world.write("edges.csv", "src,dst,weight\na,b,1\nb,c,1\nc,d,1\n");
        let sites = [("ann", rows(0..2)), ("ben", rows(2..4))];
        let mut pooled = String::new();
        for (site, rows) in sites {
            world.write(&format!("{site}.csv"), &format!("{HEADER}{rows}"));
            pooled += &rows;
        }
        world.write("pooled.csv", &format!("{HEADER}{pooled}"));
        world
    }

    /// The same with a column `w` of small numbers.
    fn with_weights(keys: &str) -> Self {
        let world = Self::new(keys);
        for name in ["ann.csv", "ben.csv", "pooled.csv"] {
            let text = std::fs::read_to_string(world.folder.path().join(name)).unwrap();
            let line = |(at, line): (usize, &str)| match at {
                0 => format!("{line},w\n"),
                // By what it holds, so that a row has one number wherever it stands.
                _ => format!("{line},{}\n", 1 + line.bytes().map(usize::from).sum::<usize>() % 4),
            };
            world.write(name, &text.lines().enumerate().map(line).collect::<String>());
        }
        world
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).unwrap();
    }

    /// Replaces a text in a table.
    fn edit(&self, name: &str, from: &str, to: &str) {
        let path = self.folder.path().join(name);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{name} does not hold {from:?}");
        std::fs::write(path, text.replace(from, to)).unwrap();
    }

    fn experiment(&self) -> Experiment {
        let target = if self.keys.contains("target =") { "" } else { "target = \"y\"\n" };
        let text = format!(
            "[data]\nfile = \"pooled.csv\"\nnode = \"node\"\n{target}{}\n[network]\nedges = \"edges.csv\"\n\
             [method]\nkind = \"fedrelax\"\nalpha = 1.0\n[public]\npoints = 30\n",
            self.keys
        );
        let table = Experiment::table_from_text(&text, "e.toml").unwrap();
        Experiment::from_table(table, "e.toml").unwrap()
    }

    fn summary(&self, site: &str, options: SummaryOptions) -> Result<NamedSummary> {
        let (base, data) = (self.folder.path(), self.folder.path().join(format!("{site}.csv")));
        let summary = SiteSummary::of_table(&self.experiment(), base, &data, options)?;
        // As its file has it.
        let read = self.read(site, &summary).unwrap();
        assert_eq!(read.summary, summary);
        Ok(read)
    }

    /// A summary after it was written.
    fn read(&self, site: &str, summary: &SiteSummary) -> Result<NamedSummary> {
        let file = format!("{site}.json");
        self.write(&file, &serde_json::to_string(summary).unwrap());
        let mut read = NamedSummary::read_all(&[self.folder.path().join(file)])?;
        Ok(read.remove(0))
    }

    fn agreed(&self, summaries: Vec<NamedSummary>) -> Result<(Common, Vec<String>)> {
        Common::from_summaries(&self.experiment(), self.folder.path(), summaries)
    }

    fn of_sites(&self, sites: &[&str]) -> Common {
        let all = sites.iter().map(|site| self.summary(site, OPTIONS).unwrap()).collect();
        self.agreed(all).unwrap().0
    }

    fn refusal(&self) -> String {
        let all = ["ann", "ben"].map(|site| self.summary(site, OPTIONS).unwrap()).to_vec();
        self.agreed(all).unwrap_err().to_string()
    }
}

const HEADER: &str = "node,price,ward,day,open,y,split\n";

/// Rows of some nodes: numbers far from zero with gaps, categories, dates, truths.
fn rows(nodes: std::ops::Range<usize>) -> String {
    let mut text = String::new();
    for node in nodes {
        let name = ["a", "b", "c", "d"][node];
        for row in 0..80 {
            let at = (80 * node + row) as f64;
            let price = 1000.0 + (1.0 + at).sin() + node as f64;
            let price = if row % 6 == 1 { String::new() } else { format!("{price:.6}") };
            let ward = ["a", "b", "c", "d"][(row % 3).max(usize::from(node > 1) * (row % 3 + 1))];
            let day = format!("2024-{:02}-{:02}", 1 + (row + 2 * node) % 7, 1 + (3 * row) % 28);
            let open = (row * (node + 2)) % 5 < 2;
            let y = 3.0 + node as f64 + (2.0 * at).cos();
            let split = if row % 5 == 4 { "test" } else { "train" };
            writeln!(text, "{name},{price},{ward},{day},{open},{y:.6},{split}").unwrap();
        }
    }
    text
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs()))
}

/// Whether two plans are the same, numbers that fill gaps to rounding.
fn assert_same_plan(found: &ColumnPlan, expected: &ColumnPlan) {
    let features = |plan: &ColumnPlan| -> Vec<(String, ColumnKeys)> {
        plan.features().map(|(name, keys)| (name.to_string(), keys.clone())).collect()
    };
    let (found, expected) = (features(found), features(expected));
    assert_eq!(found.len(), expected.len(), "{found:?} {expected:?}");
    for ((name, mut keys), (other, mut truth)) in found.into_iter().zip(expected) {
        if keys.kind == Some(ColumnKind::Number) {
            let number = |keys: &mut ColumnKeys| keys.fill.take().map(|fill| fill.parse().unwrap());
            let (own, all): (Option<f64>, Option<f64>) = (number(&mut keys), number(&mut truth));
            assert!(own.is_some() == all.is_some() && near(own.unwrap_or(0.0), all.unwrap_or(0.0)));
        }
        assert_eq!((name, keys), (other, truth));
    }
}

fn assert_same_numbers(found: &Features, expected: &Features) {
    assert_eq!(found.names(), expected.names());
    let mut pairs = found.values().iter().zip(expected.values());
    assert!(found.rows() == expected.rows() && pairs.all(|(a, b)| near(*a, *b)));
}

const TREATMENTS: [&str; 6] = [
    "missing = \"mean\"",
    "missing = \"indicator\"\nsplit = \"split\"",
    "missing = \"drop\"\nmost_levels = 2",
    "missing = \"mean\"\nsplit = \"split\"\ncolumns = { day = { calendar = \"categories\" } }",
    "missing = \"mean\"\ntrain = 0.7\nexclude = [\"split\"]",
    "missing = \"most-frequent\"\nfeatures = [\"ward\", \"price\", \"open\"]\n\
     columns = { ward = { levels = [\"d\", \"c\", \"b\", \"a\"], ordered = true }, price = { fill = \"1001\" } }",
];

#[test]
fn summaries_of_sites_give_the_plan_the_units_and_the_points_of_the_pooled_table() {
    for keys in TREATMENTS {
        assert_as_pooled(&World::new(keys));
    }
}

/// Whether summaries of both sites say what all rows do.
fn assert_as_pooled(world: &World) {
    let keys = &world.keys;
    let whole = Assembly::new(&world.experiment(), world.folder.path()).unwrap();
    let found = world.of_sites(&["ann", "ben"]);
    assert_same_plan(&found.about.columns, &whole.about.columns);
    assert_eq!(found.about.features, whole.about.features);
    assert_eq!(found.about.known, whole.about.known);
    assert_eq!(found.class_weights, whole.study.settings.class_weights);
    let (own, all) = (found.scales.unwrap(), whole.study.scales.unwrap());
    assert!(near(own.target(), all.target()), "{keys}: {} {}", own.target(), all.target());
    // In units of the table, so that scales are compared too.
    let rows: Vec<f64> = (0..3 * own.names().len()).map(|k| (k as f64).sin()).collect();
    let rows = Features::new(own.names().to_vec().into(), rows).unwrap();
    assert_same_numbers(&own.features(&rows).unwrap(), &all.features(&rows).unwrap());
    assert_same_numbers(&found.public, &whole.study.public[0]);
}

#[test]
fn weighted_sums_of_sites_give_what_weighted_rows_of_the_pooled_table_do() {
    let poisson = "[model]\nkind = \"poisson\"";
    let logistic = "[model]\nkind = \"logistic\"";
    for keys in [
        "missing = \"mean\"\nweight = \"w\"",
        "missing = \"indicator\"\nsplit = \"split\"\nweight = \"w\"",
        "missing = \"drop\"\nmost_levels = 2\nweight = \"w\"",
        "missing = \"most-frequent\"\nfeatures = [\"ward\", \"price\", \"open\"]\nweight = \"w\"\n\
         columns = { price = { fill = \"1001\" } }",
        "missing = \"mean\"\noffset = \"w\"",
        &format!("missing = \"mean\"\nexposure = \"w\"\n{poisson}"),
        &format!(
            "missing = \"mean\"\ntarget = \"open\"\nweight = \"w\"\nclass_weights = {{ true = 3.0 }}\n{logistic}"
        ),
    ] {
        assert_as_pooled(&World::with_weights(keys));
    }
}

#[test]
fn whole_weights_are_told_as_repeated_rows_are() {
    let [weighted, repeated] = [Some("w"), None].map(|weight| {
        let keys = weight.map_or("exclude = [\"w\"]".into(), |w| format!("weight = \"{w}\""));
        let world = World::with_weights(&format!("missing = \"mean\"\n{keys}"));
        for name in ["ann.csv", "ben.csv"] {
            let text = std::fs::read_to_string(world.folder.path().join(name)).unwrap();
            let copies = |line: &str| match line.rsplit(',').next().map(str::parse::<usize>) {
                Some(Ok(count)) if weight.is_none() => format!("{line}\n").repeat(count),
                _ => format!("{line}\n"),
            };
            world.write(name, &text.lines().map(copies).collect::<String>());
        }
        world.of_sites(&["ann", "ben"])
    });
    assert_same_plan(&weighted.about.columns, &repeated.about.columns);
    assert_same_numbers(&weighted.public, &repeated.public);
    let [own, all] = [&weighted, &repeated].map(|common| common.scales.clone().unwrap());
    assert!(near(own.target(), all.target()));
    assert_same_numbers(
        &own.features(&weighted.public).unwrap(),
        &all.features(&weighted.public).unwrap(),
    );
}

#[test]
fn summaries_that_count_otherwise_than_the_experiment_are_refused() {
    let keys = "missing = \"mean\"\noffset = \"w\"";
    let world = World::with_weights(keys);
    let told = ["ann", "ben"].map(|site| world.summary(site, OPTIONS).unwrap()).to_vec();
    // An offset of counts is the logarithm of an exposure, by which rows weigh.
    let counts = World::with_weights(&format!("{keys}\n[model]\nkind = \"poisson\""));
    let refused = counts.agreed(told).unwrap_err().to_string();
    let said = "rows of ann count alike in its summary and differently by the experiment; describe it again";
    assert!(refused.contains(said), "{refused}");
}

#[test]
fn two_summaries_added_up_are_the_summary_of_all_rows_in_any_order() {
    let world = World::new(TREATMENTS[0]);
    let (parts, whole) = (world.of_sites(&["ann", "ben"]), world.of_sites(&["pooled"]));
    assert_same_plan(&parts.about.columns, &whole.about.columns);
    assert_same_numbers(&parts.public, &whole.public);
    let text = |common: &Common| {
        serde_json::to_string(&(&common.about, &common.scales, common.public.values())).unwrap()
    };
    assert_eq!(text(&parts), text(&world.of_sites(&["ben", "ann"])));
    // Nor does the order of rows, to the last bit.
    let path = world.folder.path().join("ann.csv");
    let rows = std::fs::read_to_string(&path).unwrap();
    let mut lines: Vec<&str> = rows.lines().collect();
    lines[1..].reverse();
    world.write("ann.csv", &lines.join("\n"));
    assert_eq!(text(&parts), text(&world.of_sites(&["ann", "ben"])));
}

#[test]
fn sites_with_different_levels_end_with_the_same_columns() {
    let world = World::new(TREATMENTS[0]);
    let levels = |site: &str| {
        let summary = world.summary(site, OPTIONS).unwrap().summary;
        let ward = summary.columns.into_iter().find(|column| column.name == "ward").unwrap();
        ward.sums.unwrap().counts.into_keys().collect::<Vec<_>>()
    };
    assert_eq!(
        (levels("ann"), levels("ben")),
        (["a", "b", "c"].map(String::from).to_vec(), ["b", "c", "d"].map(String::from).to_vec())
    );
    let all = world.of_sites(&["ann", "ben"]).about.columns.names_of("ward");
    assert_eq!(all, ["ward=a", "ward=b", "ward=c", "ward=d"]);
}

#[test]
fn what_few_rows_hold_is_not_told() {
    let world = World::new("missing = \"mean\"");
    // Four rows of a level that nobody else has, one row that is open, and one without a price.
    let mut text = String::from(HEADER);
    for row in 0..60 {
        let ward = if row < 4 { "rare" } else { ["b", "c"][row % 2] };
        let price = if row == 7 { String::new() } else { format!("{}.5", 10 + row % 9) };
        writeln!(text, "a,{price},{ward},2024-01-{:02},{},{row},train", 1 + row % 28, row == 9)
            .unwrap();
    }
    world.write("ann.csv", &text);
    let summary = world.summary("ann", OPTIONS).unwrap().summary;
    let told = serde_json::to_string(&summary).unwrap();
    assert!(!told.contains("rare\"") && !told.contains("=rare"), "{told}");
    let column = |name: &str| summary.columns.iter().find(|column| column.name == name).unwrap();
    let ward = column("ward").sums.as_ref().unwrap();
    assert_eq!((ward.rare_values, ward.rare_rows), (1, 4));
    let products = &summary.products.as_ref().unwrap().names;
    for (name, is_apart) in [("ward", true), ("open", true), ("price", true), ("day", false)] {
        assert_eq!(column(name).sums.as_ref().unwrap().is_apart, is_apart, "{name}");
        let has_products = products.iter().any(|known| known.starts_with(name));
        assert_eq!(has_products, !is_apart, "{name}: {products:?}");
    }
    let words: Vec<String> = summary.words("y").into_iter().map(|line| line.join(": ")).collect();
    let words = words.join("\n");
    for said in ["4 rows of 1 rarer level not named", "false in 59, true in 1 rows", "1 missing"] {
        assert!(words.contains(said), "{words}");
    }
    // Rare levels of one site are other ones of all.
    let plan = world.of_sites(&["ann", "ben"]).about.columns;
    assert_eq!(plan.names_of("ward"), ["ward=b", "ward=c", "ward=d", "ward=(other)"]);
}

#[test]
fn no_cell_of_a_number_is_in_a_summary() {
    let world = World::new("missing = \"mean\"");
    let told = serde_json::to_string(&world.summary("ann", OPTIONS).unwrap().summary).unwrap();
    let rows = rows(0..2);
    let cells = rows.split([',', '\n']).filter(|cell| cell.len() > 7 && cell.contains('.'));
    assert!(cells.clone().count() > 250);
    assert_eq!(cells.clone().find(|cell| told.contains(cell)), None);
}

#[test]
fn few_rows_and_many_features_are_refused_unless_products_are_left_out() {
    let world = World::new("missing = \"mean\"");
    let first = |rows: usize| {
        let text = format!("{HEADER}{}", self::rows(0..1));
        world.write("ann.csv", &text.lines().take(rows + 1).collect::<Vec<_>>().join("\n"));
    };
    first(4);
    let refused = world.summary("ann", OPTIONS).unwrap_err().to_string();
    assert!(refused.starts_with("ann.csv: 4 training rows, expected at least 5"), "{refused}");
    first(20);
    let refused = world.summary("ann", OPTIONS).unwrap_err().to_string();
    assert!(
        refused.contains("20 training rows and") && refused.contains("--without-products"),
        "{refused}"
    );
    let apart = world.summary("ann", SummaryOptions { products: false, ..OPTIONS }).unwrap();
    assert_eq!(apart.summary.products, None);
    // Units are the same with and without products; only public points differ.
    let (mut whole, mut parts) = (Vec::new(), Vec::new());
    for products in [true, false] {
        let world = World::new("missing = \"mean\"");
        let options = SummaryOptions { products, ..OPTIONS };
        let all = ["ann", "ben"].map(|site| world.summary(site, options).unwrap()).to_vec();
        let (common, notes) = world.agreed(all).unwrap();
        assert_eq!(
            notes.iter().any(|note| note.contains("Without products from ann, ben")),
            !products
        );
        whole.push(common.scales.unwrap());
        parts.push(common.public);
    }
    let rows: Vec<f64> = (0..whole[0].names().len()).map(|k| k as f64).collect();
    let rows = Features::new(whole[0].names().to_vec().into(), rows).unwrap();
    assert_same_numbers(&whole[0].features(&rows).unwrap(), &whole[1].features(&rows).unwrap());
    assert_ne!(parts[0].values(), parts[1].values());
}

#[test]
fn what_does_not_fit_is_named_with_site_column_and_what_would_do() {
    let world = World::new("missing = \"mean\"");
    world.edit("ben.csv", "node,price,ward", "node,cost,ward");
    world.edit("ben.csv", "true", "1");
    world.edit("ben.csv", "false", "0");
    let refused = world.refusal();
    for part in [
        "column 'price' is at ann and not at ben; add it there",
        "column 'open' holds true and false at ann and numbers at ben; write it alike, or say what it is: \
         data.columns.open = \"number\"",
        "column 'cost' is at ben and not at ann",
    ] {
        assert!(refused.contains(part), "{refused}");
    }
    let world = World::new("");
    let keep = |name: &str, blank: bool| {
        let text = std::fs::read_to_string(world.folder.path().join(name)).unwrap();
        let row = |line: &str| {
            let cells: Vec<&str> = line.split(',').collect();
            let is_header = line.starts_with("node");
            let price = if blank && !is_header { "" } else { cells[1] };
            let price = if price.is_empty() && !blank { "1.0" } else { price };
            format!("{},{price},{}\n", cells[0], cells[2..].join(","))
        };
        world.write(name, &text.lines().map(row).collect::<String>());
    };
    keep("ann.csv", false);
    keep("ben.csv", true);
    let refused = world.refusal();
    assert!(refused.contains("column 'price' is empty at ben; give data.missing"), "{refused}");
    // Both orders of day and month.
    let world = World::new("missing = \"mean\"");
    let slashed = |name: &str, day_first: bool| {
        let path = world.folder.path().join(name);
        let text = std::fs::read_to_string(&path).unwrap();
        let cell = |cell: &str| match cell.split('-').collect::<Vec<_>>()[..] {
            [year, month, day] if day_first => format!("{day}/{month}/{year}"),
            [year, month, day] => format!("{month}/{day}/{year}"),
            _ => cell.to_string(),
        };
        let line = |line: &str| line.split(',').map(cell).collect::<Vec<_>>().join(",") + "\n";
        world.write(name, &text.lines().map(line).collect::<String>());
    };
    slashed("ann.csv", true);
    slashed("ben.csv", false);
    let refused = world.refusal();
    assert!(refused.contains("column 'day' has day and month in one order at ann"), "{refused}");
}

#[test]
fn summaries_of_other_keys_or_of_the_same_rows_are_refused() {
    let world = World::new("missing = \"mean\"");
    let [ann, ben] = ["ann", "ben"].map(|site| world.summary(site, OPTIONS).unwrap());
    let again = NamedSummary { site: "copy".into(), ..ann.clone() };
    let refused = world.agreed(vec![ann.clone(), ben.clone(), again]).unwrap_err().to_string();
    assert!(refused.contains("ann and copy both have rows of node 'a'"), "{refused}");
    let other = World { keys: "missing = \"indicator\"".into(), ..world };
    let refused = other.agreed(vec![ann.clone(), ben]).unwrap_err().to_string();
    let part =
        "ann was described with data.missing = \"mean\", and the experiment has \"indicator\"";
    assert!(refused.contains(part), "{refused}");
    let broken = |change: fn(&mut SiteSummary)| {
        let mut summary = ann.summary.clone();
        change(&mut summary);
        other.read("broken", &summary).unwrap_err().to_string()
    };
    let found = broken(|summary| summary.products.as_mut().unwrap().sums[2].clear());
    assert!(found.contains("broken.json: its products contradict each other"), "{found}");
    let found = broken(|summary| summary.rows += 1);
    assert!(found.contains("the sums of column 'price' contradict each other"), "{found}");
    let found = broken(|summary| summary.fedgrid_summary = 2);
    assert!(found.contains("is a summary of version 2, expected 1"), "{found}");
}

#[test]
fn classes_of_all_sites_are_one_list_and_rare_ones_are_said() {
    let world = World::new("missing = \"mean\"\nfeatures = [\"price\", \"ward\"]");
    for (site, [low, high]) in [("ann", ["cold", "mild"]), ("ben", ["mild", "warm"])] {
        let text =
            std::fs::read_to_string(world.folder.path().join(format!("{site}.csv"))).unwrap();
        let mut row = 0;
        let line = |line: &str| {
            let mut cells: Vec<&str> = line.split(',').collect();
            if !line.starts_with("node") {
                row += 1;
                cells[5] = if row == 1 {
                    "odd"
                } else if row % 2 == 0 {
                    low
                } else {
                    high
                };
            }
            cells.join(",") + "\n"
        };
        world.write(&format!("{site}.csv"), &text.lines().map(line).collect::<String>());
    }
    let keys = format!("{}\n[model]\nkind = \"logistic\"\nridge = 0.1", world.keys);
    let world = World { keys, ..world };
    let all = ["ann", "ben"].map(|site| world.summary(site, OPTIONS).unwrap()).to_vec();
    let told = serde_json::to_string(&all[0].summary).unwrap();
    assert!(told.contains("mild") && !told.contains("odd"), "{told}");
    let (common, notes) = world.agreed(all).unwrap();
    assert_eq!(common.about.classes, ["cold", "mild", "warm"]);
    assert!(
        notes.iter().any(|note| note.contains("ann does not name the classes of 1 row")),
        "{notes:?}"
    );
}
