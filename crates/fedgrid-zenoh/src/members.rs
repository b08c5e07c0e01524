//! Sites that come and go while others are at work: each change is a manifest with the next number and a run of its own,
//! which goes on from the run before.
//!
//! ```text
//! run₁ ──add──▶ run₂ ──remove──▶ run₃        former = [run₁, run₂]
//! ```

use std::{collections::BTreeSet, path::PathBuf};

use crate::{
    address, disk,
    error::{Error, Result},
    identity::{self, Hex, now},
    manifest::{LARGEST_MANIFEST_BYTES, LinkProtocol, Manifest, NodeEntry, ProcessEntry},
    provision::{Project, check_name, fingerprint, hosts},
    site_bundle::{BundleFiles, SharedFiles, SiteBundle},
};

/// A site that is to come.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSite {
    /// Its name.
    pub name: String,
    /// Where its process is reached, `host:port`; none if it only calls others.
    pub address: Option<String>,
    /// The names of its nodes.
    pub nodes: Vec<String>,
    /// The edges of its nodes: a new node, a new or a known one, a weight.
    pub edges: Vec<(String, String, f64)>,
    /// For how many days its certificate is good.
    pub days: u64,
}

impl Project {
    /// The parts of the experiment that all sites share, from a kit that is still beside the project.
    pub fn shared(&self) -> Result<SharedFiles> {
        let bundles = self.manifest.processes.iter();
        let mut bundles = bundles.map(|process| self.folder.join("kits").join(&process.name));
        let read = |bundle: PathBuf| {
            let shared = SiteBundle::shared_of(&bundle).ok()?;
            let is_ours = shared.experiment_hash() == self.manifest.experiment
                && shared.public_hash() == self.manifest.public;
            is_ours.then_some(shared)
        };
        bundles.find_map(read).ok_or_else(|| {
            let kits = self.folder.join("kits");
            Error::Input(format!(
                "no kit of this project is left in '{}' to take the experiment from; copy one there, with or without \
                 its keys",
                kits.display()
            ))
        })
    }

    /// Makes a site a member by a new manifest, and its kit. The others go on from where they are.
    pub fn add(&mut self, site: &NewSite) -> Result<()> {
        let shared = self.shared()?;
        let next = self.with(site)?;
        let key = identity::new_key()?;
        let days = site.days * 86_400;
        let mut link = None;
        if self.manifest.link != LinkProtocol::Tcp {
            let hosts = site.address.as_deref().map_or_else(Vec::new, hosts);
            // An hour back: clocks of sites differ.
            let validity = (now().saturating_sub(3600), now() + days);
            link = Some(self.authority.certify(&site.name, &hosts, validity)?);
        }
        self.manifest = next;
        let own = self.manifest.processes.last_mut().expect("the site was just listed");
        own.key = Some(Hex(key.verifying_key().to_bytes()));
        own.certificate = link.as_ref().map(fingerprint).transpose()?;
        let files = BundleFiles {
            project: self.key.verifying_key(),
            // `publish` puts the signed one in its place.
            manifest: "",
            name: &site.name,
            key: &key,
            link: link.as_ref().map(|link| (self.authority.certificate.as_str(), link)),
            shared: &shared,
        };
        files.write(&self.folder.join("kits").join(&site.name))?;
        self.publish()
    }

    /// Takes note of who has left by itself, as sites have it.
    pub fn hear(&mut self, signed: &[String]) -> Result<()> {
        let path = self.folder.join("project").join("manifest.txt");
        let mut own = disk::read_text(&path, LARGEST_MANIFEST_BYTES)?;
        let key = self.key.verifying_key();
        let number = self.manifest.number;
        let mut found = Manifest::verified(&own, &key)?;
        for text in signed {
            // What is damaged or of another project says nothing.
            let Ok((merged, whole)) = Manifest::merged(&own, text, &key) else { continue };
            if merged.number == number {
                (found, own) = (merged, whole);
            }
        }
        for left in std::mem::take(&mut found.left) {
            found.former.push(left.run);
        }
        self.manifest = found;
        Ok(())
    }

    /// Takes a site out by a new manifest, whether it is there or not. The others go on from where they are.
    pub fn remove(&mut self, name: &str) -> Result<()> {
        let index = self.member(name)?;
        self.manifest.drop_member(index);
        self.manifest.follow(Hex(identity::random_bytes()?));
        self.publish()
    }

    /// The manifest with one more site, which has no key yet.
    fn with(&self, site: &NewSite) -> Result<Manifest> {
        let wrong = |sentence: String| Err(Error::Input(sentence));
        check_name(&site.name)?;
        let mut next = self.manifest.clone();
        if next.index_of(&site.name).is_some() {
            return wrong(format!(
                "there is or was a site '{}' in this project; choose another name",
                site.name
            ));
        }
        if let Some(address) = &site.address {
            address::check(&format!("site '{}'", site.name), address)?;
        }
        let process = u32::try_from(next.processes.len()).unwrap_or(u32::MAX);
        for name in &site.nodes {
            if next.nodes.iter().any(|node| node.name == *name) {
                return wrong(format!(
                    "there is or was a node '{name}' in this project; choose another name"
                ));
            }
            next.nodes.push(NodeEntry { name: name.clone(), process });
        }
        let id = |name: &String| {
            let found = next.nodes.iter().position(|node| node.name == *name);
            let found = found.and_then(|id| u32::try_from(id).ok());
            found.ok_or_else(|| Error::Input(format!("there is no node '{name}'")))
        };
        let first_new = self.manifest.nodes.len();
        let mut edges = Vec::new();
        for (a, b, weight) in &site.edges {
            let (from, to) = (id(a)?, id(b)?);
            if from.max(to) < u32::try_from(first_new).unwrap_or(u32::MAX) {
                return wrong(format!("neither '{a}' nor '{b}' is a node of the new site"));
            }
            let is_known =
                edges.iter().any(|&(p, q, _)| (p, q) == (from, to) || (q, p) == (from, to));
            if is_known || from == to {
                return wrong(format!(
                    "the edge between '{a}' and '{b}' is given twice, or joins a node to itself"
                ));
            }
            if !(*weight > 0.0 && weight.is_finite()) {
                return wrong(format!(
                    "the edge between '{a}' and '{b}' has weight {weight}, expected a positive number"
                ));
            }
            edges.push((from, to, *weight));
        }
        next.follow(Hex(identity::random_bytes()?));
        next.edges.extend(&edges);
        let since = next.former.len() as u64;
        let (name, address) = (site.name.clone(), site.address.clone());
        next.processes.push(ProcessEntry { name, key: None, certificate: None, address, since });
        self.check_place(&next, site, &edges)?;
        Ok(next)
    }

    /// Refuses a site that none of its neighbours could reach, that would have no neighbour, or that would join parts which
    /// have no edge between them: these count rounds of their own.
    fn check_place(
        &self,
        next: &Manifest,
        site: &NewSite,
        edges: &[(u32, u32, f64)],
    ) -> Result<()> {
        let host = |node: u32| next.nodes[node as usize].process;
        let known = u32::try_from(self.manifest.processes.len()).unwrap_or(u32::MAX);
        let ends = edges.iter().flat_map(|&(a, b, _)| [host(a), host(b)]);
        let neighbours: BTreeSet<u32> = ends.filter(|&process| process < known).collect();
        let name = |process: u32| &next.processes[process as usize].name;
        let Some(&first) = neighbours.first() else {
            return Err(Error::Input(format!(
                "site '{}' has no edge to a node of another site",
                site.name
            )));
        };
        for &other in &neighbours {
            let entry = &next.processes[other as usize];
            if entry.key.is_none() {
                return Err(Error::Input(format!("site '{}' is no member any more", entry.name)));
            }
            if entry.address.is_none() && site.address.is_none() && next.router.is_none() {
                return Err(Error::Input(format!(
                    "sites '{}' and '{}' would be neighbours and neither has an address",
                    site.name, entry.name
                )));
            }
        }
        let part = self.manifest.part_of(first);
        match neighbours.iter().find(|other| !part.contains(other)) {
            Some(&other) => Err(Error::Input(format!(
                "site '{}' would join '{}' and '{}', which have no way to each other and count rounds of their own; \
                 make a new project",
                site.name,
                name(first),
                name(other)
            ))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        manifest::SharedSizes,
        provision::{Federation, Site},
    };

    fn project(folder: &std::path::Path) -> Project {
        let shared =
            SharedFiles { experiment: "e".into(), settings: "p".into(), public: "q".into() };
        let names: Vec<String> = ["a", "b", "c", "d"].map(String::from).to_vec();
        let site = |name: &str, nodes: &[u32]| Site {
            name: name.into(),
            address: Some("127.0.0.1:7000".into()),
            nodes: nodes.to_vec(),
        };
        let federation = Federation {
            project: "test",
            shared: &shared,
            nodes: &names,
            edges: vec![(0, 1, 1.0), (1, 2, 1.0)],
            sites: &[site("east", &[0]), site("mid", &[1]), site("west", &[2]), site("far", &[3])],
            link: LinkProtocol::Quic,
            router: None,
            shape: SharedSizes::default(),
            checkpoint_every: 1,
            largest_number: 1e12,
            validity: (0, 4_000_000_000),
        };
        federation.write(folder).unwrap();
        Project::open(folder).unwrap()
    }

    fn north() -> NewSite {
        NewSite {
            name: "north".into(),
            address: None,
            nodes: vec!["n".into()],
            edges: vec![("n".into(), "c".into(), 0.5)],
            days: 10,
        }
    }

    #[test]
    fn a_site_that_comes_gets_a_kit_and_the_run_one_that_follows() {
        let folder = tempfile::tempdir().unwrap();
        let mut project = project(folder.path());
        let first = project.manifest.run;
        project.add(&north()).unwrap();
        let own = SiteBundle::read(&folder.path().join("kits/north"), now()).unwrap();
        let manifest = &own.manifest;
        assert_eq!((manifest.number, &manifest.former), (2, &vec![first]));
        assert_eq!((own.process, manifest.processes[4].since), (4, 1));
        assert_eq!((manifest.nodes_of(4), manifest.neighbours_of(4)), (vec![4], vec![2]));
        project.remove("west").unwrap();
        let east = SiteBundle::read(&folder.path().join("kits/east"), now()).unwrap().manifest;
        assert_eq!((east.number, east.former.len()), (3, 2));
        assert!(east.neighbours_of(4).is_empty() && east.neighbours_of(0) == [1]);
        // A site that is revoked took part in what is not to be used any more.
        project.revoke("mid").unwrap();
        let east = SiteBundle::read(&folder.path().join("kits/east"), now()).unwrap().manifest;
        assert!(east.former.is_empty() && east.processes.iter().all(|one| one.since == 0));
    }

    #[test]
    fn a_site_that_fits_nowhere_is_refused_and_nothing_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let mut project = project(folder.path());
        let mut refused = |change: &dyn Fn(&mut NewSite)| {
            let mut site = north();
            change(&mut site);
            project.add(&site).unwrap_err().to_string()
        };
        let edge = |a: &str, b: &str, weight| (a.to_string(), b.to_string(), weight);
        for (expected, change) in [
            (
                "there is or was a site 'west'",
                &(|site: &mut NewSite| site.name = "west".into()) as _,
            ),
            ("expected a name of letters", &|site: &mut NewSite| site.name = "no rth".into()),
            ("there is or was a node 'a'", &|site: &mut NewSite| site.nodes = vec!["a".into()]),
            ("has no edge to a node", &|site: &mut NewSite| site.edges.clear()),
            ("there is no node 'x'", &|site: &mut NewSite| site.edges = vec![edge("n", "x", 1.0)]),
            ("is given twice", &|site: &mut NewSite| site.edges.push(edge("c", "n", 1.0))),
            ("neither 'a' nor 'b'", &|site: &mut NewSite| site.edges.push(edge("a", "b", 1.0))),
            ("has weight -1", &|site: &mut NewSite| site.edges = vec![edge("n", "c", -1.0)]),
            ("count rounds of their own", &|site: &mut NewSite| {
                site.edges.push(edge("n", "d", 1.0));
            }),
        ] as [(&str, &dyn Fn(&mut NewSite)); 9]
        {
            let found = refused(change);
            assert!(found.contains(expected), "{found}");
        }
        assert_eq!(Project::open(folder.path()).unwrap().manifest.number, 1);
        assert!(!folder.path().join("kits/north").exists());
    }
}
