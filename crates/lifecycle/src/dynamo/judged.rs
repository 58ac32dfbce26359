//! Whether a deployment may be as it is, where no webhook has judged it: as a request to create it, until it has its set. From then on the
//! set is judged, against what there is of it, and a topology that has gone is no fault of the deployment.

use super::{Deployment, DynamoObserved};
use crate::picture::Around;
use trellis_api::admission::dynamo::{DynamoReview, TopologyRead};
use trellis_api::admission::{ClusterView, Verdict};
use trellis_api::dynamo::Graph;
use trellis_lower::dynamo::{follow, follow_structure};

/// Faults of a deployment that nobody has judged before.
pub fn judge(seen: &DynamoObserved, deployment: &Deployment, graph: &Graph, around: Around<'_>) -> Verdict {
    if !around.judges {
        return Verdict::default();
    }
    let settings = around.settings;
    let review = DynamoReview::of(&deployment.value, None);
    if seen.sets.contains_key(&graph.set_name()) {
        return review.judge_structure(|graph| follow_structure(graph, settings)).1;
    }
    let view = ClusterView { topologies: around.topologies.clone(), ..ClusterView::default() };
    let wanted = review.wants_topology(settings);
    let topology = wanted.map_or(TopologyRead::Unread, |name| TopologyRead::in_view(&view, name));
    review.judge(&topology, settings, |graph, old, view| follow(graph, old, view, settings))
}
