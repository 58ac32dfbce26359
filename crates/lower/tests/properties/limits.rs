//! Sets at the limits of DECISIONS 46: names stay legal at the largest indices, and gangs stay small enough to be stored.

use crate::expected::{Expected, by_template};
use crate::legal::{dns_label, label_value};
use crate::support::{Admitted, Checked, admit, check};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use trellis_lower::{Instance, LiveReplicas, Translation, by_gang, expand, pod_gang};
use trellis_testkit::sets::large_cases;

#[test]
fn sets_at_the_limits() {
    check(file!(), "limits", 40, large_cases(), |case| {
        let Some(admitted) = admit(&case) else { return Ok(()) };
        let expected = by_template(&admitted.set);
        let pods: usize = expected.iter().map(|clique| clique.pods).sum();
        prop_assert!(pods <= 100_000, "{pods} pods");
        let mut gangs: BTreeMap<&str, usize> = BTreeMap::new();
        for clique in &expected {
            *gangs.entry(&clique.gang).or_default() += clique.pods;
        }
        prop_assert!(gangs.values().all(|pods| *pods <= 5_000), "{:?}", gangs.values().max());
        let live = LiveReplicas::default();
        let instances = expand(&admitted.set, &live);
        same(&instances, &expected)?;
        legal(&instances)?;
        storable(&admitted, &instances)
    });
}

fn same(instances: &[Instance<'_>], expected: &[Expected]) -> Checked {
    prop_assert_eq!(instances.len(), expected.len());
    let distinct: HashSet<&str> = instances.iter().map(|instance| instance.name.as_str()).collect();
    prop_assert_eq!(distinct.len(), instances.len(), "PodCliques with the same name");
    let key = |name: &str, gang: &str, pods: usize| format!("{name} {gang} {pods}");
    let made: BTreeSet<String> = instances.iter().map(|i| key(&i.name, &i.gang, i.replicas)).collect();
    let wanted: BTreeSet<String> = expected.iter().map(|e| key(&e.name, &e.gang, e.pods)).collect();
    prop_assert!(made == wanted, "{:?}", made.symmetric_difference(&wanted).next());
    Ok(())
}

fn legal(instances: &[Instance<'_>]) -> Checked {
    for instance in instances {
        let last = format!("{}-{}", instance.name, instance.replicas.saturating_sub(1));
        let live = format!("{}-zzzzz", instance.name);
        for name in [&last, &live] {
            prop_assert!(dns_label(name), "{name:?} has {} characters", name.len());
        }
        prop_assert!(label_value(&instance.name) && label_value(&instance.gang));
    }
    Ok(())
}

/// A PodGang has to stay under 1 MiB.
fn storable(admitted: &Admitted, instances: &[Instance<'_>]) -> Checked {
    let translation = Translation::of(&admitted.set, &admitted.topologies, &admitted.settings);
    let pods = |members: &Vec<&Instance<'_>>| members.iter().map(|member| member.replicas).sum::<usize>();
    let gangs = by_gang(instances);
    let groups = gangs.iter().max_by_key(|members| members.len());
    for members in gangs.iter().max_by_key(|members| pods(members)).into_iter().chain(groups) {
        let names = |clique: &str, n: usize| (0..n).map(|k| format!("{clique}-{:05}", k % 100_000)).collect();
        let gang = pod_gang(&admitted.set, members, &translation, &admitted.settings, &names);
        let bytes = serde_json::to_vec(&gang).expect("gangs are JSON").len();
        prop_assert!(bytes < 1 << 20, "a gang of {} pods in {} groups has {bytes} bytes", pods(members), members.len());
    }
    Ok(())
}
