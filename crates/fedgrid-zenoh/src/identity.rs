//! Who signs and who is who: Ed25519 keys for frames and manifests, certificates for links.
//!
//! A frame's signature proves its origin, whoever relayed it; certificates keep strangers off the
//! links. A project has one signing key and one certificate authority, a process one of each.

use std::{
    fmt,
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

pub use ed25519_dalek::{SigningKey, VerifyingKey};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, date_time_ymd,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use x509_parser::{pem::parse_x509_pem, prelude::X509Certificate};

use crate::{
    disk::{self, Access},
    error::{Error, Result},
};

/// Bytes that are written as hexadecimal text: keys, hashes, signatures.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hex<const N: usize>(pub [u8; N]);

impl<const N: usize> fmt::Display for Hex<N> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl<const N: usize> fmt::Debug for Hex<N> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl<const N: usize> Hex<N> {
    /// Reads exactly this many bytes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 2 * N {
            return None;
        }
        let value = |digit: u8| char::from(digit).to_digit(16).and_then(|d| u8::try_from(d).ok());
        let mut bytes = [0; N];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = value(pair[0])? << 4 | value(pair[1])?;
        }
        Some(Self(bytes))
    }
}

impl<const N: usize> Serialize for Hex<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, const N: usize> Deserialize<'de> for Hex<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text)
            .ok_or_else(|| de::Error::custom(format!("expected {} hexadecimal digits", 2 * N)))
    }
}

/// Bytes that nobody can guess.
pub fn random_bytes<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::Transport { doing: "draw a key", reason: error.to_string() })?;
    Ok(bytes)
}

/// A fresh signing key.
pub fn new_key() -> Result<SigningKey> {
    Ok(SigningKey::from_bytes(&random_bytes()?))
}

/// Writes a signing key for its owner only.
pub fn write_key(path: &Path, key: &SigningKey) -> Result<()> {
    disk::write(path, format!("{}\n", Hex(key.to_bytes())).as_bytes(), Access::Private)
}

/// Reads a signing key.
pub fn read_key(path: &Path) -> Result<SigningKey> {
    let text = disk::read_text(path, 128)?;
    let seed = Hex::<32>::parse(text.trim());
    let seed = seed.ok_or_else(|| Error::damaged(path, "expected 64 hexadecimal digits"))?;
    Ok(SigningKey::from_bytes(&seed.0))
}

/// The authority that certifies the processes of a project.
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its own certificate, which every process trusts.
    pub certificate: String,
    /// Its key, which stays with the project.
    pub key: String,
}

/// A certificate with its key, as PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certified {
    /// The certificate.
    pub certificate: String,
    /// Its key.
    pub key: String,
}

/// From when to when a certificate is good, in seconds since 1970.
pub type Validity = (u64, u64);

impl Authority {
    /// A fresh authority.
    pub fn new(project: &str, validity: Validity) -> Result<Self> {
        let key = KeyPair::generate().map_err(|error| refused(&error))?;
        let params = authority_params(project, validity);
        let certificate = params.self_signed(&key).map_err(|error| refused(&error))?.pem();
        let text = key.serialize_pem();
        Ok(Self { issuer: Issuer::new(params, key), certificate, key: text })
    }

    /// The authority of a project from its stored certificate and key.
    pub fn from_stored(project: &str, certificate: String, key: String) -> Result<Self> {
        let pair = KeyPair::from_pem(&key).map_err(|error| refused(&error))?;
        // Only the name and the key of an issuer enter what it signs; its own certificate stays as stored.
        let params = authority_params(project, (0, 0));
        Ok(Self { issuer: Issuer::new(params, pair), certificate, key })
    }

    /// Certifies a process that is reached at these hosts.
    pub fn certify(&self, name: &str, hosts: &[String], validity: Validity) -> Result<Certified> {
        let key = KeyPair::generate().map_err(|error| refused(&error))?;
        let mut params = CertificateParams::new(hosts.to_vec()).map_err(|error| refused(&error))?;
        params.distinguished_name = DistinguishedName::new();
        // Certificates without a name are for tests of their refusal.
        if !name.is_empty() {
            params.distinguished_name.push(DnType::CommonName, name);
        }
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        set_validity(&mut params, validity);
        let certificate =
            params.signed_by(&key, &self.issuer).map_err(|error| refused(&error))?.pem();
        Ok(Certified { certificate, key: key.serialize_pem() })
    }
}

fn authority_params(project: &str, validity: Validity) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, format!("fedgrid project {project}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    set_validity(&mut params, validity);
    params
}

fn set_validity(params: &mut CertificateParams, (from, to): Validity) {
    let beginning = date_time_ymd(1970, 1, 1);
    params.not_before = beginning + Duration::from_secs(from);
    params.not_after = beginning + Duration::from_secs(to);
}

fn refused(error: &rcgen::Error) -> Error {
    Error::Certificate { found: error.to_string() }
}

/// What a certificate says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Its common name, which is the process's.
    pub name: String,
    /// From when to when it is good.
    pub validity: Validity,
    /// The hash of all of it.
    pub fingerprint: Hex<32>,
}

/// Reads a certificate in PEM.
pub fn read_certificate(pem: &str) -> Result<Statement> {
    let wrong = |found: &str| Error::Certificate { found: found.into() };
    let (_, block) = parse_x509_pem(pem.as_bytes()).map_err(|_| wrong("it is no PEM text"))?;
    let certificate = block.parse_x509().map_err(|_| wrong("it is no X.509 certificate"))?;
    let seconds = |time: i64| u64::try_from(time).unwrap_or(0);
    let validity = certificate.validity();
    let times = (seconds(validity.not_before.timestamp()), seconds(validity.not_after.timestamp()));
    let name = common_name(&certificate).ok_or_else(|| wrong("it names no process"))?;
    let fingerprint = Hex(*blake3::hash(&block.contents).as_bytes());
    Ok(Statement { name, validity: times, fingerprint })
}

/// Whether a key in PEM is the one of a certificate in PEM.
#[must_use]
pub fn belong_together(certificate: &str, key: &str) -> bool {
    let (Ok(key), Ok((_, block))) =
        (KeyPair::from_pem(key), parse_x509_pem(certificate.as_bytes()))
    else {
        return false;
    };
    block
        .parse_x509()
        .is_ok_and(|found| *found.public_key().subject_public_key.data == *key.public_key_raw())
}

fn common_name(certificate: &X509Certificate) -> Option<String> {
    let name = certificate.subject().iter_common_name().next()?;
    name.as_str().ok().map(ToString::to_string)
}

/// The wall clock, in seconds since 1970. Only certificates ask for it.
#[must_use]
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_text_is_read_back_and_nothing_else_is() {
        let bytes = Hex([0x00, 0xff, 0x1a]);
        assert_eq!(bytes.to_string(), "00ff1a");
        assert_eq!(Hex::parse("00ff1a"), Some(bytes));
        for wrong in ["00ff1", "00ff1a0", "00ff1g", "", "+0ff1a"] {
            assert_eq!(Hex::<3>::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_certificate_says_its_process_and_its_time() {
        let authority = Authority::new("p", (0, 10)).unwrap();
        let stored =
            Authority::from_stored("p", authority.certificate.clone(), authority.key.clone());
        for authority in [authority, stored.unwrap()] {
            let made = authority.certify("site-3", &["127.0.0.1".into()], (5, 4_000_000_000));
            let statement = read_certificate(&made.unwrap().certificate).unwrap();
            assert_eq!(statement.name, "site-3");
            assert_eq!(statement.validity, (5, 4_000_000_000));
        }
    }

    #[test]
    fn what_is_no_certificate_is_refused() {
        let authority = Authority::new("p", (0, 10)).unwrap();
        let nameless = authority.certify("", &[], (0, 10)).unwrap().certificate;
        for text in ["", "-----BEGIN CERTIFICATE-----", nameless.as_str()] {
            assert!(matches!(read_certificate(text), Err(Error::Certificate { .. })));
        }
    }
}
