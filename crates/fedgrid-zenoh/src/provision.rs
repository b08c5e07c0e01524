//! From a network and a list of sites to a project and one site bundle per site.
//!
//! ```text
//! FOLDER/project/    project.key, authority.key: who holds these can make and revoke members
//! FOLDER/project/operator/    what `status`, `stop` and `collect` need
//! FOLDER/router/     the router's certificate, if sites cannot reach each other
//! FOLDER/kits/SITE/  what a site is given
//! ```

use std::path::{Path, PathBuf};

use ed25519_dalek::SigningKey;

use crate::{
    address,
    disk::{self, Access},
    error::{Error, Result},
    identity::{self, Authority, Certified, Hex, Validity, now},
    manifest::{LinkProtocol, Manifest, NodeEntry, ProcessEntry, SharedSizes},
    site_bundle::{BundleFiles, SharedFiles},
    transport::{OPERATOR, ROUTER},
};

/// A site of a federation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// Its name.
    pub name: String,
    /// Where its process is reached, `host:port`; none if it only calls others.
    pub address: Option<String>,
    /// The nodes it hosts.
    pub nodes: Vec<u32>,
}

/// A federation to be made.
#[derive(Debug, Clone)]
pub struct Federation<'a> {
    /// The name of the project.
    pub project: &'a str,
    /// The parts of the experiment that all sites share.
    pub shared: &'a SharedFiles,
    /// The names of the nodes.
    pub nodes: &'a [String],
    /// The edges.
    pub edges: Vec<(u32, u32, f64)>,
    /// The sites.
    pub sites: &'a [Site],
    /// How links are protected.
    pub link: LinkProtocol,
    /// Where a router is reached.
    pub router: Option<String>,
    /// The sizes that all must agree on.
    pub shape: SharedSizes,
    /// How often state is written, in rounds.
    pub checkpoint_every: u64,
    /// The largest magnitude of a number in a message.
    pub largest_number: f64,
    /// When certificates are good.
    pub validity: Validity,
}

impl Federation<'_> {
    /// Makes keys, certificates, the manifest and the site bundles in a folder that is still empty.
    pub fn write(&self, folder: &Path) -> Result<Manifest> {
        let project = folder.join("project");
        if project.exists() {
            let sentence =
                format!("'{}' holds a project; choose another folder with --out", folder.display());
            return Err(Error::Input(sentence));
        }
        self.check()?;
        let key = identity::new_key()?;
        let authority = Authority::new(self.project, self.validity)?;
        let made = self.members(&authority)?;
        let manifest = self.manifest(&authority, &made)?;
        let signed = manifest.signed(&key);
        for (site, (own, link)) in self.sites.iter().zip(&made) {
            let files = BundleFiles {
                project: key.verifying_key(),
                manifest: &signed,
                name: &site.name,
                key: own,
                link: link.as_ref().map(|link| (authority.certificate.as_str(), link)),
                shared: self.shared,
            };
            files.write(&folder.join("kits").join(&site.name))?;
        }
        if self.link != LinkProtocol::Tcp {
            let write = |name: &str, hosts: &[String], folder: PathBuf| {
                write_link(&folder, &authority, &authority.certify(name, hosts, self.validity)?)
            };
            write(OPERATOR, &[], project.join("operator"))?;
            if let Some(router) = &self.router {
                write(ROUTER, &hosts(router), folder.join("router"))?;
            }
        }
        if self.router.is_some() {
            disk::make_private_folder(&folder.join("router"))?;
            write_public(&folder.join("router"), &key, &signed)?;
        }
        Project { folder: folder.to_path_buf(), key, authority, manifest: manifest.clone() }
            .write(&signed)?;
        Ok(manifest)
    }

    fn check(&self) -> Result<()> {
        let wrong = |sentence: String| Err(Error::Input(sentence));
        let mut hosts = vec![0_usize; self.nodes.len()];
        for (index, site) in self.sites.iter().enumerate() {
            check_name(&site.name)?;
            if self.sites[..index].iter().any(|other| other.name == site.name) {
                return wrong(format!("site '{}' is listed twice", site.name));
            }
            if let Some(address) = &site.address {
                address::check(&format!("site '{}'", site.name), address)?;
            }
            site.nodes.iter().for_each(|&node| hosts[node as usize] += 1);
        }
        if let Some(router) = &self.router {
            address::check("the router", router)?;
        }
        match hosts.iter().position(|&count| count != 1) {
            Some(node) => wrong(format!(
                "node '{}' is at {} sites, expected one",
                self.nodes[node], hosts[node]
            )),
            None => Ok(()),
        }
    }

    fn members(&self, authority: &Authority) -> Result<Vec<(SigningKey, Option<Certified>)>> {
        let member = |site: &Site| {
            let hosts = site.address.as_deref().map_or_else(Vec::new, hosts);
            let link = (self.link != LinkProtocol::Tcp)
                .then(|| authority.certify(&site.name, &hosts, self.validity));
            Ok((identity::new_key()?, link.transpose()?))
        };
        self.sites.iter().map(member).collect()
    }

    fn manifest(
        &self,
        authority: &Authority,
        made: &[(SigningKey, Option<Certified>)],
    ) -> Result<Manifest> {
        let process = |(site, (key, link)): (&Site, &(SigningKey, Option<Certified>))| {
            Ok(ProcessEntry {
                name: site.name.clone(),
                key: Some(Hex(key.verifying_key().to_bytes())),
                certificate: link.as_ref().map(fingerprint).transpose()?,
                address: site.address.clone(),
                since: 0,
            })
        };
        let mut nodes: Vec<NodeEntry> =
            self.nodes.iter().map(|name| NodeEntry { name: name.clone(), process: 0 }).collect();
        for (index, site) in self.sites.iter().enumerate() {
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            site.nodes.iter().for_each(|&node| nodes[node as usize].process = index);
        }
        Ok(Manifest {
            project: self.project.to_string(),
            run: Hex(identity::random_bytes()?),
            number: 1,
            former: Vec::new(),
            experiment: self.shared.experiment_hash(),
            public: self.shared.public_hash(),
            link: self.link,
            authority: match self.link {
                LinkProtocol::Tcp => None,
                _ => Some(identity::read_certificate(&authority.certificate)?.fingerprint),
            },
            router: self.router.clone(),
            shape: self.shape,
            checkpoint_every: self.checkpoint_every,
            largest_number: self.largest_number,
            processes: self.sites.iter().zip(made).map(process).collect::<Result<_>>()?,
            nodes,
            edges: self.edges.clone(),
            left: Vec::new(),
            updated: None,
        })
    }
}

pub(crate) fn fingerprint(link: &Certified) -> Result<Hex<32>> {
    Ok(identity::read_certificate(&link.certificate)?.fingerprint)
}

/// The host of `host:port`.
pub(crate) fn hosts(address: &str) -> Vec<String> {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    vec![host.trim_matches(['[', ']']).to_string()]
}

/// Refuses a name that could not be in a key or a certificate, or that is another's.
pub(crate) fn check_name(name: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    // A site of such a name would have a certificate that passes for the operator's.
    let is_reserved = [OPERATOR, ROUTER].contains(&name);
    if name.is_empty() || !name.chars().all(is_plain) || is_reserved {
        return Err(Error::Input(format!(
            "site '{name}': expected a name of letters, digits, '-', '_' and '.'"
        )));
    }
    Ok(())
}

fn write_link(folder: &Path, authority: &Authority, link: &Certified) -> Result<()> {
    disk::make_private_folder(folder)?;
    let put =
        |name: &str, text: &str, access| disk::write(&folder.join(name), text.as_bytes(), access);
    put("authority.pem", &authority.certificate, Access::Shared)?;
    put("link.pem", &link.certificate, Access::Shared)?;
    put("link.key", &link.key, Access::Private)
}

fn write_public(folder: &Path, key: &SigningKey, signed: &str) -> Result<()> {
    let public = format!("{}\n", Hex(key.verifying_key().to_bytes()));
    disk::write(&folder.join("project.pub"), public.as_bytes(), Access::Shared)?;
    disk::write(&folder.join("manifest.txt"), signed.as_bytes(), Access::Shared)
}

/// A project as its owner holds it.
#[derive(Debug)]
pub struct Project {
    /// Where it is.
    pub folder: PathBuf,
    /// The key that signs manifests and orders.
    pub key: SigningKey,
    pub(crate) authority: Authority,
    /// The newest manifest.
    pub manifest: Manifest,
}

impl Project {
    /// Opens the project in a folder.
    pub fn open(folder: &Path) -> Result<Self> {
        let project = folder.join("project");
        let key = identity::read_key(&project.join("project.key"))?;
        let manifest = Manifest::read(&project.join("manifest.txt"), &key.verifying_key())?;
        let text = |name: &str| disk::read_text(&project.join(name), 1 << 20);
        let authority = Authority::from_stored(
            &manifest.project,
            text("authority.pem")?,
            text("authority.key")?,
        )?;
        Ok(Self { folder: folder.to_path_buf(), key, authority, manifest })
    }

    fn write(&self, signed: &str) -> Result<()> {
        let project = self.folder.join("project");
        disk::make_private_folder(&project)?;
        identity::write_key(&project.join("project.key"), &self.key)?;
        write_public(&project, &self.key, signed)?;
        let put = |name: &str, text: &str, access| {
            disk::write(&project.join(name), text.as_bytes(), access)
        };
        put("authority.pem", &self.authority.certificate, Access::Shared)?;
        put("authority.key", &self.authority.key, Access::Private)
    }

    /// The folder with the operator's certificate.
    #[must_use]
    pub fn operator(&self) -> PathBuf {
        self.folder.join("project").join("operator")
    }

    /// Takes a site's membership away by a new manifest. The others begin a new run without it: what
    /// it had a part in is not used any more.
    pub fn revoke(&mut self, name: &str) -> Result<()> {
        let index = self.member(name)?;
        self.manifest.drop_member(index);
        self.manifest.run = Hex(identity::random_bytes()?);
        self.manifest.former.clear();
        self.manifest.processes.iter_mut().for_each(|process| process.since = 0);
        self.publish()
    }

    /// Gives a site a new key and certificate by a new manifest; its old ones end.
    pub fn rotate(&mut self, name: &str, days: u64) -> Result<()> {
        let index = self.member(name)?;
        let key = identity::new_key()?;
        let bundle = self.folder.join("kits").join(name);
        let process = &mut self.manifest.processes[index];
        process.key = Some(Hex(key.verifying_key().to_bytes()));
        if self.manifest.link != LinkProtocol::Tcp {
            let hosts = process.address.as_deref().map_or_else(Vec::new, hosts);
            // An hour back: clocks of sites differ.
            let validity = (now().saturating_sub(3600), now() + days * 86_400);
            let link = self.authority.certify(name, &hosts, validity)?;
            process.certificate = Some(fingerprint(&link)?);
            write_link(&bundle, &self.authority, &link)?;
        }
        identity::write_key(&bundle.join("process.key"), &key)?;
        self.publish()
    }

    /// The index of a site that is not revoked: nothing makes a revoked one a member again.
    pub(crate) fn member(&self, name: &str) -> Result<usize> {
        let index = self.manifest.index_of(name).ok_or_else(|| {
            let names = self.manifest.processes.iter().map(|process| process.name.as_str());
            let names = names.collect::<Vec<_>>().join(", ");
            Error::Input(format!("there is no site '{name}', expected one of {names}"))
        })?;
        if self.manifest.processes[index as usize].key.is_none() {
            return Err(Error::Input(format!(
                "site '{name}' is revoked already, or has left; add it by another name, or make a new project"
            )));
        }
        Ok(index as usize)
    }

    /// Signs the next manifest and puts it into all site bundles.
    pub(crate) fn publish(&mut self) -> Result<()> {
        self.manifest.number += 1;
        let signed = self.manifest.signed(&self.key);
        write_public(&self.folder.join("project"), &self.key, &signed)?;
        let bundles = self
            .manifest
            .processes
            .iter()
            .map(|process| self.folder.join("kits").join(&process.name));
        for bundle in bundles.chain([self.folder.join("router")]).filter(|bundle| bundle.exists()) {
            disk::write(&bundle.join("manifest.txt"), signed.as_bytes(), Access::Shared)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use fedgrid::runtime::protocol::DEFAULT_LARGEST_NUMBER;

    use super::*;
    use crate::site_bundle::SiteBundle;

    fn made(folder: &Path, validity: Validity) -> Result<Manifest> {
        let shared =
            SharedFiles { experiment: "e".into(), settings: "p".into(), public: "q".into() };
        let names: Vec<String> = ["a", "b", "c"].map(String::from).to_vec();
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
            sites: &[site("east", &[0, 1]), site("west", &[2])],
            link: LinkProtocol::Tls,
            router: None,
            shape: SharedSizes::default(),
            checkpoint_every: 1,
            largest_number: DEFAULT_LARGEST_NUMBER,
            validity,
        };
        federation.write(folder)
    }

    #[test]
    fn kits_are_read_and_revoked_and_rotated() {
        let folder = tempfile::tempdir().unwrap();
        made(folder.path(), (0, 4_000_000_000)).unwrap();
        let bundle = |name: &str| SiteBundle::read(&folder.path().join("kits").join(name), 1_000);
        assert_eq!((bundle("east").unwrap().process, bundle("west").unwrap().process), (0, 1));
        let before = bundle("west").unwrap().key.to_bytes();
        let mut project = Project::open(folder.path()).unwrap();
        project.rotate("west", 10).unwrap();
        let now = now();
        let west = SiteBundle::read(&folder.path().join("kits/west"), now).unwrap();
        assert_ne!(west.key.to_bytes(), before);
        assert_eq!(west.manifest.number, 2);
        project.revoke("west").unwrap();
        let error = SiteBundle::read(&folder.path().join("kits/west"), now).unwrap_err();
        assert_eq!(
            error.to_string(),
            "wrong key: process 'west' is revoked by manifest 3, or has left"
        );
        let east = bundle("east").unwrap().manifest;
        assert!(east.neighbours_of(0).is_empty());
        assert_ne!(east.run, west.manifest.run);
        assert!(project.revoke("north").is_err());
        // What is revoked stays revoked, and no manifest is made of it.
        let already = "site 'west' is revoked already, or has left; add it by another name, or make a new project";
        assert_eq!(project.revoke("west").unwrap_err().to_string(), already);
        assert_eq!(project.rotate("west", 10).unwrap_err().to_string(), already);
        assert_eq!(bundle("east").unwrap().manifest.number, 3);
    }

    #[test]
    fn each_wrong_part_of_a_kit_is_named() {
        let folder = tempfile::tempdir().unwrap();
        made(folder.path(), (100, 4_000_000_000)).unwrap();
        let other = tempfile::tempdir().unwrap();
        made(other.path(), (100, 4_000_000_000)).unwrap();
        let east = folder.path().join("kits/east");
        let message = |now| SiteBundle::read(&east, now).unwrap_err().to_string();
        assert!(message(4_000_000_001).contains("expired"));
        assert!(message(1).contains("good only in"));
        let swapped = |name: &str, from: &Path, expected: &str| {
            let own = std::fs::read(east.join(name)).unwrap();
            std::fs::copy(from.join(name), east.join(name)).unwrap();
            let found = message(1_000);
            assert!(found.contains(expected), "{name}: {found}");
            std::fs::write(east.join(name), own).unwrap();
        };
        let west = folder.path().join("kits/west");
        swapped("process.key", &west, "wrong key");
        swapped("link.pem", &west, "it is for 'west', expected 'east'");
        swapped("link.pem", &other.path().join("kits/east"), "it is not the one");
        swapped("link.key", &west, "link.key does not belong to link.pem");
        swapped("authority.pem", &other.path().join("kits/east"), "authority.pem is not");
        swapped("manifest.txt", &other.path().join("kits/east"), "not signed by the project");
        std::fs::write(east.join("public.json"), "other").unwrap();
        assert!(message(1_000).starts_with("wrong public set"));
    }

    #[test]
    fn a_node_without_a_site_is_named() {
        let folder = tempfile::tempdir().unwrap();
        made(folder.path(), (0, 1)).unwrap();
        let error = made(folder.path(), (0, 1)).unwrap_err();
        assert!(error.to_string().contains("holds a project"), "{error}");
    }
}
