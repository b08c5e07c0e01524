//! The federation as its users meet it: real processes, real Zenoh sessions on loopback, real files.

mod made;
mod scene;
mod same_bits;
mod survival;
mod impersonation;
mod canaries;
mod overheard;
mod damage;
mod here;
mod hostile;
mod full_disk;
mod asynchronous;
mod costs;
mod large;
mod soak;
mod bundles;
mod kept;
mod expiry;
mod clocks;
mod changes;
