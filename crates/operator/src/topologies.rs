//! ClusterTopologies: one turn of a topology's key.

use std::time::Duration;

use kube::Api;
use kube::api::ListParams;
use trellis_api::constraint;
use trellis_api::kinds::PodCliqueSet;
use trellis_lifecycle::Failure;
use trellis_lifecycle::topology::{KaiTopologySeen, TopologyObserved, decide};

use crate::work::{Carried, Turn, Workers};

/// How long a list of sets may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// A topology takes a few passes; a bound, should decisions and writes chase each other.
const PASSES_MAX: usize = 20;

impl Workers {
    /// One turn of a topology.
    pub async fn topology(&self, name: &str) -> Turn {
        for _ in 0..PASSES_MAX {
            let Some(topology) = self.index.tables().topologies.get("", name).cloned() else {
                return Turn::Rests(None);
            };
            let users = if topology.metadata.deletion_timestamp.is_some() {
                // Its finalizer goes by this, and a deletion never rests on a cache alone.
                match self.listed_users(name).await {
                    Ok(users) => users,
                    Err(description) => {
                        return Turn::Failed(vec![Failure { code: "ERR_LIST_SETS".to_owned(), description }]);
                    }
                }
            } else {
                let tables = self.index.tables();
                tables.sets.all().filter(|set| constraint::references(set, name)).map(|set| named(set)).collect()
            };
            let (nodes, kai, served) = {
                let tables = self.index.tables();
                let nodes: Vec<_> = tables.nodes.values().cloned().collect();
                (nodes, tables.kai_topologies.get("", name).cloned(), tables.kai_topologies.is_listed())
            };
            let kai = match &kai {
                Some(kai) => KaiTopologySeen::There(kai),
                None if served => KaiTopologySeen::Absent,
                None => KaiTopologySeen::NotServed,
            };
            let seen = TopologyObserved { topology: &topology, users, nodes: &nodes, kai };
            let plan = decide(&seen, &self.settings, (self.now)());
            if plan.writes.is_empty() {
                return self.finish(plan).await;
            }
            match self.carry_out(&plan).await {
                Carried::Out | Carried::Stale => {}
                Carried::Failed(failures) => {
                    return match self.finish(plan).await {
                        Turn::Deposed => Turn::Deposed,
                        _ => Turn::Failed(failures),
                    };
                }
                Carried::Deposed => return Turn::Deposed,
            }
        }
        let description = "the topology keeps changing under our hands".to_owned();
        Turn::Failed(vec![Failure { code: "ERR_STALE".to_owned(), description }])
    }

    async fn listed_users(&self, name: &str) -> Result<Vec<(String, String)>, String> {
        let api: Api<PodCliqueSet> = Api::all(self.client.clone());
        let listed = tokio::time::timeout(PATIENCE, api.list(&ListParams::default())).await;
        let listed = listed.map_err(|_| "the list of PodCliqueSets takes too long".to_owned())?;
        let listed = listed.map_err(|error| format!("cannot list PodCliqueSets: {error}"))?;
        Ok(listed.items.iter().filter(|set| constraint::references(set, name)).map(named).collect())
    }
}

fn named(set: &PodCliqueSet) -> (String, String) {
    let metadata = &set.metadata;
    (metadata.namespace.clone().unwrap_or_default(), metadata.name.clone().unwrap_or_default())
}
