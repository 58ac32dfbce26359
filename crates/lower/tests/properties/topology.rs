//! From domains to label keys: DECISIONS 18 and 45, said once more in terms of the JSON that the user wrote.

use crate::support::{Admitted, Checked, admit, check};
use proptest::prelude::*;
use proptest::sample::subsequence;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use trellis_api::kinds::{GangTopologyConstraint, PodGang};
use trellis_lower::DriftState;
use trellis_testkit::sets::{Case, DOMAINS, constrained_cases};

/// What a place asks for.
#[derive(Clone, Copy, Debug, Default)]
struct Asked<'a> {
    required: Option<&'a str>,
    preferred: Option<&'a str>,
}

fn asked(place: &Value) -> Asked<'_> {
    let constraint = &place["topologyConstraint"];
    let text = |value: &'_ Value| DOMAINS.into_iter().find(|domain| value == domain);
    Asked {
        required: text(&constraint["packDomain"]).or(text(&constraint["pack"]["required"])),
        preferred: text(&constraint["pack"]["preferred"]),
    }
}

/// Label keys by domain, and whether gangs prefer something by themselves.
struct Levels {
    keys: BTreeMap<&'static str, String>,
    automatic: bool,
}

fn rank(domain: &str) -> usize {
    DOMAINS.iter().position(|other| *other == domain).expect("one of the seven")
}

impl Levels {
    /// The keys that a gang carries for a place: required, then preferred.
    fn keys(&self, asked: Asked<'_>) -> (Option<&String>, Option<&String>) {
        let host = rank("host");
        let narrowest = DOMAINS[..=host].iter().copied().rfind(|domain| self.keys.contains_key(domain));
        let required = asked.required.filter(|domain| self.keys.contains_key(domain));
        let narrower = |domain: &str, than: Option<&str>| than.is_none_or(|than| rank(domain) > rank(than));
        // The user's own is redundant by what he wrote, the automatic one by what is left.
        let preferred = match asked.preferred {
            Some(own) => Some(own).filter(|own| narrower(own, asked.required)),
            None => narrowest.filter(|automatic| self.automatic && narrower(automatic, required)),
        };
        let key = |domain: Option<&str>| domain.and_then(|domain| self.keys.get(domain));
        (key(required), key(preferred))
    }
}

fn written(constraint: Option<&GangTopologyConstraint>) -> (Option<&String>, Option<&String>) {
    let pack = constraint.and_then(|constraint| constraint.pack_constraint.as_ref());
    (pack.and_then(|pack| pack.required.as_ref()), pack.and_then(|pack| pack.preferred.as_ref()))
}

/// A set that was admitted, and the topology after it: some levels may have gone since.
fn property((case, left, automatic): (Case, Vec<&'static str>, bool)) -> Checked {
    let Some(mut admitted) = admit(&case) else { return Ok(()) };
    let name = case.topology["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    admitted.settings.auto_preferred = automatic;
    let topology = admitted.topologies.get_mut(&name).expect("the topology of the case");
    topology.spec.levels.retain(|level| left.contains(&level.domain.as_str()));
    let keys = topology.spec.levels.iter().map(|level| (level.domain.as_str(), level.key.clone())).collect();
    let levels = Levels { keys, automatic };
    let template = &case.set["spec"]["template"];
    let list = |field: &str| template[field].as_array().map_or(&[][..], Vec::as_slice);
    let places: Vec<&Value> =
        [template].into_iter().chain(list("podCliqueScalingGroups")).chain(list("cliques")).collect();
    let applies = places.iter().any(|place| place.get("topologyConstraint").is_some());
    let lowered = admitted.lower();

    let wanted: BTreeSet<&str> =
        places.iter().flat_map(|place| [asked(place).required, asked(place).preferred]).flatten().collect();
    let missing: Vec<&str> =
        DOMAINS.into_iter().filter(|d| wanted.contains(d) && !levels.keys.contains_key(d)).collect();
    let reported: Vec<&str> = lowered.drift.missing.iter().map(|domain| domain.as_str()).collect();
    prop_assert_eq!(&reported, &missing);
    let state = match (applies, missing.is_empty()) {
        (false, _) => DriftState::NotConstrained,
        (true, true) => DriftState::InSync,
        (true, false) => DriftState::LevelsMissing,
    };
    prop_assert_eq!(lowered.drift.state, state);
    prop_assert_eq!(lowered.drift.topology.as_ref(), applies.then_some(&name));

    for gang in &lowered.gangs {
        let expected = |asked: Asked<'_>| if applies { levels.keys(asked) } else { (None, None) };
        gang_carries(&admitted, gang, template, &expected)?;
        let annotation = gang.metadata.annotations.as_ref().and_then(|map| map.get("grove.io/topology-name"));
        prop_assert_eq!(annotation, constraints(gang).next().map(|_| &name));
        for (required, preferred) in constraints(gang).map(|constraint| written(Some(constraint))) {
            prop_assert!(required.is_some() || preferred.is_some(), "an empty constraint");
            for key in required.into_iter().chain(preferred) {
                prop_assert!(levels.keys.values().any(|known| known == key), "{key} is not in the topology");
            }
        }
    }
    Ok(())
}

fn constraints(gang: &PodGang) -> impl Iterator<Item = &GangTopologyConstraint> {
    let spec = &gang.spec;
    let configs = spec.topology_constraint_group_configs.iter().filter_map(|c| c.topology_constraint.as_ref());
    let groups = spec.pod_groups.iter().filter_map(|group| group.topology_constraint.as_ref());
    spec.topology_constraint.iter().chain(configs).chain(groups)
}

type Keys<'a> = (Option<&'a String>, Option<&'a String>);

fn gang_carries<'a>(
    admitted: &Admitted,
    gang: &PodGang,
    template: &Value,
    keys: &dyn Fn(Asked<'_>) -> Keys<'a>,
) -> Checked {
    let named = |list: &str, name: &str| -> Value {
        let items = template[list].as_array().into_iter().flatten();
        items.clone().find(|item| item["name"] == name).cloned().unwrap_or_default()
    };
    let members: Vec<_> = crate::expected::by_template(&admitted.set)
        .into_iter()
        .filter(|clique| Some(&clique.gang) == gang.metadata.name.as_ref())
        .collect();
    // The whole gang: the set's, and for a scaled gang what its group says itself goes before it, as far as it is left.
    let of_set = asked(template);
    let scaled = members.iter().find(|member| member.base_gang.is_some()).and_then(|member| member.group.as_ref());
    let group = scaled.map(|(_, group, _)| named("podCliqueScalingGroups", group)).unwrap_or_default();
    let of_group = asked(&group);
    let is_left = |domain: &&str| keys(Asked { required: Some(domain), preferred: None }).0.is_some();
    let whole = Asked {
        required: of_group.required.filter(is_left).or(of_set.required),
        preferred: of_group.preferred.or(of_set.preferred),
    };
    prop_assert_eq!(written(gang.spec.topology_constraint.as_ref()), keys(whole), "{:?}", gang.metadata.name);
    for member in &members {
        let carried = gang.spec.pod_groups.iter().find(|group| group.name == member.name);
        let carried = written(carried.and_then(|group| group.topology_constraint.as_ref()));
        prop_assert_eq!(carried, keys(asked(&named("cliques", &member.clique))), "pod group {}", member.name);
    }
    // Group configs: one for each replica in a base gang, where the group has a constraint of which something is left.
    let mut wanted: BTreeMap<String, (Keys<'_>, BTreeSet<&String>)> = BTreeMap::new();
    for member in members.iter().filter(|member| member.base_gang.is_none()) {
        let Some((scaling_group, group, j)) = &member.group else { continue };
        let group = named("podCliqueScalingGroups", group);
        let carried = keys(asked(&group));
        if group.get("topologyConstraint").is_some() && carried != (None, None) {
            let entry = wanted.entry(format!("{scaling_group}-{j}")).or_insert((carried, BTreeSet::new()));
            entry.1.insert(&member.name);
        }
    }
    let configs = gang.spec.topology_constraint_group_configs.iter();
    let carried: BTreeMap<String, (Keys<'_>, BTreeSet<&String>)> = configs
        .map(|c| (c.name.clone(), (written(c.topology_constraint.as_ref()), c.pod_group_names.iter().collect())))
        .collect();
    prop_assert_eq!(carried, wanted);
    Ok(())
}

#[test]
fn gangs_carry_what_users_ask_for() {
    let all = Just(DOMAINS.to_vec());
    check(file!(), "constraints", 1000, (constrained_cases(), all, prop::bool::weighted(0.8)), property);
}

#[test]
fn levels_that_have_gone_are_left_out_and_reported() {
    let left = subsequence(DOMAINS.to_vec(), 0..DOMAINS.len());
    check(file!(), "drift", 1000, (constrained_cases(), left, prop::bool::weighted(0.8)), property);
}

#[test]
fn without_topology_gangs_carry_nothing() {
    check(file!(), "without", 300, (constrained_cases(), any::<bool>()), |(case, off)| {
        let Some(mut admitted) = admit(&case) else { return Ok(()) };
        admitted.settings.topology_enabled = !off;
        if !off {
            admitted.topologies.clear();
        }
        let lowered = admitted.lower();
        let applies = trellis_api::constraint::is_constrained(&admitted.set);
        let state = if off { DriftState::Disabled } else { DriftState::NotFound };
        prop_assert_eq!(lowered.drift.state, if applies { state } else { DriftState::NotConstrained });
        prop_assert!(lowered.drift.missing.is_empty());
        for gang in &lowered.gangs {
            prop_assert!(constraints(gang).next().is_none() && gang.spec.topology_constraint_group_configs.is_empty());
            let annotations = gang.metadata.annotations.iter().flatten();
            prop_assert!(annotations.into_iter().all(|(key, _)| key != "grove.io/topology-name"));
        }
        Ok(())
    });
}
