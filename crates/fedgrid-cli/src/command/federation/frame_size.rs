//! How much one site sends another in a round: the messages of all edges between the two travel as one
//! frame,
//!
//! ```text
//! bytes = Σ over edges between them (4 + bytes of a message) + header and signature ≤ 16 MiB
//! ```
//!
//! so what would not fit is known before anything is made.

use std::collections::BTreeMap;

use fedgrid::{network::Network, runtime::protocol::EDGE_INDEX_BYTES};
use fedgrid_zenoh::{
    frame::{HEADER_BYTES, LARGEST_FRAME_BYTES, TRAILER_BYTES},
    provision::Site,
};

use super::sites::pairs;
use fedgrid_lab::{
    error::{Error, Result},
    number::counted,
};

/// Refuses sites that have more to tell each other than a frame holds, by the bytes of a message along each edge.
pub(super) fn check(network: &Network, sites: &[Site], messages: &[usize]) -> Result<()> {
    let mut between: BTreeMap<(usize, usize), (usize, usize)> = BTreeMap::new();
    for (edge, (a, b)) in pairs(network, sites) {
        let (bytes, edges) = between.entry((a.min(b), a.max(b))).or_default();
        // Saturating: a sum that overflows is too large in any case.
        *bytes = bytes.saturating_add(EDGE_INDEX_BYTES).saturating_add(messages[edge]);
        *edges += 1;
    }
    let Some((&(a, b), &(bytes, edges))) = between.iter().max_by_key(|(_, told)| **told) else {
        return Ok(());
    };
    let bytes = bytes.saturating_add(HEADER_BYTES + TRAILER_BYTES);
    if bytes <= LARGEST_FRAME_BYTES {
        return Ok(());
    }
    Err(Error::input(format!(
        "sites '{}' and '{}' would tell each other {bytes} bytes a round over {}, more than the {LARGEST_FRAME_BYTES} \
         of a frame; use fewer public points (or features, for methods of weights), or divide the \
         nodes among more sites or processes",
        sites[a].name,
        sites[b].name,
        counted(edges, "edge")
    )))
}

/// Refuses sums over all nodes, on their way to the node that leads, that no frame holds.
pub(super) fn check_sums(sites: &[Site], bytes: usize) -> Result<()> {
    let whole = bytes.saturating_add(EDGE_INDEX_BYTES + HEADER_BYTES + TRAILER_BYTES);
    if sites.len() < 2 || whole <= LARGEST_FRAME_BYTES {
        return Ok(());
    }
    Err(Error::input(format!(
        "federation.judge is true, and what all nodes tell of their test rows may take {whole} bytes, more than the \
         {LARGEST_FRAME_BYTES} of a frame; use federation.judge = false, or fewer public points or shuffles"
    )))
}

#[cfg(test)]
mod tests {
    use fedgrid::network::path;

    use super::*;

    #[test]
    fn what_just_fits_is_allowed_and_one_byte_more_is_not() {
        let network = path(4).unwrap();
        let site = |name: &str, nodes: &[u32]| Site {
            name: name.into(),
            address: None,
            nodes: nodes.to_vec(),
        };
        let sites = [site("odd", &[1, 3]), site("even", &[0, 2])];
        let most = (LARGEST_FRAME_BYTES - HEADER_BYTES - TRAILER_BYTES) / 3 - EDGE_INDEX_BYTES;
        assert!(check(&network, &sites, &[most; 3]).is_ok());
        let refused = check(&network, &sites, &[most + 1; 3]).unwrap_err().to_string();
        assert!(
            refused.contains("'odd' and 'even'") && refused.contains("over 3 edges"),
            "{refused}"
        );
        // At one site nothing travels.
        assert!(check(&network, &[site("all", &[0, 1, 2, 3])], &[usize::MAX; 3]).is_ok());
    }
}
