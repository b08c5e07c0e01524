//! Why links do not come up: what Zenoh writes to its log and tells nobody else.
//!
//! A session opens although a neighbour shows a certificate of another project, and tries again
//! without end. The sentences that say so are read here, so that the agent can name the neighbour. Only
//! the program itself may say who reads its log, so it has to call [`watch_log`]; without it such a
//! neighbour is waited for like any other.

use std::{
    collections::BTreeMap,
    fmt::{self, Write},
    sync::{Mutex, Once, PoisonError},
    time::{Duration, Instant},
};

use tracing_core::{
    Dispatch, Event, Interest, LevelFilter, Metadata, Subscriber, dispatcher,
    field::{Field, Visit},
    span,
};

/// Where Zenoh says that a link did not come up: the one that calls, and those that are called.
const SOURCES: [&str; 3] = ["zenoh::net::runtime", "zenoh_link_commons::quic", "zenoh_link_tls"];
/// How the sentences of one that calls begin, before the endpoint.
const FAILED: &str = "Unable to connect to configured peer ";
/// For how long a sentence is believed: a caller tries again every second, so five without another one mean
/// that the fault has gone.
const BELIEVED_FOR: Duration = Duration::from_secs(5);

/// In place of an endpoint: those who call.
pub(super) const CALLERS: &str = "";

/// The latest fault of each endpoint.
static FAULTS: Mutex<BTreeMap<String, (Fault, Instant)>> = Mutex::new(BTreeMap::new());

/// What is wrong with the certificate at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Another authority has signed it.
    Stranger,
    /// Its time is over, or has not come.
    Expired,
    /// It is for another host.
    Elsewhere,
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Stranger => "its certificate is of another project",
            Self::Expired => "its certificate is not good at this time",
            Self::Elsewhere => "its certificate is for another address",
        })
    }
}

impl Fault {
    /// What a sentence or an alert of rustls says of a certificate.
    fn read(said: &str) -> Option<Self> {
        let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
        if has(&["UnknownIssuer", "UnknownCA", "BadSignature", "DecryptError"]) {
            Some(Self::Stranger)
        } else if has(&["Expired", "NotValidYet"]) {
            Some(Self::Expired)
        } else if has(&["NotValidForName"]) {
            Some(Self::Elsewhere)
        } else {
            None
        }
    }
}

/// Makes this the reader of the program's log, unless there is another one. For programs, not for
/// libraries: there is one such reader in a process.
pub fn watch_log() {
    static BEGUN: Once = Once::new();
    BEGUN.call_once(|| {
        let _ = dispatcher::set_global_default(Dispatch::new(Listener));
    });
}

/// What was wrong, lately, at an endpoint that is called, or with [`CALLERS`].
pub(super) fn fault(endpoint: &str) -> Option<Fault> {
    let heard = FAULTS.lock().unwrap_or_else(PoisonError::into_inner);
    heard.get(endpoint).filter(|(_, when)| when.elapsed() < BELIEVED_FOR).map(|(fault, _)| *fault)
}

/// Keeps what a sentence says of a certificate.
fn note(said: &str) {
    let Some(fault) = Fault::read(said) else { return };
    let endpoint = said.strip_prefix(FAILED).and_then(|rest| rest.split_once('!'));
    let endpoint = endpoint.map_or(CALLERS, |(endpoint, _)| endpoint).to_string();
    FAULTS.lock().unwrap_or_else(PoisonError::into_inner).insert(endpoint, (fault, Instant::now()));
}

fn is_source(metadata: &Metadata<'_>) -> bool {
    metadata.is_event() && SOURCES.iter().any(|source| metadata.target().starts_with(source))
}

struct Listener;

impl Subscriber for Listener {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if is_source(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        is_source(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::DEBUG)
    }

    fn event(&self, event: &Event<'_>) {
        let mut said = Said(String::new());
        event.record(&mut said);
        note(&said.0);
    }

    // Spans are of no interest.
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// The message of an event.
struct Said(String);

impl Visit for Said {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            let _ = write!(self.0, "{value:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_a_certificate_is_kept_by_endpoint() {
        note(
            "Unable to connect to configured peer quic/10.0.0.1:7! no: invalid peer certificate: \
              UnknownIssuer at a.rs:5.. Retry in 100ms.",
        );
        note(
            "Unable to connect to configured peer tls/10.0.0.2:7! no: invalid peer certificate: \
              NotValidForName at a.rs:5.. Retry in 100ms.",
        );
        note(
            "Unable to connect to configured peer tls/10.0.0.3:7! Connection refused. Retry in 1s.",
        );
        note(
            "received fatal alert: CertificateExpired. Hint: increase the system open file limit.",
        );
        assert_eq!(fault("quic/10.0.0.1:7"), Some(Fault::Stranger));
        assert_eq!(fault("tls/10.0.0.2:7"), Some(Fault::Elsewhere));
        assert_eq!(fault("tls/10.0.0.3:7"), None);
        assert_eq!(fault(CALLERS), Some(Fault::Expired));
    }
}
