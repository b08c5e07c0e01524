//! What the server counts, as Prometheus reads it.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use super::{
    prometheus::{family, line},
    route::Route,
};

/// The statuses that are counted.
const STATUSES: [u16; 9] = [200, 400, 401, 404, 405, 408, 413, 429, 503];
/// The upper ends of the classes of times, in microseconds: a prediction takes some tens, a table of rows up to seconds.
const TIME_MICROSECONDS: [u64; 14] = [
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 500_000, 2_500_000,
    10_000_000,
];

/// The counters of a server.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    requests: [[AtomicU64; STATUSES.len()]; Route::ALL.len()],
    times: [AtomicU64; TIME_MICROSECONDS.len() + 1],
    microseconds: AtomicU64,
    /// Rows that were predicted.
    pub(super) rows: AtomicU64,
    /// Rows with a feature outside of the range of the training rows.
    pub(super) outside: AtomicU64,
    /// Rows of nodes that the run does not know.
    pub(super) unknown: AtomicU64,
}

/// What is known only when it is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Now {
    pub(super) connections: usize,
    pub(super) nodes: usize,
    pub(super) loaded: u64,
    pub(super) failed: u64,
    pub(super) is_broken: bool,
}

impl Metrics {
    /// Counts a request, and the time from its first byte until it was answered.
    pub(super) fn count(&self, route: Route, status: u16, time: Duration) {
        let place = STATUSES.iter().position(|known| *known == status).unwrap_or(1);
        self.requests[route as usize][place].fetch_add(1, Ordering::Relaxed);
        if route == Route::Predict {
            let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
            let place = TIME_MICROSECONDS.partition_point(|end| *end < micros);
            self.times[place].fetch_add(1, Ordering::Relaxed);
            self.microseconds.fetch_add(micros, Ordering::Relaxed);
        }
    }

    /// How many requests were answered.
    pub(crate) fn answered(&self) -> u64 {
        self.requests.iter().flatten().map(get).sum()
    }

    /// All of it in the text format of Prometheus.
    pub(super) fn text(&self, now: Now) -> String {
        let mut text = String::with_capacity(4096);
        family(&mut text, "fedgrid_requests_total", "counter", "Requests by path and status.");
        for route in Route::ALL {
            for (status, count) in STATUSES.iter().zip(&self.requests[route as usize]) {
                let count = get(count);
                // What has never happened is left out, but for what every server does.
                if count > 0 || (*status == 200 && route == Route::Predict) {
                    let path = route.path();
                    let labels = format!("{{path=\"{path}\",status=\"{status}\"}}");
                    line(&mut text, &format!("fedgrid_requests_total{labels}"), count);
                }
            }
        }
        self.add_times(&mut text);
        for (name, help, value) in [
            ("fedgrid_rows_total", "Rows that were predicted.", get(&self.rows)),
            (
                "fedgrid_rows_out_of_range_total",
                "Rows with a feature outside of the range that it has in the training rows.",
                get(&self.outside),
            ),
            (
                "fedgrid_rows_of_unknown_nodes_total",
                "Rows of nodes that the run does not know.",
                get(&self.unknown),
            ),
            ("fedgrid_models_loaded_total", "Times that models were loaded.", now.loaded),
            (
                "fedgrid_models_failed_total",
                "Times that a changed run folder could not be loaded.",
                now.failed,
            ),
        ] {
            family(&mut text, name, "counter", help);
            line(&mut text, name, value);
        }
        let connections = now.connections as u64;
        for (name, help, value) in [
            ("fedgrid_connections", "Connections that are open.", connections),
            ("fedgrid_nodes", "Nodes of the run.", now.nodes as u64),
            (
                "fedgrid_models_outdated",
                "1 if the run folder has changed and cannot be loaded, so that earlier models predict.",
                u64::from(now.is_broken),
            ),
        ] {
            family(&mut text, name, "gauge", help);
            line(&mut text, name, value);
        }
        text
    }

    fn add_times(&self, text: &mut String) {
        let name = "fedgrid_predict_seconds";
        family(
            text,
            name,
            "histogram",
            "Seconds from the first byte of a request to /predict until it was answered.",
        );
        let mut count = 0;
        for (end, own) in TIME_MICROSECONDS.iter().zip(&self.times) {
            count += get(own);
            line(text, &format!("{name}_bucket{{le=\"{}\"}}", seconds(*end)), count);
        }
        count += get(&self.times[TIME_MICROSECONDS.len()]);
        line(text, &format!("{name}_bucket{{le=\"+Inf\"}}"), count);
        line(text, &format!("{name}_sum"), seconds(get(&self.microseconds)));
        line(text, &format!("{name}_count"), count);
    }
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

#[expect(clippy::cast_precision_loss, reason = "2⁵³ microseconds are 285 years")]
fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_times_hold_all_that_is_below_their_ends() {
        let metrics = Metrics::default();
        for micros in [10, 50, 51, 20_000_000] {
            metrics.count(Route::Predict, 200, Duration::from_micros(micros));
        }
        metrics.count(Route::Nodes, 404, Duration::from_micros(1));
        let now = Now { connections: 3, nodes: 2, loaded: 1, failed: 0, is_broken: false };
        let text = metrics.text(now);
        for line in [
            "fedgrid_requests_total{path=\"/predict\",status=\"200\"} 4",
            "fedgrid_requests_total{path=\"/nodes\",status=\"404\"} 1",
            "fedgrid_predict_seconds_bucket{le=\"0.00005\"} 2",
            "fedgrid_predict_seconds_bucket{le=\"0.0001\"} 3",
            "fedgrid_predict_seconds_bucket{le=\"10\"} 3",
            "fedgrid_predict_seconds_bucket{le=\"+Inf\"} 4",
            "fedgrid_predict_seconds_count 4",
            "fedgrid_connections 3",
        ] {
            assert!(text.lines().any(|own| own == line), "{line}\n{text}");
        }
        assert_eq!(metrics.answered(), 5);
    }
}
