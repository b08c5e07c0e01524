//! Synchronous rounds over Zenoh give the bits of one process.

use std::time::Duration;

use fedgrid_zenoh::manifest::LinkProtocol;

use crate::{
    made::{How, Problem},
    scene::{Scene, Spec},
};

fn same_bits(how: How, link: LinkProtocol) {
    let problem = Problem { how, nodes: 32, points: 20, seed: 5 };
    let spec = Spec { problem, processes: 8, link, rounds: 30, checkpoint_every: 10, trace: false };
    let scene = Scene::new(spec);
    let parts = scene.spawn_all();
    scene.wait_all(parts, Duration::from_mins(2));
    assert_eq!(scene.predictions(), scene.expected());
}

#[test]
fn fedrelax_over_tcp_gives_the_bits_of_one_process() {
    same_bits(How::FedRelax, LinkProtocol::Tcp);
}

#[test]
fn fedrelax_with_trees_over_mutual_tls_gives_the_bits_of_one_process() {
    same_bits(How::Trees, LinkProtocol::Tls);
}

#[test]
fn primal_dual_over_tcp_gives_the_bits_of_one_process() {
    same_bits(How::PrimalDual, LinkProtocol::Tcp);
}

#[test]
fn primal_dual_over_mutual_tls_gives_the_bits_of_one_process() {
    same_bits(How::PrimalDual, LinkProtocol::Tls);
}

#[test]
fn persfl_over_tcp_gives_the_bits_of_one_process() {
    same_bits(How::PersFl, LinkProtocol::Tcp);
}

#[test]
fn persfl_over_mutual_tls_gives_the_bits_of_one_process() {
    same_bits(How::PersFl, LinkProtocol::Tls);
}

#[test]
fn fedrelax_over_quic_gives_the_bits_of_one_process() {
    same_bits(How::FedRelax, LinkProtocol::Quic);
}
