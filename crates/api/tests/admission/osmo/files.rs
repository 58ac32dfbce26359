//! The kinds themselves: what kubectl applies is judged by the same rules, with its own paths (decision 27).

use crate::edit::{edited, yaml};
use serde_json::Value;
use trellis_api::admission::object::{Decoded, Kind, decode};
use trellis_api::admission::{Pools, validate_workflow};
use trellis_api::kinds::osmo::{Pool, Workflow};
use trellis_api::osmo::config::Config;

const OBJECT: &str = "
metadata: {name: train, namespace: jobs}
spec:
  groups: [{name: g, tasks: [{name: a, image: i, command: [c]}]}]
";

fn errors(object: &Value, old: Option<&Value>) -> Vec<String> {
    let pool: Pool = decode(Kind::Pool, yaml("{metadata: {name: p}, spec: {}}")).object.expect("a pool");
    let pools = Pools::from([("p".to_owned(), pool)]);
    let old = old.map(|old| decode::<Workflow>(Kind::Workflow, old.clone()).object.expect("an old version"));
    let decoded: Decoded<Workflow> = decode(Kind::Workflow, object.clone());
    let rules = decoded.object.as_ref().map(|workflow| validate_workflow(workflow, old.as_ref(), &pools));
    decoded.judged(rules.unwrap_or_default()).errors.iter().map(ToString::to_string).collect()
}

#[test]
fn d27_workflows_as_objects() {
    let base = yaml(OBJECT);
    let check = |edits: &[&str], expected: &[&str]| {
        assert_eq!(errors(&edited(Kind::Workflow, &base, edits), None), expected, "{edits:?}");
    };
    check(&[], &[]);
    check(
        &["spec.groups[0].tasks[0].image: ''"],
        &["spec.groups[0].tasks[0].image: Required value: an image is needed to run the task"],
    );
    check(&["spec.pool: q"], &["spec.pool: Not found: \"q\": no pool is called so; there are p"]);
    check(
        &["metadata.name: 1a"],
        &["metadata.name: Invalid value: \"1a\": must be letters, digits, '-' and '_', starting with a letter \
         and ending with a letter or digit (e.g. 'shard-0')"],
    );
}

#[test]
fn d27_a_workflow_that_is_there_can_only_be_ended() {
    let base = yaml(OBJECT);
    let check = |edits: &[&str], old: &[&str], expected: &[&str]| {
        let (new, old) = (edited(Kind::Workflow, &base, edits), edited(Kind::Workflow, &base, old));
        assert_eq!(errors(&new, Some(&old)), expected, "{edits:?}");
    };
    check(&[], &[], &[]);
    check(&["metadata.labels: {a: b}"], &[], &[]);
    check(&["spec.cancel: true"], &[], &[]);
    check(&[], &["spec.cancel: true"], &["spec.cancel: Forbidden: a workflow that was ended does not begin again"]);
    let message =
        "spec: Forbidden: a workflow cannot be changed once it is there, but for `cancel`; submit another one";
    check(&["spec.groups[0].tasks[0].image: j"], &[], &[message]);
}

#[test]
fn d35_which_documents_are_configuration() {
    let check = |text: &str, is: bool| assert_eq!(Config::read(&yaml(text)).is_some(), is, "{text}");
    check("{pools: {}}", true);
    check("{backends: {}}", true);
    check("{services: {configs: {}}}", true);
    check("{name: p, topology_keys: []}", true);
    check("{name: p, backend: b}", true);
    check("{name: p}", false);
    check("{apiVersion: v1, kind: X, pools: {}}", false);
    check("[1]", false);
    check("text", false);
}
