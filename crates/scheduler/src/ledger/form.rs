//! The ledger as text: JSON, by group, request and place.

use super::{Entry, Held, Ledger, Nominated, Nomination, Request, Spot, Victim};
use crate::plan::{Kind, Target};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What we write. Another form is not ours to read.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Form {
    version: u32,
    by: String,
    at: Timestamp,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    members: Vec<Places>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    held: Vec<HeldForm>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    nominated: Option<NominationForm>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    fresh: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    undone: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    preempted_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    score: Option<u16>,
}

/// Pods of one group that ask for the same, by place: `node` or `node/zone`.
#[derive(Serialize, Deserialize)]
struct Places {
    group: String,
    request: BTreeMap<String, i64>,
    nodes: BTreeMap<String, String>,
}

#[derive(Serialize, Deserialize)]
struct HeldForm {
    until: Timestamp,
    #[serde(flatten)]
    places: Places,
}

#[derive(Serialize, Deserialize)]
struct NominationForm {
    until: Timestamp,
    places: Vec<Counted>,
    victims: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Counted {
    group: String,
    request: BTreeMap<String, i64>,
    nodes: BTreeMap<String, usize>,
}

pub(super) fn read(text: &str) -> Option<Ledger> {
    let form: Form = serde_json::from_str(text).ok().filter(|form: &Form| form.version == VERSION)?;
    let mut held = Vec::new();
    for HeldForm { until, places } in form.held {
        held.extend(entries(places).map(|was| Held { until, was }));
    }
    let nominated = form.nominated.map(|nominated| Nomination {
        until: nominated.until,
        places: nominated.places.into_iter().flat_map(counted).collect(),
        victims: nominated.victims.iter().filter_map(|text| victim(text)).collect(),
    });
    Some(Ledger {
        by: form.by,
        at: form.at,
        members: form.members.into_iter().flat_map(entries).collect(),
        held,
        nominated,
        is_fresh: form.fresh,
        is_undone: form.undone,
        preempted_by: form.preempted_by,
        score: form.score,
    })
}

pub(super) fn write(ledger: &Ledger) -> String {
    let mut by_time: BTreeMap<Timestamp, Vec<&Entry>> = BTreeMap::new();
    ledger.held.iter().for_each(|held| by_time.entry(held.until).or_default().push(&held.was));
    let held = by_time.into_iter().flat_map(|(until, entries)| {
        places(entries.into_iter()).into_iter().map(move |places| HeldForm { until, places })
    });
    let form = Form {
        version: VERSION,
        by: ledger.by.clone(),
        at: ledger.at,
        members: places(ledger.members.iter()),
        held: held.collect(),
        nominated: ledger.nominated.as_ref().map(nomination),
        fresh: ledger.is_fresh,
        undone: ledger.is_undone,
        preempted_by: ledger.preempted_by.clone(),
        score: ledger.score,
    };
    serde_json::to_string(&form).unwrap_or_default()
}

/// Entries by group and request; pods of a place by name.
fn places<'a>(entries: impl Iterator<Item = &'a Entry>) -> Vec<Places> {
    let mut sorted: Vec<&Entry> = entries.collect();
    sorted.sort();
    let mut all: Vec<Places> = Vec::new();
    for entry in sorted {
        let same = all.last_mut().filter(|last| last.group == entry.group && last.request == *entry.request);
        let places = match same {
            Some(_) => all.last_mut(),
            None => {
                let (group, request) = (entry.group.clone(), (*entry.request).clone());
                all.push(Places { group, request, nodes: BTreeMap::new() });
                all.last_mut()
            }
        };
        let Some(places) = places else { continue };
        let suffix = entry.pod.strip_prefix(&entry.group).filter(|rest| rest.starts_with('-'));
        let pods = places.nodes.entry(spot_text(&entry.spot)).or_default();
        if !pods.is_empty() {
            pods.push(' ');
        }
        *pods += suffix.unwrap_or(&entry.pod);
        pods.push(':');
        *pods += &entry.uid;
    }
    all
}

fn entries(places: Places) -> impl Iterator<Item = Entry> {
    let Places { group, request, nodes } = places;
    let request: Request = Arc::new(request);
    nodes.into_iter().flat_map(move |(spot, pods)| {
        let entry = |text: &str| {
            let (name, uid) = text.split_once(':')?;
            let pod = if name.starts_with('-') { format!("{group}{name}") } else { name.to_owned() };
            let (group, request, uid) = (group.clone(), request.clone(), uid.to_owned());
            Some(Entry { group, request, spot: spot_of(&spot), pod, uid })
        };
        pods.split(' ').filter_map(entry).collect::<Vec<_>>()
    })
}

fn nomination(nomination: &Nomination) -> NominationForm {
    let mut sorted: Vec<&Nominated> = nomination.places.iter().collect();
    sorted.sort();
    let mut places: Vec<Counted> = Vec::new();
    for place in sorted {
        let is_same = |last: &Counted| last.group == place.group && last.request == *place.request;
        if !places.last().is_some_and(is_same) {
            let (group, request) = (place.group.clone(), (*place.request).clone());
            places.push(Counted { group, request, nodes: BTreeMap::new() });
        }
        if let Some(last) = places.last_mut() {
            *last.nodes.entry(spot_text(&place.spot)).or_default() += 1;
        }
    }
    let victim = |victim: &Victim| {
        let Target { kind, namespace, name } = &victim.target;
        let (_, _, kind, _) = kind.names();
        format!("{kind}/{namespace}/{name}:{}", victim.uid)
    };
    NominationForm { until: nomination.until, places, victims: nomination.victims.iter().map(victim).collect() }
}

fn counted(counted: Counted) -> Vec<Nominated> {
    let request: Request = Arc::new(counted.request);
    let mut places = Vec::new();
    for (spot, count) in &counted.nodes {
        let place = Nominated { group: counted.group.clone(), request: request.clone(), spot: spot_of(spot) };
        // No node takes more pods than a gang may have.
        places.extend(std::iter::repeat_n(place, (*count).min(100_000)));
    }
    places
}

fn victim(text: &str) -> Option<Victim> {
    let (target, uid) = text.rsplit_once(':')?;
    let mut parts = target.splitn(3, '/');
    let kind = match parts.next()? {
        "PodGang" => Kind::PodGang,
        "PodGroup" => Kind::PodGroup,
        "Pod" => Kind::Pod,
        _ => return None,
    };
    let (namespace, name) = (parts.next()?.to_owned(), parts.next()?.to_owned());
    Some(Victim { target: Target { kind, namespace, name }, uid: uid.to_owned() })
}

/// No node has a slash in its name.
fn spot_text(spot: &Spot) -> String {
    spot.zone.as_ref().map_or_else(|| spot.node.clone(), |zone| format!("{}/{zone}", spot.node))
}

fn spot_of(text: &str) -> Spot {
    match text.split_once('/') {
        Some((node, zone)) => Spot { node: node.to_owned(), zone: Some(zone.to_owned()) },
        None => Spot { node: text.to_owned(), zone: None },
    }
}
