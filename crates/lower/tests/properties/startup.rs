//! Who waits for whom, worked out without the code under test: an init container stands where the order asks for it,
//! and its pods may read what it waits for.

use crate::expected::{Expected, by_template};
use crate::support::{Admitted, Checked, admit, check, objects};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::BTreeSet;
use trellis_api::kinds::StartupType;
use trellis_testkit::sets::cases;

/// Names of the cliques that a clique starts after, by the template.
fn direct<'a>(admitted: &'a Admitted, clique: &str) -> Vec<&'a str> {
    let template = &admitted.set.spec.template;
    let i = template.cliques.iter().position(|other| other.name == clique).expect("in the template");
    match template.clique_startup_type {
        StartupType::AnyOrder => Vec::new(),
        StartupType::InOrder => i.checked_sub(1).map(|i| template.cliques[i].name.as_str()).into_iter().collect(),
        StartupType::Explicit => template.cliques[i].spec.starts_after.iter().map(String::as_str).collect(),
    }
}

/// The PodCliques to wait for: those of the parents in the same gang. A parent that has none there hands on to its own.
fn parents(admitted: &Admitted, clique: &str, gang: &[&Expected], into: &mut BTreeSet<String>) {
    for parent in direct(admitted, clique) {
        let there: Vec<&&Expected> = gang.iter().filter(|member| member.clique == parent).collect();
        into.extend(there.iter().map(|member| format!("--podcliques={}:{}", member.name, member.min)));
        if there.is_empty() {
            parents(admitted, parent, gang, into);
        }
    }
}

#[test]
fn pods_wait_where_the_order_asks_for_it() {
    check(file!(), "waiting", 800, cases(), |case| {
        let Some(admitted) = admit(&case) else { return Ok(()) };
        let lowered = admitted.lower();
        let kinds = objects(&lowered);
        let expected = by_template(&admitted.set);
        for clique in &expected {
            let gang: Vec<&Expected> = expected.iter().filter(|other| other.gang == clique.gang).collect();
            let mut wanted = BTreeSet::new();
            parents(&admitted, &clique.clique, &gang, &mut wanted);
            for k in 0..clique.pods {
                let name = format!("{}-{k}", clique.name);
                let pod = kinds["Pod"].iter().find(|pod| pod["metadata"]["name"] == name.as_str());
                waits(&admitted, pod.unwrap_or(&Value::Null), &wanted, &clique.clique)?;
                if !wanted.is_empty() {
                    may_read(&admitted, pod.unwrap_or(&Value::Null), &kinds)?;
                }
            }
            let object = kinds["PodClique"].iter().find(|object| object["metadata"]["name"] == clique.name.as_str());
            let after: BTreeSet<&str> = object.into_iter().flat_map(|o| strings(&o["spec"]["startsAfter"])).collect();
            let names = wanted.iter().filter_map(|w| w.strip_prefix("--podcliques=")?.rsplit_once(':'));
            prop_assert_eq!(after, names.map(|(name, _)| name).collect::<BTreeSet<_>>());
        }
        Ok(())
    });
}

fn strings(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// The user's init containers, and after them the one that waits, if there is something to wait for.
fn waits(admitted: &Admitted, pod: &Value, wanted: &BTreeSet<String>, clique: &str) -> Checked {
    let own = admitted.set.spec.template.cliques.iter().find(|c| c.name == clique).map(|c| &c.spec.pod_spec.0);
    let names = |list: Option<&Value>| -> Vec<Value> {
        list.and_then(Value::as_array).into_iter().flatten().map(|container| container["name"].clone()).collect()
    };
    let mut containers = names(own.and_then(|pod| pod.get("initContainers")));
    if !wanted.is_empty() {
        containers.push("trellis-wait".into());
    }
    prop_assert_eq!(names(pod["spec"].get("initContainers")), containers);
    if wanted.is_empty() {
        return Ok(());
    }
    let waiting = pod["spec"]["initContainers"].as_array().and_then(|list| list.last()).unwrap_or(&Value::Null);
    let arguments: Vec<&str> = strings(&waiting["args"]).collect();
    prop_assert_eq!(arguments.first(), Some(&"wait"));
    prop_assert_eq!(arguments.len(), wanted.len() + 1, "an argument for each PodClique, once");
    prop_assert!(arguments[1..].iter().all(|argument| wanted.contains(*argument)), "{:?} {:?}", arguments, wanted);
    Ok(())
}

/// Pods that wait have an account that the binding knows, and the set makes it if the user named none.
fn may_read(admitted: &Admitted, pod: &Value, kinds: &std::collections::BTreeMap<&str, Vec<Value>>) -> Checked {
    let account = pod["spec"]["serviceAccountName"].as_str().unwrap_or_default();
    prop_assert!(!account.is_empty());
    let [binding] = &kinds["RoleBinding"][..] else { return Err(TestCaseError::fail("one RoleBinding")) };
    let subjects = binding["subjects"].as_array().into_iter().flatten();
    let known: Vec<&Value> = subjects.filter(|s| s["name"] == account && s["kind"] == "ServiceAccount").collect();
    prop_assert_eq!(known.len(), 1, "{} is bound once", account);
    prop_assert_eq!(known[0]["namespace"].as_str(), Some(admitted.namespace()));
    let [role] = &kinds["Role"][..] else { return Err(TestCaseError::fail("one Role")) };
    prop_assert_eq!(&binding["roleRef"]["name"], &role["metadata"]["name"]);
    let made = kinds["ServiceAccount"].iter().any(|object| object["metadata"]["name"] == account);
    prop_assert!(made || account == "runner", "nobody makes the account {}", account);
    Ok(())
}
