//! OSMO's files: a file with edits goes the way from YAML to a verdict, and comes back with the places where the user wrote.

mod files;
mod pools;
mod tasks;
mod topology;
mod workflows;

use crate::edit::{edited, matches, yaml};
use serde_json::Value;
use std::collections::BTreeMap;
use trellis_api::admission::object::{Decoded, Kind, decode};
use trellis_api::admission::{Pools, Verdict, validate_pool, validate_workflow};
use trellis_api::kinds::osmo::{Pool, Workflow};
use trellis_api::osmo::config::{Config, pool_object};
use trellis_api::osmo::workflow as workflow_file;

/// Two shards that must share a clique and a logger; nothing in it is odd, so nothing is warned of.
const WORKFLOW: &str = "
version: 2
workflow:
  name: train
  groups:
  - name: group1
    tasks:
    - {name: shard-0, lead: true, image: img, command: [run], resource: shard}
    - {name: shard-1, image: img, command: [run], resource: shard}
    - {name: logger, image: img, command: [log]}
  - name: group2
    tasks:
    - {name: judge, image: img, command: [judge], inputs: [{task: shard-0}]}
resources:
  default: {cpu: 1}
  shard: {gpu: 4, memory: 64Gi, topology: [{key: gpu-clique, group: a}]}
";

/// The pool of 004's examples.
const POOL: &str = "
name: my-pool-01
topology_keys:
- {key: zone, label: topology.kubernetes.io/zone}
- {key: spine, label: topology.kubernetes.io/spine}
- {key: rack, label: topology.kubernetes.io/rack}
- {key: gpu-clique, label: nvidia.com/gpu-clique}
";

/// All pools of a configuration, judged.
fn judged_pools(config: &Value) -> Vec<(String, Option<Pool>, Verdict)> {
    let config = Config::read(config).unwrap_or_else(|| panic!("no configuration: {config}"));
    let mut faults = config.errors.clone();
    let mut judged: Vec<_> = config
        .pools
        .iter()
        .map(|entry| {
            let (object, written, errors) = pool_object(entry, &config.backends, &config.templates);
            let decoded: Decoded<Pool> = decode(Kind::Pool, object);
            let pool = decoded.object.clone();
            let rules = pool.as_ref().map(validate_pool).unwrap_or_default();
            let mut verdict = written.verdict(decoded.judged(rules));
            verdict.errors.splice(0..0, errors);
            (entry.name.clone(), pool, verdict)
        })
        .collect();
    if let Some((_, _, verdict)) = judged.first_mut() {
        verdict.errors.splice(0..0, faults.drain(..));
    }
    judged
}

/// A workflow file in a cluster with pools, and the warnings that it should earn.
struct Case {
    file: Value,
    pools: Pools,
    warnings: Vec<String>,
}

/// The workflow above with edits, in the pool above.
fn workflow(edits: &[&str]) -> Case {
    let file = edited(Kind::Workflow, &yaml(WORKFLOW), edits);
    Case { file, pools: Pools::new(), warnings: Vec::new() }.pool(&[])
}

impl Case {
    /// The pool above with edits; one of the same name is replaced.
    fn pool(mut self, edits: &[&str]) -> Self {
        let config = edited(Kind::Pool, &yaml(POOL), edits);
        for (_, pool, verdict) in judged_pools(&config) {
            assert!(verdict.allowed(), "{:?}", verdict.errors);
            let pool = pool.expect("a pool");
            self.pools.insert(pool.metadata.name.clone().expect("a name"), pool);
        }
        self
    }

    fn warns(mut self, warnings: &[&str]) -> Self {
        self.warnings = warnings.iter().map(|text| (*text).to_owned()).collect();
        self
    }

    #[track_caller]
    fn gives(&self, errors: &[&str]) {
        let file = workflow_file(&self.file);
        let decoded: Decoded<Workflow> = decode(Kind::Workflow, file.object);
        let rules = decoded.object.as_ref().map(|object| validate_workflow(object, None, &self.pools));
        let mut verdict = file.written.verdict(decoded.judged(rules.unwrap_or_default()));
        let told = file.errors;
        verdict.errors.retain(|error| told.iter().all(|own| own.field != error.field));
        verdict.errors.splice(0..0, told);
        same("errors", errors, &verdict.errors.iter().map(ToString::to_string).collect::<Vec<_>>(), &self.file);
        let warnings: Vec<&str> = self.warnings.iter().map(String::as_str).collect();
        same("warnings", &warnings, &verdict.warnings, &self.file);
    }
}

/// Checks all errors and warnings of a configuration, pool by pool.
#[track_caller]
fn pools(text: &str, expected: &[(&str, &[&str], &[&str])]) {
    let value = yaml(text);
    let judged = judged_pools(&value);
    let names: Vec<&str> = judged.iter().map(|(name, _, _)| name.as_str()).collect();
    let wanted: Vec<&str> = expected.iter().map(|(name, _, _)| *name).collect();
    assert_eq!(names, wanted, "{text}");
    for ((_, _, verdict), (_, errors, warnings)) in judged.iter().zip(expected) {
        let actual: Vec<String> = verdict.errors.iter().map(ToString::to_string).collect();
        same("errors", errors, &actual, &value);
        same("warnings", warnings, &verdict.warnings, &value);
    }
}

/// The pool above with edits.
#[track_caller]
fn pool(edits: &[&str], errors: &[&str]) {
    let config = edited(Kind::Pool, &yaml(POOL), edits);
    let actual: Vec<String> =
        judged_pools(&config).iter().flat_map(|(_, _, v)| &v.errors).map(ToString::to_string).collect();
    same("errors", errors, &actual, &config);
}

#[track_caller]
fn same(what: &str, expected: &[&str], actual: &[String], of: &Value) {
    let same = expected.len() == actual.len() && expected.iter().zip(actual).all(|(e, a)| matches(e, a));
    let (expected, actual) = (expected.join("\n  "), actual.join("\n  "));
    assert!(same, "\nexpected {what}:\n  {expected}\nactual {what}:\n  {actual}\nof {of:#}");
}

/// The backends of a configuration, for tests that look at them alone.
fn backends(text: &str) -> BTreeMap<String, Value> {
    Config::read(&yaml(text)).expect("configuration").backends
}
