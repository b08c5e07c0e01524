//! Predictions of tree models for rows of a file, to be compared with another library:
//! `tree_models KIND TASK SEED TRAIN TEST [KEY=VALUE …]`, rows of `weight target feature …`.

#![expect(clippy::print_stdout, reason = "an example prints what it computes")]

use std::{collections::BTreeMap, error::Error, time::Instant};

use fedgrid::{
    data::{Dataset, Features, Labels},
    model::{Boosting, ExtraTrees, Forest, LocalModel, Tree, Tried},
};

/// The rows of a file; a task of zero classes is regression.
fn read(path: &str, classes: usize) -> Result<Dataset, Box<dyn Error>> {
    let (mut weights, mut targets, mut values, mut columns) = (vec![], vec![], vec![], 0);
    for line in std::fs::read_to_string(path)?.lines() {
        let row = line.split(' ').map(str::parse).collect::<Result<Vec<f64>, _>>()?;
        weights.push(row[0]);
        targets.push(row[1]);
        values.extend_from_slice(&row[2..]);
        columns = row.len() - 2;
    }
    let names: Vec<String> = (0..columns).map(|column| format!("x{column}")).collect();
    let labels = if classes == 0 {
        Labels::values(targets)
    } else {
        let class = |y: &f64| (0..classes).find(|class| (*class as f64 - y).abs() < 0.5);
        Labels::classes(classes, &targets.iter().filter_map(class).collect::<Vec<_>>())?
    };
    Ok(Dataset::weighted(Features::new(names.into(), values)?, labels, weights)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, kind, classes, seed, train, test, rest @ ..] = arguments.as_slice() else {
        return Err("expected KIND CLASSES SEED TRAIN TEST [KEY=VALUE …]".into());
    };
    let (classes, seed) = (classes.parse()?, seed.parse()?);
    let keys: BTreeMap<&str, &str> = rest.iter().filter_map(|key| key.split_once('=')).collect();
    let count = |key, default| keys.get(key).map_or(Ok(default), |value| value.parse());
    let features = match keys.get("features") {
        Some(share) => Tried::Share(share.parse()?),
        None => Tried::Auto,
    };
    let min_leaf_weight = keys.get("leaf").map_or(Ok(0.0), |value| value.parse())?;
    let trees = count("trees", 100)?;
    let model: Box<dyn LocalModel> = match kind.as_str() {
        "tree" => Box::new(Tree { max_depth: count("depth", 5)?, min_leaf_weight }),
        "forest" => Box::new(Forest { trees, features, seed, ..Forest::default() }),
        "extra" => Box::new(ExtraTrees { trees, features, seed, ..ExtraTrees::default() }),
        _ => {
            Box::new(Boosting { trees, max_depth: count("depth", 3)?, seed, ..Boosting::default() })
        }
    };
    let (train, test) = (read(train, classes)?, read(test, classes)?);
    let begin = Instant::now();
    let hypothesis = model.fit(&train)?;
    println!("{}", begin.elapsed().as_secs_f64());
    let predictions = hypothesis.predict(test.features());
    for row in 0..predictions.rows() {
        let row: Vec<String> = predictions.row(row).iter().map(ToString::to_string).collect();
        println!("{}", row.join(" "));
    }
    Ok(())
}
