//! The settings of a Zenoh session, made from the manifest.
//!
//! Zenoh's defaults are made for open networks. Here nobody is looked for, links are only with
//! neighbours, certificates are asked for at both ends, everything that is not named is denied, a
//! silent neighbour is dropped within two seconds, and no message can be larger than a frame.
//!
//! Zenoh's routers pass nothing on between peers, so where the manifest names a router all others are
//! its clients, and it is their only link.

use std::{path::Path, slice};

use serde_json::{Value, json};

use super::KeyExpressions;
use crate::{
    frame::LARGEST_FRAME_BYTES,
    manifest::{LinkProtocol, Manifest},
};

/// The name of the operator in certificates.
pub const OPERATOR: &str = "operator";
/// The name of the router in certificates.
pub const ROUTER: &str = "router";

/// Who opens a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionRole {
    /// A process of the federation.
    Process(u32),
    /// The operator, who asks for states and may stop a run.
    Operator,
    /// A router between sites that cannot reach each other.
    Router,
}

/// What a session is made from.
#[derive(Debug, Clone, Copy)]
pub struct SessionSettings<'a> {
    /// The manifest.
    pub manifest: &'a Manifest,
    /// Who opens it.
    pub role: SessionRole,
    /// The folder with `authority.pem`, `link.pem` and `link.key`.
    pub folder: &'a Path,
    /// Where to listen instead of the manifest's address, `host:port`.
    pub listen: Option<&'a str>,
    /// Whether other processes on the local network are looked for.
    pub scouting: bool,
    /// Which of several runs, one after the other, frames are of; zero is the first.
    pub stage: u32,
}

impl SessionSettings<'_> {
    pub(super) fn keys(&self) -> KeyExpressions {
        KeyExpressions::of_stage(self.manifest, self.stage)
    }

    /// The session's configuration.
    #[must_use]
    pub fn json(&self) -> Value {
        let mode = match self.role {
            SessionRole::Router => "router",
            _ if self.has_router() => "client",
            _ => "peer",
        };
        // A client has one link, and is told when there is none; between peers the agent names
        // neighbours that do not answer, and Zenoh goes on trying.
        let timeout = if mode == "client" { 4000 } else { -1 };
        json!({
            "mode": mode,
            "listen": { "endpoints": self.listen_endpoints(), "exit_on_failure": true },
            "connect": {
                "endpoints": self.connect_endpoints(),
                "timeout_ms": timeout,
                "exit_on_failure": mode == "client",
                "retry": {
                    "period_init_ms": 100,
                    "period_max_ms": 1000,
                    "period_increase_factor": 2,
                },
            },
            // A session must not wait for neighbours: they may come hours later.
            "open": { "return_conditions": { "connect_scouted": false, "declares": false } },
            "scouting": {
                "multicast": { "enabled": self.scouting },
                "gossip": { "enabled": false },
            },
            // Two seconds without a sign end a link, so that asynchronous rounds soon go on without it.
            "transport": {
                "unicast": { "qos": { "enabled": false } },
                "link": {
                    "protocols": [self.manifest.link.name()],
                    "tx": { "lease": 2000, "keep_alive": 4 },
                    "rx": { "max_message_size": LARGEST_FRAME_BYTES + 4096 },
                    "tls": self.tls(),
                },
            },
            "access_control": self.access_control(),
        })
    }

    /// Whether all links of this session are to a router.
    pub(super) fn has_router(&self) -> bool {
        self.role != SessionRole::Router && self.manifest.router.is_some()
    }

    fn endpoint(&self, address: &str) -> String {
        format!("{}/{address}", self.manifest.link.name())
    }

    fn listen_endpoints(&self) -> Vec<String> {
        if self.has_router() {
            return Vec::new();
        }
        let own = match self.role {
            SessionRole::Process(index) => {
                self.manifest.processes[index as usize].address.as_deref()
            }
            SessionRole::Router => self.manifest.router.as_deref(),
            SessionRole::Operator => None,
        };
        self.listen.or(own).map(|address| self.endpoint(address)).into_iter().collect()
    }

    fn connect_endpoints(&self) -> Vec<String> {
        match (&self.manifest.router, self.role) {
            (Some(router), SessionRole::Process(_) | SessionRole::Operator) => {
                vec![self.endpoint(router)]
            }
            _ => self.calls().into_iter().map(|(_, endpoint)| endpoint).collect(),
        }
    }

    /// The processes that are called, and where; none if all meet at a router. Of two neighbours one
    /// calls the other: the later in the manifest, unless only it listens.
    pub(super) fn calls(&self) -> Vec<(u32, String)> {
        let processes = &self.manifest.processes;
        if self.manifest.router.is_some() {
            return Vec::new();
        }
        let indices = match self.role {
            SessionRole::Router => Vec::new(),
            SessionRole::Operator => {
                (0..u32::try_from(processes.len()).unwrap_or(u32::MAX)).collect()
            }
            SessionRole::Process(own) => {
                let listens = |index: u32| processes[index as usize].address.is_some();
                // One end calls, or each would hold two links to the other.
                let calls = |other: &u32| *other < own || !listens(own);
                self.manifest.neighbours_of(own).into_iter().filter(calls).collect()
            }
        };
        let address = |index: u32| processes[index as usize].address.as_deref();
        let endpoint = |index| Some((index, self.endpoint(address(index)?)));
        indices.into_iter().filter_map(endpoint).collect()
    }

    fn tls(&self) -> Value {
        if self.manifest.link == LinkProtocol::Tcp {
            return json!({});
        }
        let path = |name: &str| self.folder.join(name).display().to_string();
        json!({
            "root_ca_certificate": path("authority.pem"),
            "listen_certificate": path("link.pem"),
            "listen_private_key": path("link.key"),
            "connect_certificate": path("link.pem"),
            "connect_private_key": path("link.key"),
            "enable_mtls": true,
            // Who is found on the local network has no address to be named by; its certificate, which
            // decides what it may read and send, is checked all the same.
            "verify_name_on_connect": !self.scouting,
            "close_link_on_expiration": true,
        })
    }

    /// What each neighbour may send and read here; everything else is denied.
    fn access_control(&self) -> Value {
        if self.manifest.link == LinkProtocol::Tcp {
            return json!({ "enabled": false });
        }
        let keys = self.keys();
        let (mut rules, mut subjects, mut policies) = (Vec::new(), Vec::new(), Vec::new());
        let mut allow = |name: &str, permissions: Vec<Permission>| {
            subjects.push(json!({ "id": name, "cert_common_names": [name] }));
            for (index, permission) in permissions.into_iter().enumerate() {
                let id = format!("{name}-{index}");
                rules.push(json!({
                    "id": id,
                    "permission": "allow",
                    "messages": permission.messages,
                    "flows": [permission.flow],
                    "key_exprs": permission.keys,
                }));
                policies.push(json!({ "rules": [id], "subjects": [name] }));
            }
        };
        match self.role {
            SessionRole::Process(own) => {
                for other in self.manifest.neighbours_of(own) {
                    allow(
                        &self.manifest.processes[other as usize].name,
                        neighbour(&keys, own, other),
                    );
                }
                allow(OPERATOR, operator(&keys, own));
                if self.has_router() {
                    allow(ROUTER, vec![anything(&keys, "ingress"), anything(&keys, "egress")]);
                }
            }
            SessionRole::Operator | SessionRole::Router => {
                let names = self.manifest.processes.iter().map(|process| process.name.as_str());
                for name in names.chain([OPERATOR, ROUTER]) {
                    allow(name, vec![anything(&keys, "ingress"), anything(&keys, "egress")]);
                }
            }
        }
        json!({
            "enabled": true,
            "default_permission": "deny",
            "rules": rules,
            "subjects": subjects,
            "policies": policies,
        })
    }
}

/// A kind of messages on some keys in one direction.
struct Permission {
    flow: &'static str,
    messages: Vec<&'static str>,
    keys: Vec<String>,
}

fn permission(flow: &'static str, messages: &[&'static str], keys: &[String]) -> Permission {
    Permission { flow, messages: messages.to_vec(), keys: keys.to_vec() }
}

/// What two neighbours may do: send frames of their own to each other, and ask for them again.
fn neighbour(keys: &KeyExpressions, own: u32, other: u32) -> Vec<Permission> {
    let [to_us, to_them] = [keys.frame(own, other), keys.frame(other, own)];
    let asked_of_us = [keys.state(own, other), keys.manifest(own)];
    let asked_of_them = [keys.state(other, own), keys.manifest(other)];
    vec![
        permission("ingress", &["put"], slice::from_ref(&to_us)),
        permission("egress", &["put"], slice::from_ref(&to_them)),
        permission("ingress", &["declare_subscriber"], &[to_them]),
        permission("egress", &["declare_subscriber"], &[to_us]),
        permission("ingress", &["query"], &asked_of_us),
        permission("egress", &["query"], &asked_of_them),
        permission("ingress", &["declare_queryable", "reply"], &asked_of_them),
        permission("egress", &["declare_queryable", "reply"], &asked_of_us),
        permission("ingress", &["liveliness_token"], &[keys.live(&other.to_string(), "*")]),
        permission("egress", &["liveliness_token"], &[keys.live(&own.to_string(), "*")]),
        permission(
            "ingress",
            &["declare_liveliness_subscriber", "liveliness_query"],
            &[keys.live("*", "*")],
        ),
        permission(
            "egress",
            &["declare_liveliness_subscriber", "liveliness_query"],
            &[keys.live("*", "*")],
        ),
    ]
}

/// The operator asks for status and manifest, and gives orders, which are signed by the project.
fn operator(keys: &KeyExpressions, own: u32) -> Vec<Permission> {
    let answered = [keys.status(&own.to_string()), keys.manifest(own)];
    vec![
        permission("ingress", &["query"], &answered),
        permission("egress", &["declare_queryable", "reply"], &answered),
        permission("ingress", &["query"], &[keys.status("*")]),
    ]
}

fn anything(keys: &KeyExpressions, flow: &'static str) -> Permission {
    let messages = [
        "put",
        "declare_subscriber",
        "query",
        "declare_queryable",
        "reply",
        "liveliness_token",
        "declare_liveliness_subscriber",
        "liveliness_query",
    ];
    permission(flow, &messages, &keys.all())
}
