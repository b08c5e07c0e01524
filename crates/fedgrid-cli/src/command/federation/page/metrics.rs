//! What an agent counts, as Prometheus reads it. The dashboard in `packaging/` uses these names.

use fedgrid_zenoh::agent::{NeighbourStatus, Phase, Status};

use crate::server::prometheus::{family, line};

/// A family of numbers of an agent.
struct Family<T> {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    /// Its number; none leaves it out.
    value: fn(&T) -> Option<f64>,
}

/// Numbers of the agent.
const OWN: [Family<Status>; 15] = [
    Family {
        name: "fedgrid_agent_rounds_total",
        kind: "counter",
        help: "Rounds that are done. It falls to that of the checkpoint when an agent is started again.",
        value: |status| Some(status.round as f64),
    },
    Family {
        name: "fedgrid_agent_starts_total",
        kind: "counter",
        help: "Times that the agent has started in this run.",
        value: |status| Some(status.epoch as f64),
    },
    Family {
        name: "fedgrid_agent_last_round_age_seconds",
        kind: "gauge",
        help: "Seconds since the last round was done, or since the start.",
        value: |status| Some(status.round_age_seconds),
    },
    Family {
        name: "fedgrid_agent_behind_rounds",
        kind: "gauge",
        help: "Rounds by which the last durable round of the slowest neighbour is behind.",
        value: |status| Some(status.staleness() as f64),
    },
    Family {
        name: "fedgrid_agent_waiting_neighbours",
        kind: "gauge",
        help: "Neighbours that the round waits for.",
        value: |status| Some(status.waiting_for.len() as f64),
    },
    Family {
        name: "fedgrid_agent_refused_frames_total",
        kind: "counter",
        help: "Frames that were not accepted.",
        value: |status| Some(status.refused as f64),
    },
    Family {
        name: "fedgrid_agent_residual_ratio",
        kind: "gauge",
        help: "How far the last round moved the nodes, relative to their size.",
        value: |status| Some(status.residual),
    },
    Family {
        name: "fedgrid_agent_objective_gap",
        kind: "gauge",
        help: "A bound on the objective above its minimum, where there is one.",
        value: |status| status.gap,
    },
    Family {
        name: "fedgrid_agent_training_loss",
        kind: "gauge",
        help: "The sum over its nodes of the loss at the start of the last round.",
        value: |status| Some(status.loss),
    },
    Family {
        name: "fedgrid_agent_validation_error",
        kind: "gauge",
        help: "The mean error on validation rows of its own, where it has some.",
        value: |status| status.validation,
    },
    Family {
        name: "fedgrid_agent_checkpoints_total",
        kind: "counter",
        help: "Times that state was made durable since the start.",
        value: |status| Some(status.checkpoints as f64),
    },
    Family {
        name: "fedgrid_agent_checkpoint_seconds_total",
        kind: "counter",
        help: "Seconds that making state durable took since the start.",
        value: |status| Some(status.checkpoint_seconds),
    },
    Family {
        name: "fedgrid_agent_audit_records_total",
        kind: "counter",
        help: "Frames in the log of what was sent.",
        value: |status| status.audit_records.map(|records| records as f64),
    },
    Family {
        name: "fedgrid_agent_nodes",
        kind: "gauge",
        help: "Nodes that it hosts.",
        value: |status| Some(status.nodes as f64),
    },
    Family {
        name: "fedgrid_agent_finished",
        kind: "gauge",
        help: "1 if training has ended.",
        value: |status| Some(f64::from(u8::from(status.phase == Phase::Finished))),
    },
];

/// Numbers of each neighbour.
const OF_NEIGHBOURS: [Family<NeighbourStatus>; 7] = [
    Family {
        name: "fedgrid_agent_sent_bytes_total",
        kind: "counter",
        help: "Bytes of frames that were sent to a neighbour since the start.",
        value: |seen| Some(seen.sent.bytes as f64),
    },
    Family {
        name: "fedgrid_agent_sent_frames_total",
        kind: "counter",
        help: "Frames that were sent to a neighbour since the start.",
        value: |seen| Some(seen.sent.frames as f64),
    },
    Family {
        name: "fedgrid_agent_received_bytes_total",
        kind: "counter",
        help: "Bytes of frames of a neighbour that were accepted since the start.",
        value: |seen| Some(seen.received.bytes as f64),
    },
    Family {
        name: "fedgrid_agent_received_frames_total",
        kind: "counter",
        help: "Frames of a neighbour that were accepted since the start.",
        value: |seen| Some(seen.received.frames as f64),
    },
    Family {
        name: "fedgrid_agent_neighbour_connected",
        kind: "gauge",
        help: "1 if there is a link to the neighbour.",
        value: |seen| Some(f64::from(u8::from(seen.there))),
    },
    Family {
        name: "fedgrid_agent_neighbour_awaited",
        kind: "gauge",
        help: "1 if the round waits for the neighbour.",
        value: |seen| Some(f64::from(u8::from(seen.awaited))),
    },
    Family {
        name: "fedgrid_agent_neighbour_durable_rounds_total",
        kind: "counter",
        help: "The last round that is safe at the neighbour.",
        value: |seen| Some(seen.round as f64),
    },
];

/// All of it in the text format of Prometheus.
pub(super) fn text(status: &Status) -> String {
    let mut text = String::with_capacity(4096);
    let about = "fedgrid_agent_info";
    family(&mut text, about, "gauge", "1; the labels say whose numbers these are.");
    let labels = [
        ("site", &status.process),
        ("run", &status.run),
        ("version", &status.version),
        ("manifest", &status.manifest.to_string()),
    ];
    let labels = labels.map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
    line(&mut text, &format!("{about}{{{}}}", labels.join(",")), 1);
    for Family { name, kind, help, value } in &OWN {
        if let Some(value) = value(status) {
            family(&mut text, name, kind, help);
            line(&mut text, name, value);
        }
    }
    for Family { name, kind, help, value } in &OF_NEIGHBOURS {
        family(&mut text, name, kind, help);
        for seen in &status.neighbours {
            if let Some(value) = value(seen) {
                let of = format!("{name}{{neighbour=\"{}\"}}", escaped(&seen.name));
                line(&mut text, &of, value);
            }
        }
    }
    text
}

/// A text as the value of a label.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use fedgrid_zenoh::agent::Traffic;

    use super::*;

    const DASHBOARD: &str = include_str!("../../../../../../packaging/grafana-fedgrid-agents.json");

    fn names() -> BTreeSet<&'static str> {
        let own = OWN.iter().map(|family| family.name);
        let others = OF_NEIGHBOURS.iter().map(|family| family.name);
        own.chain(others).chain(["fedgrid_agent_info"]).collect()
    }

    /// All words of a text that are names of an agent's numbers.
    fn named(text: &str) -> BTreeSet<&str> {
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let words = text.split(|letter| !is_part(letter));
        words.filter(|word| word.starts_with("fedgrid_agent_")).collect()
    }

    #[test]
    fn the_dashboard_uses_every_number_and_no_other() {
        serde_json::from_str::<serde_json::Value>(DASHBOARD).unwrap();
        assert_eq!(named(DASHBOARD), names());
    }

    #[test]
    fn counters_end_with_total_and_nothing_else_does() {
        for (name, kind) in OWN
            .iter()
            .map(|family| (family.name, family.kind))
            .chain(OF_NEIGHBOURS.iter().map(|family| (family.name, family.kind)))
        {
            assert_eq!(name.ends_with("_total"), kind == "counter", "{name}");
        }
    }

    #[test]
    fn every_number_is_there_with_its_neighbour() {
        let neighbour = NeighbourStatus {
            name: "we\"st".into(),
            there: true,
            sent: Traffic { frames: 2, bytes: 300 },
            ..NeighbourStatus::default()
        };
        let status = Status {
            process: "east".into(),
            round: 12,
            gap: Some(0.5),
            validation: Some(1.5),
            audit_records: Some(9),
            neighbours: vec![neighbour],
            ..Status::default()
        };
        let text = text(&status);
        for line in [
            "fedgrid_agent_rounds_total 12",
            "fedgrid_agent_objective_gap 0.5",
            "fedgrid_agent_sent_bytes_total{neighbour=\"we\\\"st\"} 300",
            "fedgrid_agent_neighbour_connected{neighbour=\"we\\\"st\"} 1",
        ] {
            assert!(text.lines().any(|own| own == line), "{line}\n{text}");
        }
        assert_eq!(named(&text), names());
        // What is not known is left out, rather than told as zero.
        assert!(!super::text(&Status::default()).contains("fedgrid_agent_objective_gap"));
    }
}
