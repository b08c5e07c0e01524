//! The page of an agent, on this machine only:
//!
//! ```text
//! GET /          the page, which holds nothing of the agent yet
//! GET /events    statuses as they come, as server-sent events        with the token
//! GET /status    the status as JSON                                   with the token
//! GET /metrics   numbers for Prometheus                               with the token
//! ```
//!
//! The token stands behind the `#` of the page's address, which browsers send to nobody; the page's script shows it
//! in the header `authorization`, as Prometheus does. A page of another site that a browser has open can neither read
//! it nor send it.

mod metrics;
mod token;
mod watched;

use std::{
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::Path,
    sync::Arc,
    time::Duration,
};

use serde_json::json;

use self::{token::PageToken, watched::Snapshot};
use crate::{
    server::{EventSource, Head, Limits, Reply, Server, Service, Shared},
    terminal::Terminal,
};
use fedgrid_lab::{
    error::{Error, Result},
    report::live::{chart_over_rounds, style},
};
pub(super) use watched::Watched;

const PAGE: &str = include_str!("page.html");
const SCRIPT: &str = include_str!("page.js");
const STYLE: &str = include_str!("page.css");

/// What the page allows: some people who look, and Prometheus.
const LIMITS: Limits =
    Limits { body_bytes: 0, rows: 0, connections: 32, patience: Duration::from_secs(10) };
/// How often a page is told of what is new: people see no more, and a chart is drawn each time.
const TELL_EVERY: Duration = Duration::from_millis(500);
/// How long there may be nothing new before the page is told so.
const QUIET: Duration = Duration::from_secs(2);

/// The page of an agent while it is served.
pub(super) struct ServedPage(Option<Server<AgentPage>>);

impl Drop for ServedPage {
    fn drop(&mut self) {
        if let Some(server) = self.0.take() {
            server.stop();
        }
    }
}

/// Serves the page at a port of this machine, and says where; the token is that of a file, or of the folder.
pub(super) fn serve(
    port: u16,
    token: Option<&Path>,
    folder: &Path,
    watched: &Arc<Watched>,
    terminal: Terminal,
) -> Result<ServedPage> {
    let token = token.map_or_else(|| PageToken::kept(folder), PageToken::given)?;
    let wanted = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let deaf = |error: std::io::Error| {
        Error::input(format!("cannot listen at {wanted}: {error}; give another port with --page"))
    };
    let listener = TcpListener::bind(wanted).map_err(deaf)?;
    let address = listener.local_addr().map_err(deaf)?;
    // Once: what a service says at every start is kept in logs that others read.
    let shown = if token.is_new { format!("#{}", token.text) } else { String::new() };
    let file = token.path.display();
    let again = if token.is_new { "; its token is kept in" } else { "; its token is in" };
    terminal.say(&format!("The page of this site: http://{address}/{shown}{again} {file}"));
    let page = AgentPage { token: token.text, watched: Arc::clone(watched) };
    let server = Server::begin(listener, Arc::new(Shared::new(page, LIMITS))).map_err(deaf)?;
    Ok(ServedPage(Some(server)))
}

/// What is served.
struct AgentPage {
    token: String,
    watched: Arc<Watched>,
}

/// A path that it knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PageRoute {
    Page,
    Events,
    Status,
    Metrics,
    Other,
}

impl Service for AgentPage {
    type Route = PageRoute;

    fn route(&self, path: &str) -> PageRoute {
        match path {
            "/" => PageRoute::Page,
            "/events" => PageRoute::Events,
            "/status" => PageRoute::Status,
            "/metrics" => PageRoute::Metrics,
            _ => PageRoute::Other,
        }
    }

    fn check(&self, head: &Head) -> std::result::Result<PageRoute, Reply> {
        let route = self.route(&head.path);
        if route == PageRoute::Other {
            let sentence =
                format!("there is no {}, expected /, /events, /status or /metrics", head.path);
            return Err(Reply::error(404, &sentence));
        }
        // The page itself tells nothing, and its script has the token.
        if route != PageRoute::Page {
            head.check_token(&self.token)?;
        }
        if !matches!(head.method.as_str(), "GET" | "HEAD") {
            return Err(Reply::wrong_method(&head.path, "GET, HEAD"));
        }
        if head.has_body() {
            return Err(Reply::error(413, "the request has a body, expected none"));
        }
        Ok(route)
    }

    fn answer(&self, route: PageRoute, _: &Head, _: &[u8], _: usize) -> Reply {
        match route {
            PageRoute::Page => Reply::html(page()),
            PageRoute::Events => Reply::events(self.events()),
            PageRoute::Status => Reply::json(told(&self.watched.now())),
            PageRoute::Metrics => Reply::metrics(metrics::text(&self.watched.now().status)),
            PageRoute::Other => Reply::error(404, "there is nothing here"),
        }
    }
}

impl AgentPage {
    /// Every status that is new, but not more often than people see.
    fn events(&self) -> EventSource {
        let (watched, mut version) = (Arc::clone(&self.watched), 0);
        EventSource::new(move || {
            if version > 0 {
                std::thread::sleep(TELL_EVERY);
            }
            let Some(now) = watched.newer(version, QUIET) else { return String::new() };
            version = now.version;
            // JSON has no line ends, which would end an event.
            format!("event: status\ndata: {}\n\n", told(&now))
        })
    }
}

/// The page with its style and script.
fn page() -> String {
    let style = [style(), STYLE].concat();
    PAGE.replace("{{ style }}", &style).replace("{{ script }}", SCRIPT)
}

/// What a page is told: the status, charts that are ready to be shown, and what has happened.
fn told(now: &Snapshot) -> String {
    let residual = now.rounds.iter().map(|point| (point.round, point.residual));
    let gap = now.rounds.iter().filter_map(|point| Some((point.round, point.gap?)));
    let mut status = json!(now.status);
    // All that is kept stands in the place of the last few.
    status["events"] = json!(now.events);
    json!({
        "status": status,
        "missed_events": now.missed_events,
        "residual": chart_over_rounds("Residual by round, on a logarithmic axis", residual),
        "gap": chart_over_rounds("Gap by round, on a logarithmic axis", gap),
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_whole_and_asks_nothing_of_any_other_host() {
        let page = page();
        for left in ["{{", "http://", "https://", "src=", "@import"] {
            assert!(!page.contains(left), "{left}");
        }
        // Whoever is served the page without a token learns nothing of the agent.
        assert!(page.contains("connect-src 'self'") && page.contains("default-src 'none'"));
    }
}
