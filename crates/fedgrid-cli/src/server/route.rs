//! What is answered to which path.

use std::sync::atomic::Ordering;

use fedgrid_lab::serving::{AskedRows, Question, ReadyRun, UnknownRule};

use super::{
    Predictions,
    head::{Head, parameters},
    metrics::Now,
    reply::Reply,
};

/// A path that the server knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    Predict,
    Nodes,
    Metrics,
    Report,
    Other,
}

impl Route {
    pub(super) const ALL: [Self; 5] =
        [Self::Predict, Self::Nodes, Self::Metrics, Self::Report, Self::Other];

    pub(super) fn of(path: &str) -> Self {
        let known = Self::ALL.into_iter().find(|route| route.path() == path);
        known.unwrap_or(Self::Other)
    }

    /// The path, or `other`.
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Predict => "/predict",
            Self::Nodes => "/nodes",
            Self::Metrics => "/metrics",
            Self::Report => "/",
            Self::Other => "other",
        }
    }
}

/// Refuses a request by its head, before its body is read.
pub(super) fn check(shared: &Predictions, head: &Head) -> Result<Route, Reply> {
    let route = Route::of(&head.path);
    if let Some(token) = &shared.token {
        head.check_token(token)?;
    }
    let (allowed, is_allowed) = match route {
        Route::Predict => ("POST", head.method == "POST"),
        Route::Other => {
            let sentence = format!(
                "there is no {}, expected /predict, /nodes, /metrics or / (the report)",
                head.path
            );
            return Err(Reply::error(404, &sentence));
        }
        _ => ("GET, HEAD", matches!(head.method.as_str(), "GET" | "HEAD")),
    };
    if !is_allowed {
        return Err(Reply::wrong_method(route.path(), allowed));
    }
    let most = shared.body_bytes;
    if head.body.length > most {
        let sentence = format!("the body has {} bytes, allowed are {most}", head.body.length);
        return Err(Reply::error(413, &sentence));
    }
    Ok(route)
}

/// Answers a request that was not refused by its head.
pub(super) fn answer(
    shared: &Predictions,
    route: Route,
    head: &Head,
    body: &[u8],
    open: usize,
) -> Reply {
    let run = shared.models.now();
    match route {
        Route::Predict => match predict(shared, &run, head, body) {
            Ok(reply) | Err(reply) => reply,
        },
        Route::Nodes => Reply::nodes(run),
        Route::Metrics => Reply::metrics(shared.metrics.text(now(shared, &run, open))),
        Route::Report if run.page.is_none() => {
            Reply::error(404, "the run folder holds no report.html")
        }
        Route::Report => Reply::page(run),
        Route::Other => Reply::error(404, "there is nothing here"),
    }
}

fn now(shared: &Predictions, run: &ReadyRun, open: usize) -> Now {
    let models = &shared.models;
    Now {
        connections: open,
        nodes: run.advised().1,
        loaded: models.loaded.load(Ordering::Relaxed),
        failed: models.failed.load(Ordering::Relaxed),
        is_broken: models.is_broken.load(Ordering::Relaxed),
    }
}

fn predict(shared: &Predictions, run: &ReadyRun, head: &Head, body: &[u8]) -> Result<Reply, Reply> {
    let wrong = |error: fedgrid_lab::Error| Reply::error(400, &error.to_string());
    let question = question(&head.query)?;
    let most = shared.rows;
    let asked = match head.body.content.as_str() {
        "application/json" => run.json_rows(body, most),
        "text/csv" => run.csv_rows(body),
        other => {
            let sentence =
                format!("content-type is '{other}', expected application/json or text/csv");
            return Err(Reply::error(400, &sentence));
        }
    };
    let asked = asked.map_err(wrong)?;
    let AskedRows { count, .. } = asked;
    if count > most {
        let sentence = format!("the request has {count} rows, allowed are {most}");
        return Err(Reply::error(413, &sentence));
    }
    let found = run.answer(&question, &asked).map_err(wrong)?;
    let metrics = &shared.metrics;
    for (counter, count) in [
        (&metrics.rows, found.rows),
        (&metrics.outside, found.outside),
        (&metrics.unknown, found.unknown),
    ] {
        counter.fetch_add(count as u64, Ordering::Relaxed);
    }
    Ok(Reply::json(found.json))
}

/// What a query asks for.
fn question(query: &str) -> Result<Question, Reply> {
    let mut question = Question::default();
    for (name, value) in parameters(query)? {
        let expected = match name.as_str() {
            "use" => {
                question.used = Some(value);
                continue;
            }
            "interval" => {
                let level = value.parse().ok().filter(|level| *level > 0.0 && *level < 1.0);
                question.interval = level;
                level.is_none().then_some("a share of rows between 0 and 1, such as 0.9")
            }
            "unknown" => {
                question.unknown = UnknownRule::named(&value);
                question.unknown.is_none().then_some("refuse, pooled or neighbours")
            }
            _ => {
                let sentence =
                    format!("unknown parameter '{name}'; known are use, interval, unknown");
                return Err(Reply::error(400, &sentence));
            }
        };
        if let Some(expected) = expected {
            return Err(Reply::error(400, &format!("{name} is '{value}', expected {expected}")));
        }
    }
    Ok(question)
}
