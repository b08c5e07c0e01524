//! Up to a million nodes: time to a relative error of 1e-3, time of a step and node, memory.

use std::{fs, time::Instant};

use fedgrid::optimum::gtv::{Coupled, FirstOrder, Goal, Losses, minimise, run_iterations};

use super::{NORM, instance::Instance};

pub(crate) fn scale() {
    let mut per_node = Vec::new();
    for nodes in [10_000, 100_000, 1_000_000] {
        let instance = Instance { nodes, features: 10, seed: 0 };
        let (network, data) = (instance.network(), instance.data());
        let coupled = Coupled { alpha: 1e-2, penalty: NORM };
        let begun = Instant::now();
        let losses = Losses::new(&data, true).expect("linear models can be coupled");
        let prepared = begun.elapsed().as_secs_f64();
        drop(data);
        let (begun, used) = (Instant::now(), processor_seconds());
        let mut reached = Vec::new();
        let count = (150, 10);
        run_iterations(&losses, &network, coupled, FirstOrder::Adaptive, count, |step, value| {
            reached.push((step, value, begun.elapsed().as_secs_f64()));
            false
        })
        .expect("the strength is right");
        let least = reached.iter().map(|(_, value, _)| *value).fold(f64::INFINITY, f64::min);
        let (step, _, time) = *reached
            .iter()
            .find(|(_, value, _)| value - least <= 1e-3 * least)
            .expect("the last one is");
        let each = 150.0 * nodes as f64;
        let (wall, used) = (begun.elapsed().as_secs_f64(), processor_seconds() - used);
        per_node.push((wall / each, used / each));
        println!(
            "scale, {nodes} nodes, {} edges, 10 features: losses {prepared:.1} s, relative error 1e-3 after {step} steps and {time:.1} s; {:.0} ns a step and node, {:.0} of a processor",
            network.edges().len(),
            1e9 * wall / each,
            1e9 * used / each
        );
        let begun = Instant::now();
        let goal = Goal { tolerance: 1e-2, steps: 120 };
        let found = minimise(&losses, &network, coupled, None, goal).expect("it can be solved");
        println!(
            "   minimise: objective {:.6}, certified relative gap {:?}, {} steps in {:.1} s, peak memory {} MB",
            found.objective,
            found.relative_gap(),
            found.steps,
            begun.elapsed().as_secs_f64(),
            peak_memory()
        );
    }
    println!(
        "time a step and node grows by {:.2} from 10⁴ to 10⁶ nodes (3), of a processor by {:.2}",
        per_node[2].0 / per_node[0].0,
        per_node[2].1 / per_node[0].1
    );
}

/// The largest resident memory of this process in megabytes, where the system tells.
fn peak_memory() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("");
    let kilobytes = line.split_whitespace().nth(1).and_then(|text| text.parse::<f64>().ok());
    kilobytes.map_or("unknown".into(), |kilobytes| format!("{:.0}", kilobytes / 1024.0))
}

/// The seconds that this process has been on processors: fields 14 and 15 of its status, in hundredths.
fn processor_seconds() -> f64 {
    let status = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = status.rsplit(") ").next().unwrap_or("").split(' ').skip(11).take(2);
    fields.filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / 100.0
}
