//! DynamoGraphDeployments: one turn of a deployment's key.

use trellis_lifecycle::dynamo::decide;
use trellis_lifecycle::{Around, Failure, Kind, Plan, Target};

use crate::queue::Key;
use crate::work::{Turn, Workers};

impl Workers {
    /// One turn of a deployment.
    pub async fn deployment(&self, key: &Key, namespace: &str, name: &str) -> Turn {
        let kind = Kind::DynamoGraphDeployment;
        let about = Target { kind, namespace: namespace.to_owned(), name: name.to_owned() };
        self.turn(key, about, |failures| self.decide_deployment(namespace, name, failures)).await
    }

    fn decide_deployment(&self, namespace: &str, name: &str, failures: &[Failure]) -> Plan {
        let Some(seen) = self.index.observe_deployment(namespace, name) else { return Plan::default() };
        let topologies = self.index.topologies();
        let around =
            Around { topologies: &topologies, settings: &self.settings, now: (self.now)(), judges: self.judges };
        decide(&seen, around, failures)
    }
}
