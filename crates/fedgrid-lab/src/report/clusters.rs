//! The clusters of a solution in words.

use crate::{number, outcome::Outcome};

/// How many sizes are listed.
const LISTED_SIZES: usize = 12;

/// How many clusters there are and of which sizes; none where the method makes no neighbours equal.
pub(super) fn clusters(outcome: &Outcome) -> Option<String> {
    let clusters = outcome.clusters.as_ref()?;
    let (several, single): (Vec<usize>, Vec<usize>) =
        clusters.sizes.iter().partition(|size| **size > 1);
    let mut sentences = vec![format!(
        "The solution has {}: nodes joined by edges over which weights do not differ.",
        number::counted(clusters.count, "cluster")
    )];
    if !several.is_empty() {
        let sizes: Vec<String> =
            several.iter().take(LISTED_SIZES).map(|size| number::count(*size)).collect();
        let more = if several.len() > LISTED_SIZES { ", …" } else { "" };
        sentences.push(format!("Sizes: {}{more} nodes.", sizes.join(", ")));
    }
    if !single.is_empty() {
        let nodes = number::counted(single.len(), "node");
        sentences.push(format!("Equal to no neighbour: {nodes}."));
    }
    Some(sentences.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{outcome::Clusters, report::tests::complete};

    #[test]
    fn clusters_of_one_node_are_counted_and_the_others_listed() {
        let mut outcome = complete();
        assert_eq!(clusters(&outcome), None);
        outcome.clusters = Some(Clusters { count: 4, sizes: vec![7, 2, 1, 1] });
        assert_eq!(
            clusters(&outcome).unwrap(),
            "The solution has 4 clusters: nodes joined by edges over which weights do not differ. \
             Sizes: 7, 2 nodes. Equal to no neighbour: 2 nodes."
        );
    }
}
