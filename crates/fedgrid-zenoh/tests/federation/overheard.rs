//! What a wire tells those who listen: on plain links whose frames pass, on links with certificates
//! nothing of ours.

use std::sync::Arc;

use fedgrid::model::{Linear, LocalModel};
use fedgrid_zenoh::{
    frame::VERSION,
    manifest::{LinkProtocol, Manifest},
    transport::KeyExpressions,
};

use crate::canaries::{Target, overheard, relax};

/// What begins our frames, names their run, and names the project, its sites and its nodes.
fn ours(manifest: &Manifest) -> Vec<(String, Vec<u8>)> {
    let magic = [b"fgrd".as_slice(), &VERSION.to_le_bytes()].concat();
    let key = KeyExpressions::new(manifest).frame(0, 1);
    let run = key.split('/').nth(1).unwrap().to_string();
    let mut all = vec![
        ("the beginning of a frame".to_string(), magic),
        ("the run in a frame".to_string(), manifest.run.0.to_vec()),
        ("the run in a key".to_string(), run.into_bytes()),
        ("the project".to_string(), manifest.project.clone().into_bytes()),
    ];
    let sites = manifest.processes.iter().map(|process| process.name.clone());
    let nodes = manifest.nodes.iter().map(|node| node.name.clone());
    all.extend(sites.chain(nodes).map(|name| (name.clone(), name.into_bytes())));
    all
}

fn found(bytes: &[u8], manifest: &Manifest) -> Vec<String> {
    let is_there = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
    let all = ours(manifest).into_iter().filter(|(_, text)| is_there(text));
    all.map(|(what, _)| what).collect()
}

#[test]
fn nothing_of_ours_can_be_read_on_links_with_certificates() {
    let model: Arc<dyn LocalModel> = Arc::new(Linear { ridge: 0.01, intercept: true });
    let listen = |link: LinkProtocol| overheard(link, &relax(), (&model, Target::Numbers), 50, 10);
    let (plain, _, manifest) = listen(LinkProtocol::Tcp);
    let open = found(&plain, &manifest);
    let control = ["the beginning of a frame", "the run in a frame", "the run in a key"];
    assert!(control.iter().all(|what| open.iter().any(|found| found == what)), "{open:?}");
    let (sealed, _, manifest) = listen(LinkProtocol::Tls);
    assert!(sealed.len() > plain.len() / 2, "as much was said");
    assert_eq!(found(&sealed, &manifest), Vec::<String>::new());
}
