//! The user examples of document 003 as they stand there: the deployment, and the set and gangs that are made of it. `TRELLIS_BLESS=1` takes
//! over what came out.

use crate::support::{graph, judge, view};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use trellis_api::admission::default_pod_clique_set;
use trellis_api::settings::Settings;
use trellis_lower::dynamo::pod_clique_set;
use trellis_lower::{LiveReplicas, Surroundings, lower};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dynamo/golden")
}

fn read(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("JSON")
}

/// The set as it is written, and its gangs with constraints in the labels of the cluster.
fn made(value: &Value) -> Value {
    let (view, settings) = (view(), Settings::default());
    assert!(judge(value, None, &view, &settings).allowed());
    let set = pod_clique_set(&graph(value), &settings);
    let mut stored = set.clone();
    default_pod_clique_set(&mut stored, None, &settings);
    let live = LiveReplicas::default();
    let lowered = lower(&stored, &Surroundings { topologies: &view.topologies, live: &live, settings: &settings });
    let pods: Vec<&str> = lowered.pods.iter().map(trellis_lower::Pod::name).collect();
    json!({ "podCliqueSet": set, "podGangs": lowered.gangs, "pods": pods })
}

#[test]
fn s003_user_examples_and_what_is_made_of_them() {
    for name in ["s003-example1-inherited", "s003-example2-mixed", "s003-example3-service-only"] {
        let actual = made(&read(&folder().join(format!("{name}.input.json"))));
        let file = folder().join(format!("{name}.objects.json"));
        if std::env::var_os("TRELLIS_BLESS").is_some() {
            let text = serde_json::to_string_pretty(&actual).expect("JSON") + "\n";
            std::fs::write(&file, text).expect("the file is written");
        }
        assert_eq!(actual, read(&file), "{name}");
    }
}
