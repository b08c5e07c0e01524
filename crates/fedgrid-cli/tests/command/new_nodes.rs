//! Nodes that a run has never seen: by their neighbours, by the pooled model, or refused.

use fedgrid_lab::source::Table;

use crate::common::{Folder, NODES, dataset};

/// The cells in a column of printed CSV.
fn column(csv: &str, name: &str) -> Vec<String> {
    let place = csv.lines().next().unwrap().split(',').position(|own| own == name).unwrap();
    csv.lines().skip(1).map(|line| line.split(',').nth(place).unwrap().to_string()).collect()
}

fn numbers(csv: &str, name: &str) -> Vec<f64> {
    column(csv, name).iter().map(|cell| cell.parse().unwrap()).collect()
}

/// A run over the two nearest of each node along a line, and rows of two nodes that it has never seen.
fn trained(more: &[&str]) -> Folder {
    let folder = Folder::new();
    folder.edit(
        "experiment.toml",
        "edges = \"edges.csv\"",
        "nearest = 2\n[network.coordinates]\nlon = 1",
    );
    folder.fit("run", more);
    folder.write("new.csv", "node,x,z\na,0.5,0.25\ng,0.5,0.25\nh,0.5,0.25\ng,-0.5,0.5\n");
    // Between b (1) and c (2), the second twice as near as the first; lat does not count.
    folder.write("places.csv", "node,lon,lat\ng,1.5,7\nh,90,7\na,0,0\n");
    folder.write("ends.csv", "src,dst,weight\ng,b,1\nc,g,3\na,b,1\ng,h,5\n");
    folder
}

const PREDICT: [&str; 4] = ["predict", "run", "--data", "new.csv"];

/// What the models of known nodes predict for a row.
fn of_known(folder: &Folder, node: &str, x: f64, z: f64) -> f64 {
    folder.write("one.csv", format!("node,x,z\n{node},{x},{z}\n"));
    numbers(
        &folder.done(&["predict", "run", "--data", "one.csv", "--use", "network"]),
        "prediction",
    )[0]
}

#[test]
fn by_edges_the_weighted_mean_of_its_neighbours_predicts_a_new_node() {
    let folder = trained(&["--method", "fedrelax"]);
    let answer = folder.run(&[&PREDICT[..], &["--edges", "ends.csv", "--use", "network"]].concat());
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    assert_eq!(column(&answer.out, "by"), ["own", "neighbours", "pooled", "neighbours"]);
    let found = numbers(&answer.out, "prediction");
    for (row, x, z) in [(1, 0.5, 0.25), (3, -0.5, 0.5)] {
        let [b, c] = ["b", "c"].map(|node| of_known(&folder, node, x, z));
        assert!((found[row] - (b + 3.0 * c) / 4.0).abs() < 1e-9, "{row}");
    }
    let said: Vec<&str> = answer.err.lines().collect();
    assert_eq!(
        said[..2],
        [
            "Node 'g' is not known to the run: 2 rows predicted by the mean of their neighbours' models",
            "Node 'h' is not known to the run: 1 row predicted by the pooled model",
        ]
    );
    let pooled = folder.done(&[&PREDICT[..], &["--use", "pooled"]].concat());
    assert!((numbers(&pooled, "prediction")[2] - found[2]).abs() < 1e-12);
}

#[test]
fn by_places_a_new_node_has_the_neighbours_of_the_rule_of_training() {
    let folder = trained(&["--method", "fedrelax"]);
    let asked = [&PREDICT[..], &["--nodes", "places.csv", "--use", "network"]].concat();
    let found = folder.done(&asked);
    assert_eq!(column(&found, "by"), ["own", "neighbours", "neighbours", "neighbours"]);
    // The nearest two of h are e and f, both so far that their weights are the floor.
    let [e, f] = ["e", "f"].map(|node| of_known(&folder, node, 0.5, 0.25));
    assert!((numbers(&found, "prediction")[2] - f64::midpoint(e, f)).abs() < 1e-9);
    // A network of edges has no rule for places.
    let other = Folder::new();
    other.fit("run", &["--no-compare"]);
    other.write("new.csv", folder.read("new.csv"));
    other.write("places.csv", folder.read("places.csv"));
    assert_eq!(
        other.refusal(&asked),
        "--nodes is for runs whose network is one of nearest neighbours, and that of 'run' is not; give the edges of \
         new nodes with --edges"
    );
}

#[test]
fn without_a_place_the_pooled_model_predicts_or_the_row_is_refused() {
    let folder = trained(&["--method", "fedrelax"]);
    let plain = folder.run(&PREDICT);
    assert_eq!(column(&plain.out, "by")[1..], ["pooled", "pooled", "pooled"]);
    assert!(
        plain.err.starts_with("Nodes 'g', 'h' are not known to the run: 3 rows predicted by the ")
    );
    let pooled =
        folder.done(&[&PREDICT[..], &["--unknown", "pooled", "--nodes", "places.csv"]].concat());
    assert_eq!(numbers(&pooled, "prediction"), numbers(&plain.out, "prediction"));
    let refusal = |more: &[&str]| folder.refusal(&[&PREDICT[..], more].concat());
    assert_eq!(
        refusal(&["--unknown", "refuse"]),
        "new.csv: row 2, column 'node' is 'g', which is not a node of the run; known are a, b, c, d, e, f"
    );
    assert_eq!(
        refusal(&["--unknown", "neighbours", "--edges", "ends.csv"]),
        "new.csv: row 3, column 'node' is 'h', which is not a node of the run and has no neighbour by ends.csv; add it \
         there, or take --unknown pooled"
    );
    assert_eq!(
        refusal(&["--unknown", "neighbours"]),
        "--unknown is 'neighbours', which needs the places of new nodes with --nodes, or their edges with --edges"
    );
    assert_eq!(
        refusal(&["--unknown", "x"]),
        "--unknown is 'x', expected refuse, pooled or neighbours"
    );
    folder.edit("places.csv", "node,lon", "node,lno");
    assert_eq!(
        refusal(&["--nodes", "places.csv"]),
        "places.csv: there is no column 'lon'; did you mean 'lno'?"
    );
    folder.edit("ends.csv", "g,b,1", "g,b,-1");
    assert_eq!(
        refusal(&["--edges", "ends.csv"]),
        "ends.csv: row 1, column 'weight' is -1, expected a positive number"
    );
}

#[test]
fn a_mixed_model_has_fixed_effects_and_wider_intervals_for_a_new_node() {
    let folder = trained(&["--method", "mixed", "--no-compare"]);
    let asked = [&PREDICT[..], &["--interval", "0.8"]].concat();
    let found = folder.done(&asked);
    assert_eq!(column(&found, "by"), ["own", "fixed-effects", "fixed-effects", "fixed-effects"]);
    let width = |csv: &str| -> Vec<f64> {
        numbers(csv, "upper")
            .iter()
            .zip(numbers(csv, "lower"))
            .map(|(upper, lower)| upper - lower)
            .collect()
    };
    let widths = width(&found);
    // Levels differ by half from node to node, and noise is a tenth.
    assert!(widths[1] > 2.0 * widths[0], "{widths:?}");
    let near = folder.done(&[&asked[..], &["--nodes", "places.csv"]].concat());
    assert_eq!(column(&near, "by")[1], "neighbours");
    assert!(width(&near)[1] > widths[0]);
    // The mean of all nodes' models is the one of their mean coefficients.
    let of_nodes: Vec<f64> = NODES.iter().map(|node| of_known(&folder, node, 0.5, 0.25)).collect();
    let mean = of_nodes.iter().sum::<f64>() / 6.0;
    assert!((numbers(&found, "prediction")[1] - mean).abs() < 1e-9);
    // Nodes that hang together closely say little of a mean of all networks, and yet how much a node differs from them.
    folder.fit("run", &["--force", "--method", "mixed", "--set", "method.rho=0.99999"]);
    let close = width(&folder.done(&[&asked[..], &["--use", "network"]].concat()));
    assert!(close[1] > close[0] && close[1] < 20.0 * close[0], "{close:?}");
    // Other methods do not know how far they are off at nodes without a model.
    folder.fit("run", &["--force", "--method", "fedrelax"]);
    let answer = folder.run(&[&asked[..], &["--nodes", "places.csv", "--use", "network"]].concat());
    assert_eq!(column(&answer.out, "lower")[1], "");
    assert!(answer.err.contains("3 rows of nodes that the run does not know without an interval"));
    let pooled = folder.done(&[&asked[..], &["--use", "pooled"]].concat());
    assert!(width(&pooled).iter().all(|width| *width > 0.0));
}

/// A run in which node c has no row, over the edges b—c of weight 1 and c—d of weight 3.
fn without_rows_of_c(more: &[&str]) -> Folder {
    let folder = Folder::new();
    let rows = folder.read("rows.csv");
    let others: Vec<&str> = rows.lines().filter(|line| !line.starts_with("c,")).collect();
    folder.write("rows.csv", others.join("\n") + "\n");
    folder.edit("edges.csv", "c,d,1", "c,d,3");
    folder.fit("run", more);
    folder.write("new.csv", "node,x,z\nb,0.5,0.25\nc,0.5,0.25\nd,0.5,0.25\n");
    folder
}

#[test]
fn a_node_of_the_network_without_rows_has_its_neighbours_where_a_method_knows_of_no_network() {
    let folder = without_rows_of_c(&["--method", "fedrelax"]);
    for method in ["local", "shrunk", "mixed"] {
        let answer = folder.run(&[&PREDICT[..], &["--use", method]].concat());
        assert_eq!(column(&answer.out, "by"), ["own", "neighbours", "own"], "{method}");
        let found = numbers(&answer.out, "prediction");
        assert!((found[1] - (found[0] + 3.0 * found[2]) / 4.0).abs() < 1e-9, "{method}");
        let said =
            "Node 'c' has no training row: 1 row predicted by the mean of its neighbours' models";
        assert!(answer.err.lines().any(|line| line == said), "{method}: {}", answer.err);
        // The model that the method itself has for it is there for who wants it.
        let own = folder.done(&[&PREDICT[..], &["--use", method, "--unknown", "pooled"]].concat());
        assert_eq!(column(&own, "by"), ["own"; 3], "{method}");
    }
    let network = folder.done(&[&PREDICT[..], &["--use", "network"]].concat());
    assert_eq!(column(&network, "by"), ["own"; 3]);
    let pooled = folder.done(&[&PREDICT[..], &["--use", "pooled"]].concat());
    assert_eq!(column(&pooled, "by"), ["pooled"; 3]);
    // Exported models are those of the nodes.
    let export = ["export", "run", "--onnx", "--out", "run.onnx", "--use", "mixed", "--json"];
    let told: serde_json::Value = serde_json::from_str(&folder.done(&export)).unwrap();
    assert_eq!(told["left_out"], serde_json::json!(["c"]));
}

#[test]
fn classes_of_a_new_node_are_the_mean_probabilities_of_its_neighbours() {
    let folder = Folder::with_classes();
    folder.fit("run", &["--no-compare"]);
    folder.write("new.csv", "node,x,z\nb,0.5,0.25\nc,0.5,0.25\ng,0.5,0.25\n");
    folder.write("ends.csv", "src,dst,weight\ng,b,1\nc,g,3\n");
    let found = numbers(
        &folder.done(&[&PREDICT[..], &["--edges", "ends.csv"]].concat()),
        "probability_warm",
    );
    assert!((found[2] - (found[0] + 3.0 * found[1]) / 4.0).abs() < 1e-12, "{found:?}");
}

/// Says a number, also where the output of tests is captured.
fn said(text: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Where nodes are whose rows are hidden.
#[derive(Clone, Copy, PartialEq)]
enum Hidden {
    /// They are new to the run, which is told of their places when it predicts.
    Away,
    /// They are nodes of its network, and have no row.
    InNetwork,
}

/// Rows and nodes of which a fifth is hidden in turn.
struct World {
    rows: Table,
    nodes: Table,
    /// The columns of nodes and of targets.
    names: [&'static str; 2],
    keys: Vec<&'static str>,
}

impl World {
    fn new(
        (folder, rows): (&std::path::Path, &str),
        nodes: &str,
        names: [&'static str; 2],
    ) -> Self {
        let read = |name: &str| Table::from_file(&folder.join(name), ',').unwrap();
        Self { rows: read(rows), nodes: read(nodes), names, keys: Vec::new() }
    }

    /// The mean squared errors on the hidden nodes' rows of these roles, by the method that the verdict advises.
    fn errors<const ROLES: usize>(
        &self,
        hidden: Hidden,
        more: &[&str],
        roles: [&str; ROLES],
    ) -> [f64; ROLES] {
        let Self { rows, nodes, names: [node, target], keys } = self;
        let (owners, split) = (rows.text(node).unwrap(), rows.text("split").unwrap());
        let all = nodes.text(node).unwrap();
        let mut sums = [(0.0, 0.0); ROLES];
        for fold in 0..5 {
            let is_hidden =
                |name: &String| all.iter().position(|own| own == name).unwrap() % 5 == fold;
            let folder = Folder::empty();
            let kept = (0..rows.rows()).filter(|&row| !is_hidden(&owners[row]));
            folder.write("rows.csv", rows.csv(kept));
            let is_known = |row: &usize| hidden == Hidden::InNetwork || !is_hidden(&all[*row]);
            folder.write("nodes.csv", nodes.csv((0..all.len()).filter(is_known)));
            folder.write("places.csv", nodes.csv((0..all.len()).filter(|row| !is_known(row))));
            let fit = ["fit", "--data", "rows.csv", "--node", node, "--target", target];
            let files = ["--split", "split", "--nodes", "nodes.csv", "--out", "run", "--quiet"];
            // What costs time and has no part in the models.
            let less = ["--set", "compare.likelihood_shuffles=0", "--set", "compare.shuffles=1"];
            folder.done(&[&fit[..], &files, &less, keys, more].concat());
            for (role, (squares, count)) in roles.iter().zip(&mut sums) {
                let is_asked = |&row: &usize| is_hidden(&owners[row]) && split[row] == *role;
                folder.write("new.csv", rows.csv((0..rows.rows()).filter(is_asked)));
                let predict = ["predict", "run", "--data", "new.csv", "--keep", target];
                let places = ["--nodes", "places.csv"];
                let away = if hidden == Hidden::Away { &places[..] } else { &[] };
                let found = folder.done(&[&predict[..], away].concat());
                let by = if hidden == Hidden::Away { "neighbours" } else { "own" };
                assert!(column(&found, "by").iter().all(|own| own == by));
                let pairs = numbers(&found, target).into_iter().zip(numbers(&found, "prediction"));
                for (truth, prediction) in pairs {
                    *squares += (truth - prediction).powi(2);
                    *count += 1.0;
                }
            }
        }
        sums.map(|(squares, count)| squares / count)
    }
}

/// The stations of Colorado, over the network that its data sheet tells of.
fn colorado() -> Option<World> {
    let folder = dataset("colorado_weather")?;
    let mut world = World::new((&folder, "readings.csv"), "stations.csv", ["station", "tmax"]);
    world.keys = vec!["--nearest", "8", "--features", "sin1,cos1,sin2,cos2"];
    Some(world)
}

const COLORADO_PLACES: [&str; 2] = ["--coordinates", "lon=85,lat=111,elevation_m=0.25"];

fn fmi_hourly() -> Option<World> {
    let folder = dataset("fmi_hourly")?;
    let mut world = World::new((&folder, "data.parquet"), "nodes.csv", ["node", "y"]);
    world.keys = vec!["--nearest", "5", "--coordinates", "lon=49,lat=111", "--features", "c*"];
    Some(world)
}

#[test]
#[ignore = "ten runs of two hundred nodes; run with make data"]
fn hidden_stations_are_predicted_by_their_neighbours() {
    if let Some(world) = colorado() {
        let [error] = world.errors(Hidden::Away, &COLORADO_PLACES, ["test"]);
        said(&format!("hidden stations of colorado_weather: mse {error:.3}"));
        assert!(error <= 6.6, "{error}");
    }
    if let Some(world) = fmi_hourly() {
        let [error] = world.errors(Hidden::Away, &[], ["test"]);
        said(&format!("hidden stations of fmi_hourly: mse {error:.3}"));
        assert!(error <= 8.3, "{error}");
    }
}

#[test]
#[ignore = "forty runs of two hundred nodes; run with make data"]
fn stations_without_rows_learn_in_the_network_from_those_around_them() {
    if let Some(world) = colorado() {
        let [error] = world.errors(Hidden::InNetwork, &COLORADO_PLACES, ["test"]);
        said(&format!("stations of colorado_weather without rows: mse {error:.3}"));
        assert!(error <= 6.35, "{error}");
        // How much a metre of height counts beside one of way is chosen on the validation rows of hidden stations, of which
        // no model has seen a row; the test rows have no say.
        let at = |scale: &str| {
            let places = format!("lon=85,lat=111,elevation_m={scale}");
            let more = ["--coordinates", &places];
            let [validation, test] = world.errors(Hidden::InNetwork, &more, ["val", "test"]);
            said(&format!(
                "a metre of height as {scale} km: validation {validation:.3}, test {test:.3}"
            ));
            (validation, test)
        };
        let tried = ["0.125", "0.25", "0.5", "1"].map(at);
        let (_, error) = tried.into_iter().min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
        said(&format!("the best of these on validation rows: mse {error:.3}"));
        assert!(error <= 6.3, "{error}");
    }
    if let Some(world) = fmi_hourly() {
        let [error] = world.errors(Hidden::InNetwork, &[], ["test"]);
        said(&format!("stations of fmi_hourly without rows: mse {error:.3}"));
        assert!(error <= 7.7, "{error}");
    }
}
