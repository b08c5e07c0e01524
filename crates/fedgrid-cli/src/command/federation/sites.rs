//! The file of sites: who hosts which nodes, and where each is reached.

use std::{collections::BTreeMap, path::Path};

use fedgrid::network::{Network, partition};
use fedgrid_zenoh::{manifest::LinkProtocol, provision::Site};
use serde::Deserialize;

use fedgrid_lab::{
    error::{Error, Result},
    experiment::advice,
    wording::{in_plain_words, line_of},
};

/// What `sites.toml` holds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SitesFile {
    /// How links are protected: "quic" (the default), "tls" or "tcp".
    #[serde(default = "quic")]
    link: LinkProtocol,
    /// Where a router is reached, for sites that cannot reach each other.
    router: Option<String>,
    /// The sites.
    site: Vec<SiteKeys>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SiteKeys {
    name: String,
    address: Option<String>,
    nodes: Vec<String>,
}

fn quic() -> LinkProtocol {
    LinkProtocol::Quic
}

/// Sites, and how they are joined.
#[derive(Debug)]
pub(super) struct Sites {
    pub(super) link: LinkProtocol,
    pub(super) router: Option<String>,
    pub(super) all: Vec<Site>,
}

impl Sites {
    /// Reads the file of sites.
    pub(super) fn read(path: &Path, network: &Network) -> Result<Self> {
        let text =
            std::fs::read_to_string(path).map_err(|error| Error::file("read", path, &error))?;
        let file: SitesFile = toml::from_str(&text).map_err(|error| {
            let message = in_plain_words(error.message());
            let line = line_of(&error, &text);
            Error::input(format!("{}, line {line}: {message}", path.display()))
        })?;
        let ids: BTreeMap<&str, usize> =
            network.names().iter().enumerate().map(|(id, name)| (name.as_str(), id)).collect();
        let site = |keys: SiteKeys| {
            let id = |name: &String| {
                let known = ids.get(name.as_str()).and_then(|&id| u32::try_from(id).ok());
                known.ok_or_else(|| {
                    let advice = advice(name, network.names().iter().map(String::as_str));
                    Error::input(format!(
                        "{}: site '{}' names '{name}', which is not a node of the network{advice}",
                        path.display(),
                        keys.name
                    ))
                })
            };
            let nodes = keys.nodes.iter().map(id).collect::<Result<Vec<u32>>>()?;
            if nodes.is_empty() {
                let sentence = format!("site '{}' has no node, expected some", keys.name);
                return Err(Error::input(format!("{}: {sentence}", path.display())));
            }
            Ok(Site { name: keys.name, address: keys.address, nodes })
        };
        let sites = file.site.into_iter().map(site).collect::<Result<_>>()?;
        Ok(Self { link: file.link, router: file.router, all: sites })
    }

    /// Refuses two neighbours of whom neither can call the other.
    pub(super) fn check_reach(&self, network: &Network) -> Result<()> {
        let is_apart = |&(a, b): &(usize, usize)| {
            self.all[a].address.is_none() && self.all[b].address.is_none()
        };
        let mut pairs = pairs(network, &self.all).into_iter().map(|(_, ends)| ends);
        // Where there is a router, all call it and nobody else.
        match pairs.find(is_apart).filter(|_| self.router.is_none()) {
            None => Ok(()),
            Some((a, b)) => Err(Error::input(format!(
                "sites '{}' and '{}' are neighbours and neither has an address, expected one of them to \
                 have one, or a router, or --scouting for sites on one local network",
                self.all[a].name, self.all[b].name
            ))),
        }
    }

    /// A network in balanced parts, an equal share of them on each host, each with a port of its own.
    pub(super) fn divided(
        network: &Network,
        processes: usize,
        hosts: &[String],
        port: u16,
    ) -> Result<Self> {
        let parts = partition(network, processes)?;
        // Rounded up, so that there is a host for the last part, too.
        let share = processes.div_ceil(hosts.len().max(1));
        let last = usize::from(port) + share - 1;
        if last > usize::from(u16::MAX) {
            return Err(Error::input(format!(
                "--port is {port}, so the last of {share} processes on a host would have port {last}, \
                 expected at most 65535"
            )));
        }
        let mut sites: Vec<Site> = (0..processes)
            .map(|part| {
                let (host, index) = (&hosts[part / share], part % share);
                Site {
                    name: format!("part-{part}"),
                    address: Some(format!("{host}:{}", usize::from(port) + index)),
                    nodes: Vec::new(),
                }
            })
            .collect();
        for (node, &part) in parts.iter().enumerate() {
            sites[part].nodes.extend(u32::try_from(node).ok());
        }
        Ok(Self { link: LinkProtocol::Quic, router: None, all: sites })
    }
}

/// The two sites of every edge between different ones, and the place of the edge in the network.
pub(super) fn pairs(network: &Network, sites: &[Site]) -> Vec<(usize, (usize, usize))> {
    let mut host = vec![0; network.len()];
    for (index, site) in sites.iter().enumerate() {
        site.nodes.iter().for_each(|&node| host[node as usize] = index);
    }
    let ends = network.edges().iter().map(|edge| (host[edge.source], host[edge.target]));
    ends.enumerate().filter(|(_, (a, b))| a != b).collect()
}
