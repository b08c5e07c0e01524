//! What is answered is what `predict` says, to the bit.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Server, objects};
use crate::common::Folder;

/// What `predict --json` says of the rows.
fn predicted(folder: &Folder, arguments: &[&str]) -> Value {
    let asked = ["predict", "run", "--data", "rows.csv", "--json"];
    serde_json::from_str(&folder.done(&[&asked[..], arguments].concat())).unwrap()
}

/// The notes without what each says in its own words of how to ask for another method.
fn notes(answer: &Value) -> Vec<String> {
    let all = answer["notes"].as_array().unwrap().iter();
    all.map(|note| note.as_str().unwrap().replace("--use takes", "use takes")).collect()
}

#[test]
fn requests_are_answered_as_predict_does_to_the_bit() {
    let folder = Folder::new();
    folder.fit("run", &[]);
    // A node that the run has never seen, and a row outside of all ranges.
    folder.append("rows.csv", "new,0.1,0.2,1,test\na,1e3,-2.5e-3,1,test\n");
    let rows = folder.read("rows.csv");
    let server = Server::new(&folder, "run", &[]);
    let list = objects(&rows, &["x", "z"]);
    let whole = format!("[{}]", list.join(","));
    for (flags, query) in [
        (&[][..], ""),
        (&["--use", "pooled"], "?use=pooled"),
        (&["--use", "mixed", "--interval", "0.8"], "?use=mixed&interval=0.8"),
        (&["--interval", "0.5", "--unknown", "pooled"], "?unknown=pooled&interval=0.5"),
    ] {
        let expected = predicted(&folder, flags);
        let reply = server.predict(query, &whole);
        assert_eq!(reply.status, 200, "{}", reply.body);
        let found = reply.json();
        assert_eq!(found["predictions"], expected["predictions"], "{query}");
        assert_eq!(notes(&found), notes(&expected), "{query}");
        assert_eq!(
            (&found["method"], &found["advised"]),
            (&expected["method"], &expected["advised"])
        );
        let path = format!("/predict{query}");
        let by_csv = server.connect().ask("POST", &path, &["content-type: text/csv"], &rows);
        assert_eq!(by_csv.json()["predictions"], expected["predictions"], "{query}");
        // Row by row on one connection, as one object each.
        let mut client = server.connect();
        for (row, object) in list.iter().enumerate() {
            let mut found = client.predict(query, object).json()["predictions"][0].take();
            assert_eq!(found["row"], 1);
            found["row"] = json!(row + 1);
            assert_eq!(found, expected["predictions"][row], "{query}");
        }
    }
}

#[test]
fn classes_come_with_their_probabilities() {
    let folder = Folder::with_classes();
    folder.fit("run", &["--quick"]);
    let server = Server::new(&folder, "run", &[]);
    let list = objects(&folder.read("rows.csv"), &["x", "z"]);
    let expected = predicted(&folder, &[]);
    let found = server.predict("", &format!("[{}]", list.join(","))).json();
    assert_eq!(found["predictions"], expected["predictions"]);
    assert!(found["predictions"][0]["probabilities"]["warm"].is_f64());
    let refusal = server.predict("?interval=0.9", &list[0]);
    assert_eq!(refusal.status, 400);
    assert!(refusal.error().starts_with("intervals are for numbers, and 'y' holds classes"));
}

#[test]
fn categories_dates_truths_and_gaps_are_read_as_in_a_file() {
    let folder = Folder::new();
    let rows = folder.read("rows.csv");
    let mut lines = rows.lines();
    let mut text = lines.next().unwrap().to_string() + ",kind,day,open\n";
    for (row, line) in lines.enumerate() {
        let kind = ["tv", "flyer", ""][row % 3];
        writeln!(text, "{line},{kind},2024-01-{:02},{}", row % 28 + 1, row % 4 < 2).unwrap();
    }
    folder.write("rows.csv", &text);
    folder.fit("run", &["--quick", "--set", "data.missing=\"indicator\""]);
    let server = Server::new(&folder, "run", &[]);
    let expected = predicted(&folder, &[]);
    let list = objects(&text, &["x", "z", "open"]);
    let list: Vec<String> = list.iter().map(|row| row.replace("\"\"", "null")).collect();
    let found = server.predict("", &format!("[{}]", list.join(",")));
    assert_eq!(found.json()["predictions"], expected["predictions"], "{}", found.body);
    // A key that a row does not have is a gap, as an empty cell is.
    let without: Vec<String> = list.iter().map(|row| row.replace("\"kind\": null, ", "")).collect();
    assert_ne!(list, without);
    let found = server.predict("", &format!("[{}]", without.join(",")));
    assert_eq!(found.json()["predictions"], expected["predictions"], "{}", found.body);
}

#[test]
fn models_with_lags_are_told_rows_of_the_time_before() {
    let folder = Folder::new();
    let rows = folder.read("rows.csv");
    let mut lines = rows.lines();
    let mut text = lines.next().unwrap().replace(",split", ",day") + "\n";
    for (row, line) in lines.enumerate() {
        let cells = line.rsplit_once(',').unwrap().0;
        writeln!(text, "{cells},2024-01-{:02}", row % 8 + 1).unwrap();
    }
    folder.write("rows.csv", &text);
    folder.edit("experiment.toml", "split = \"split\"\n", "time = \"day\"\nmissing = \"drop\"\n");
    folder.append(
        "experiment.toml",
        "[data.lags.y]\nlags = [1]\n[data.split]\nby = \"time\"\ntrain = 0.6\nvalidation = 0.2\n",
    );
    folder.fit("run", &["--quick"]);
    folder.write("next.csv", "node,x,z,day\na,0.5,0.25,2024-01-09\n");
    let asked = ["predict", "run", "--data", "next.csv", "--history", "rows.csv", "--json"];
    let expected: Value = serde_json::from_str(&folder.done(&asked)).unwrap();
    let history = objects(&text, &["x", "z", "y"]).join(",");
    let row = objects(&folder.read("next.csv"), &["x", "z"]).join(",");
    let server = Server::new(&folder, "run", &[]);
    let found = server.predict("", &format!("{{\"rows\": [{row}], \"history\": [{history}]}}"));
    assert_eq!(found.json()["predictions"], expected["predictions"], "{}", found.body);
    assert_eq!(server.predict("", &row).status, 400, "the time before is not there");
}

#[test]
fn a_run_without_places_takes_neighbours_of_new_nodes_from_edges() {
    let folder = Folder::new();
    folder.fit("run", &["--quick"]);
    folder.write("new_edges.csv", "src,dst,weight\nnew,a,1\nnew,b,3\n");
    folder.write("rows.csv", "node,x,z\nnew,0.1,0.2\n");
    let server = Server::new(&folder, "run", &["--edges", "new_edges.csv"]);
    let expected = predicted(&folder, &["--edges", "new_edges.csv", "--use", "network"]);
    let found = server.predict("?use=network", r#"{"node": "new", "x": 0.1, "z": 0.2}"#).json();
    assert_eq!(found["predictions"], expected["predictions"]);
    assert_eq!(found["predictions"][0]["by"], "neighbours");
    assert_eq!(server.metric("fedgrid_rows_of_unknown_nodes_total"), 1);
}

#[test]
fn nodes_metrics_and_report_are_there() {
    let folder = Folder::new();
    folder.fit("run", &["--quick"]);
    let server = Server::new(&folder, "run", &[]);
    let nodes = server.get("/nodes").json();
    assert_eq!(nodes["nodes"], json!(["a", "b", "c", "d", "e", "f"]));
    assert_eq!(nodes["columns"], json!(["node", "x", "z"]));
    assert_eq!((&nodes["target"], &nodes["methods"][0]), (&json!("y"), &json!("network")));
    assert_eq!(server.get("/").body, folder.read("run/report.html"));
    let head = {
        let mut client = server.connect();
        client.send(b"HEAD / HTTP/1.1\r\nconnection: close\r\n\r\n");
        let mut text = String::new();
        std::io::Read::read_to_string(&mut client.stream, &mut text).unwrap();
        text
    };
    let length = folder.read("run/report.html").len();
    assert!(head.contains(&format!("content-length: {length}\r\n")) && head.ends_with("\r\n\r\n"));
    server.predict("", r#"[{"node": "a", "x": 99, "z": 0}, {"node": "q", "x": 0, "z": 0}]"#);
    for (name, value) in [
        ("fedgrid_requests_total{path=\"/predict\",status=\"200\"}", 1),
        ("fedgrid_requests_total{path=\"/nodes\",status=\"200\"}", 1),
        ("fedgrid_predict_seconds_count", 1),
        ("fedgrid_rows_total", 2),
        ("fedgrid_rows_out_of_range_total", 1),
        ("fedgrid_rows_of_unknown_nodes_total", 1),
        ("fedgrid_models_loaded_total", 1),
        ("fedgrid_models_outdated", 0),
        ("fedgrid_nodes", 6),
    ] {
        assert_eq!(server.metric(name), value, "{name}");
    }
}
