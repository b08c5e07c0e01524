//! What `fedgrid serve` answers: predictions by the models of a run.

use std::time::Duration;

use super::{
    Head, Limits, Models, Reply, Service,
    metrics::Metrics,
    route::{self, Route},
};

/// The models of a run, what is counted of requests, and what these must show.
#[derive(Debug)]
pub(crate) struct Predictions {
    pub(crate) models: Models,
    pub(crate) metrics: Metrics,
    /// What requests must show, if anything.
    pub(crate) token: Option<String>,
    /// The largest body of a request, in bytes.
    pub(super) body_bytes: usize,
    /// The most rows of a request.
    pub(super) rows: usize,
}

impl Predictions {
    pub(crate) fn new(models: Models, limits: Limits, token: Option<String>) -> Self {
        let Limits { body_bytes, rows, .. } = limits;
        Self { models, metrics: Metrics::default(), token, body_bytes, rows }
    }
}

impl Service for Predictions {
    type Route = Route;

    fn route(&self, path: &str) -> Route {
        Route::of(path)
    }

    fn check(&self, head: &Head) -> Result<Route, Reply> {
        route::check(self, head)
    }

    fn answer(&self, route: Route, head: &Head, body: &[u8], open: usize) -> Reply {
        route::answer(self, route, head, body, open)
    }

    fn count(&self, route: Route, status: u16, time: Duration) {
        self.metrics.count(route, status, time);
    }
}
