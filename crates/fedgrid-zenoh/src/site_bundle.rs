//! What a site is given: its certificate, its key, the manifest and its part of the experiment.
//!
//! A site bundle is a folder. Reading it checks that everything in it belongs together and is still good, so
//! that a mistake is named before anything is sent:
//!
//! ```text
//! project.pub  manifest.txt      who the project is, and what it signed
//! process.txt  process.key       which process this is, and the key of its frames (private)
//! authority.pem  link.pem  link.key    certificates of its links (the key is private)
//! experiment.toml  part.json  public.json    what is learnt, how rows are read, public points
//! ```

use std::path::{Path, PathBuf};

use ed25519_dalek::{SigningKey, VerifyingKey};

use crate::{
    departure::parts_of,
    disk::{self, Access},
    error::{Error, Result},
    frame::{ExpectedSender, FrameVerifier},
    identity::{self, Hex, Validity},
    manifest::{LARGEST_MANIFEST_BYTES, LinkProtocol, Manifest},
};

/// The largest file that is read: public points may be many, and a wrong folder may hold anything.
const LARGEST_TEXT_BYTES: usize = 256 << 20;

/// The parts of an experiment that all sites share.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SharedFiles {
    /// The experiment file.
    pub experiment: String,
    /// How rows are read, for the front end that made the site bundle.
    pub settings: String,
    /// The public points.
    pub public: String,
}

impl SharedFiles {
    /// The hash of the experiment.
    #[must_use]
    pub fn experiment_hash(&self) -> Hex<32> {
        let mut hasher = blake3::Hasher::new();
        // The length keeps the border between the two texts, which are hashed as one.
        hasher.update(&(self.experiment.len() as u64).to_le_bytes());
        hasher.update(self.experiment.as_bytes()).update(self.settings.as_bytes());
        Hex(*hasher.finalize().as_bytes())
    }

    /// The hash of the public points.
    #[must_use]
    pub fn public_hash(&self) -> Hex<32> {
        Hex(*blake3::hash(self.public.as_bytes()).as_bytes())
    }
}

/// A site bundle that has been checked.
#[derive(Debug, Clone)]
pub struct SiteBundle {
    /// Where it is.
    pub folder: PathBuf,
    /// The project's key.
    pub project: VerifyingKey,
    /// What the project signed.
    pub manifest: Manifest,
    /// The same as it was signed, for neighbours that have an older one.
    pub signed: String,
    /// Which process this is.
    pub process: u32,
    /// The key of its frames.
    pub key: SigningKey,
    /// When its certificate is good; none if links have none.
    pub validity: Option<Validity>,
    /// The parts of the experiment.
    pub shared: SharedFiles,
}

impl SiteBundle {
    /// Reads a site bundle and checks that it belongs together and is good at this time.
    pub fn read(folder: &Path, now: u64) -> Result<Self> {
        Self::read_following(folder, None, now)
    }

    /// The same by the manifest as the project signed it, whoever has left since.
    pub fn read_signed(folder: &Path, now: u64) -> Result<Self> {
        let signed = disk::read_text(&folder.join("manifest.txt"), LARGEST_MANIFEST_BYTES)?;
        let first = parts_of(&signed).into_iter().next().unwrap_or_default();
        Self::read_by(folder, now, |_| Ok(first))
    }

    /// The same by the manifest in this file, which the site was sent, if there is one and it is newer than that of the bundle.
    pub fn read_following(folder: &Path, sent: Option<&Path>, now: u64) -> Result<Self> {
        let signed = |project: &VerifyingKey| {
            let own = disk::read_text(&folder.join("manifest.txt"), LARGEST_MANIFEST_BYTES)?;
            let Some(sent) = sent.filter(|sent| sent.exists()) else { return Ok(own) };
            let sent = disk::read_text(sent, LARGEST_MANIFEST_BYTES)?;
            Ok(Manifest::merged(&own, &sent, project)?.1)
        };
        Self::read_by(folder, now, signed)
    }

    fn read_by(
        folder: &Path,
        now: u64,
        signed: impl FnOnce(&VerifyingKey) -> Result<String>,
    ) -> Result<Self> {
        let text = |name: &str| disk::read_text(&folder.join(name), LARGEST_TEXT_BYTES);
        if !folder.join("project.pub").exists() {
            let folder = folder.display();
            return Err(Error::Input(format!(
                "'{folder}' is no kit: give the folder that the project made for this site, such as kits/NAME"
            )));
        }
        let project = read_project(&folder.join("project.pub"))?;
        let signed = signed(&project)?;
        let manifest = Manifest::verified(&signed, &project)?;
        let name = text("process.txt")?.trim().to_string();
        let process = manifest
            .index_of(&name)
            .ok_or_else(|| Error::Manifest { found: format!("process '{name}' is not in it") })?;
        let key = identity::read_key(&folder.join("process.key"))?;
        let shared = Self::shared_of(folder)?;
        let folder = folder.to_path_buf();
        let mut bundle =
            Self { folder, project, manifest, signed, process, key, validity: None, shared };
        // The key first: it tells whether the site is revoked, and then nothing else matters.
        bundle.check_key()?;
        bundle.validity = bundle.check_certificate()?;
        bundle.check_time(now)?;
        bundle.check_shared()?;
        Ok(bundle)
    }

    /// The parts of the experiment in a site bundle.
    pub fn shared_of(folder: &Path) -> Result<SharedFiles> {
        let text = |name: &str| disk::read_text(&folder.join(name), LARGEST_TEXT_BYTES);
        Ok(SharedFiles {
            experiment: text("experiment.toml")?,
            settings: text("part.json")?,
            public: text("public.json")?,
        })
    }

    /// The name of the process.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.manifest.processes[self.process as usize].name
    }

    fn check_key(&self) -> Result<()> {
        let signed = self.manifest.processes[self.process as usize].key;
        let own = Hex(self.key.verifying_key().to_bytes());
        let number = self.manifest.number;
        match signed {
            Some(key) if key == own => Ok(()),
            Some(_) => Err(Error::Key {
                found: format!("process.key is not the one that manifest {number} names"),
            }),
            None => Err(Error::Key {
                found: format!(
                    "process '{}' is revoked by manifest {number}, or has left",
                    self.name()
                ),
            }),
        }
    }

    /// The certificate is the manifest's and for this process; when it is good.
    fn check_certificate(&self) -> Result<Option<Validity>> {
        if self.manifest.link == LinkProtocol::Tcp {
            return Ok(None);
        }
        let wrong = |found: String| Err(Error::Certificate { found });
        let pem = disk::read_text(&self.folder.join("link.pem"), LARGEST_TEXT_BYTES)?;
        let statement = identity::read_certificate(&pem)?;
        if statement.name != self.name() {
            return wrong(format!("it is for '{}', expected '{}'", statement.name, self.name()));
        }
        if Some(statement.fingerprint) != self.manifest.processes[self.process as usize].certificate
        {
            return wrong(format!(
                "it is not the one that manifest {} names",
                self.manifest.number
            ));
        }
        let authority = disk::read_text(&self.folder.join("authority.pem"), LARGEST_TEXT_BYTES)?;
        let found = identity::read_certificate(&authority)?.fingerprint;
        if Some(found) != self.manifest.authority {
            return wrong("authority.pem is not the one that the manifest names".into());
        }
        let key = disk::read_text(&self.folder.join("link.key"), LARGEST_TEXT_BYTES)?;
        if !identity::belong_together(&pem, &key) {
            return wrong("link.key does not belong to link.pem".into());
        }
        Ok(Some(statement.validity))
    }

    /// The certificate is good at this time.
    pub fn check_time(&self, now: u64) -> Result<()> {
        let Some((from, to)) = self.validity else { return Ok(()) };
        let wrong = |found: String| Err(Error::Certificate { found });
        if now < from {
            return wrong(format!("it is good only in {} days", (from - now).div_ceil(86_400)));
        }
        if now >= to {
            let days = (now - to) / 86_400;
            return wrong(format!("it expired {days} days ago; rotate the site's keys"));
        }
        Ok(())
    }

    fn check_shared(&self) -> Result<()> {
        if self.shared.experiment_hash() != self.manifest.experiment {
            let found = "experiment.toml or part.json is not what the manifest names".into();
            return Err(Error::Manifest { found });
        }
        let (own, signed) = (self.shared.public_hash(), self.manifest.public);
        if own != signed {
            let short = |hash: Hex<32>| hash.to_string()[..12].to_string();
            let found =
                format!("public.json has hash {}, the manifest says {}", short(own), short(signed));
            return Err(Error::PublicSet { found });
        }
        Ok(())
    }

    /// What this process expects of its neighbours: `known` has each with the highest epoch that was
    /// seen of it and the largest payload that its edges can fill.
    #[must_use]
    pub fn verifier(
        &self,
        known: impl Iterator<Item = (u32, u64, usize)>,
        last_round: u64,
    ) -> FrameVerifier {
        let expected = |(index, epoch, largest)| {
            let key = self.manifest.key_of(index)?;
            Some((index, ExpectedSender { key, epochs: epoch..=u64::MAX, largest }))
        };
        FrameVerifier {
            run: self.manifest.run.0,
            own: self.process,
            shape: self.manifest.fingerprint(),
            last_round,
            senders: known.filter_map(expected).collect(),
        }
    }

    /// Whose state this process keeps.
    #[must_use]
    pub fn owner(&self) -> [u8; 32] {
        self.owner_in(&self.manifest.run)
    }

    /// Whose state it has kept in another run of the same shapes.
    #[must_use]
    pub fn owner_in(&self, run: &Hex<16>) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&run.0).update(self.name().as_bytes());
        // A state of other shapes could not be restored, so it is not even tried.
        hasher.update(&self.manifest.fingerprint().to_le_bytes());
        *hasher.finalize().as_bytes()
    }
}

/// Reads the public key of a project.
pub fn read_project(path: &Path) -> Result<VerifyingKey> {
    let text = disk::read_text(path, 128)?;
    let bytes = Hex::<32>::parse(text.trim());
    bytes
        .and_then(|bytes| VerifyingKey::from_bytes(&bytes.0).ok())
        .ok_or_else(|| Error::damaged(path, "expected a public key of 64 hexadecimal digits"))
}

/// What a site bundle is made of.
#[derive(Debug, Clone)]
pub struct BundleFiles<'a> {
    /// The project's key.
    pub project: VerifyingKey,
    /// The signed manifest.
    pub manifest: &'a str,
    /// The name of the process.
    pub name: &'a str,
    /// The key of its frames.
    pub key: &'a SigningKey,
    /// The certificate of the authority, the process's own and its key; none with plain links.
    pub link: Option<(&'a str, &'a identity::Certified)>,
    /// The parts of the experiment.
    pub shared: &'a SharedFiles,
}

impl BundleFiles<'_> {
    /// Writes a site bundle into a folder.
    pub fn write(&self, folder: &Path) -> Result<()> {
        disk::make_private_folder(folder)?;
        let put = |name: &str, text: &str, access| {
            disk::write(&folder.join(name), text.as_bytes(), access)
        };
        put("project.pub", &format!("{}\n", Hex(self.project.to_bytes())), Access::Shared)?;
        put("manifest.txt", self.manifest, Access::Shared)?;
        put("process.txt", &format!("{}\n", self.name), Access::Shared)?;
        identity::write_key(&folder.join("process.key"), self.key)?;
        if let Some((authority, own)) = self.link {
            put("authority.pem", authority, Access::Shared)?;
            put("link.pem", &own.certificate, Access::Shared)?;
            put("link.key", &own.key, Access::Private)?;
        }
        put("experiment.toml", &self.shared.experiment, Access::Shared)?;
        put("part.json", &self.shared.settings, Access::Shared)?;
        put("public.json", &self.shared.public, Access::Shared)
    }
}
