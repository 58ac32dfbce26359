//! The ledgers of all gangs, and what became of the members that they name.

use super::{Object, Who, served::Served, short_uid};
use crate::ledger::{Entry, Held, Ledger, Nominated, Nomination, Readings, Request, Spot, Victim, short};
use crate::plan::{Kind, Target};
use crate::seen::{Named, Seen};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use trellis_api::names::annotation;
use trellis_lower::problem::Assumed;

/// What became of a member that a ledger names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is bound, here.
    Standing(Spot),
    /// It lives and is not bound.
    Begun,
    /// It is bound and being deleted: it takes up room, and is no member any more.
    Leaving,
    /// It is gone, or has failed.
    Vanished,
    /// It has succeeded.
    Finished,
}

/// The ledger of one gang.
struct Book<'a> {
    object: Object<'a>,
    ledger: Arc<Ledger>,
    written_by: String,
    is_scribble: bool,
    fates: Vec<Fate>,
    /// What the object holds as long as the ledger that is under way does not stand on it.
    still_held: Vec<Held>,
    /// Who has to leave by what stands on the object, and by what is under way.
    victims: Vec<Victim>,
}

/// The ledgers of all gangs that have one.
pub(super) struct Books<'a> {
    of_gangs: HashMap<Target, Book<'a>>,
    /// Ledgers that are being carried out for gangs that are gone meanwhile: binds may be on their way.
    of_lost: Vec<(&'a Target, Arc<Ledger>)>,
}

impl<'a> Books<'a> {
    pub fn read(seen: &'a Seen, served: &Served<'a>, readings: &mut Readings) -> Self {
        let gangs = served.pod_gangs.iter().map(|gang| Object::PodGang(gang));
        let groups = served.pod_groups.iter().map(|group| Object::PodGroup(group));
        // A pod alone has a ledger only while others make room for it, or while it is being bound.
        let pods = seen.pods.values().map(|pod| Object::Pod(pod));
        let are_pods_under_way = seen.under_way.keys().any(|target| target.kind == Kind::Pod);
        let mut books = HashMap::new();
        for object in gangs.chain(groups).chain(pods) {
            let written = object.annotation(annotation::PLACEMENT);
            let is_pod = matches!(object, Object::Pod(_));
            if is_pod && written.is_none() && !are_pods_under_way {
                continue;
            }
            let target = Target::of(object.kind(), object.meta());
            let assumed = seen.under_way.get(&target).map(|text| &**text).filter(|text| !text.is_empty());
            let Some(text) = assumed.or(written) else { continue };
            let read = readings.read(text);
            let (is_scribble, ledger) = (read.is_none(), read.unwrap_or_default());
            let namespace = object.meta().namespace.as_deref().unwrap_or_default();
            let fates = ledger.members.iter().map(|entry| fate(entry, namespace, seen)).collect();
            let former = assumed.map(|_| written.and_then(|text| readings.read(text)).unwrap_or_default());
            let still_held = former.as_ref().map(|former| given_up(former, &ledger)).unwrap_or_default();
            let on_object = former.as_ref().unwrap_or(&ledger);
            let (victims, written_by) = (named(&ledger, on_object), on_object.by.clone());
            books.insert(target, Book { object, ledger, written_by, is_scribble, fates, still_held, victims });
        }
        let lost = seen.under_way.iter().filter(|(target, _)| !books.contains_key(target));
        let of_lost = lost.filter_map(|(target, text)| Some((target, readings.read(text)?))).collect();
        Self { of_gangs: books, of_lost }
    }

    /// Who has to leave, and for whom: those that a gang's nomination names while it stands written, if they are of lower priority. A
    /// nomination stands on an object that others may write to, so it is not believed in that.
    pub fn victims(&self, now: Timestamp, priorities: &HashMap<Target, i32>) -> BTreeMap<(Target, String), String> {
        let mut victims = BTreeMap::new();
        let mut books: Vec<(&Target, &Book<'_>)> = self.of_gangs.iter().collect();
        books.sort_by_key(|(target, _)| *target);
        for (target, book) in books {
            let gone = book.object.meta().deletion_timestamp.is_some() || book.ledger.preempted_by.is_some();
            let Some(nomination) = book.ledger.nominated.as_ref().filter(|_| !gone) else { continue };
            if nomination.until > now {
                let may_evict = |victim: &&Victim| match (priorities.get(target), priorities.get(&victim.target)) {
                    (Some(own), Some(theirs)) => own > theirs,
                    _ => true,
                };
                for victim in book.victims.iter().filter(may_evict) {
                    let whom = format!("{}/{}", target.namespace, target.name);
                    victims.entry((victim.target.clone(), victim.uid.clone())).or_insert(whom);
                }
            }
        }
        victims
    }

    /// Where members that were begun will be; but for those whose node is gone, which wait.
    pub fn begun(&self, seen: &'a Seen) -> HashMap<(&'a str, &'a str), Assumed<'_>> {
        let mut begun = HashMap::new();
        let of_gangs = self.of_gangs.iter().flat_map(|(target, book)| {
            let entries = book.ledger.members.iter().zip(&book.fates).filter(|(_, fate)| **fate == Fate::Begun);
            entries.map(move |(entry, _)| (target, entry))
        });
        let of_lost = self.of_lost.iter().flat_map(|(target, ledger)| {
            let is_begun = |entry: &&Entry| fate(entry, &target.namespace, seen) == Fate::Begun;
            ledger.members.iter().filter(is_begun).map(move |entry| (*target, entry))
        });
        for (target, entry) in of_gangs.chain(of_lost) {
            if !seen.nodes.contains_key(entry.spot.node.as_str()) {
                continue;
            }
            if let Some((key, _)) = seen.pods.get_key_value(&(&*target.namespace, &*entry.pod) as &dyn Named) {
                let Spot { node, zone } = &entry.spot;
                begun.insert(key.parts(), Assumed { node, zone: zone.as_deref() });
            }
        }
        begun
    }

    /// Who a gang is.
    pub fn who(
        &mut self,
        (seen, identity): (&Seen, &str),
        object: Object<'a>,
        victims: &BTreeMap<(Target, String), String>,
    ) -> Who<'a> {
        let target = Target::of(object.kind(), object.meta());
        let book = self.of_gangs.remove(&target);
        let named = victims.get(&(target.clone(), short_uid(object.meta()).to_owned())).cloned();
        let (ledger, written_by, fates, is_scribble, still_held) = book
            .map(|book| (book.ledger, book.written_by, book.fates, book.is_scribble, book.still_held))
            .unwrap_or_default();
        // An eviction that has begun takes the whole gang, whatever became of the one it was for. What a former leader has asked for
        // may still come, so what it began is ended.
        let is_evicted = || {
            let goes = |(entry, fate): (&Entry, &Fate)| match fate {
                Fate::Vanished | Fate::Leaving => true,
                _ => {
                    let pod = seen.pod(&target.namespace, &entry.pod);
                    let uid = pod.and_then(|pod| pod.metadata.uid.as_deref());
                    uid.is_some_and(|uid| seen.deleting.contains(uid))
                }
            };
            let stands = fates.iter().any(|fate| matches!(fate, Fate::Standing(_)));
            stands && (ledger.by != identity || ledger.members.iter().zip(&fates).any(goes))
        };
        let leaves_for = named.or_else(|| ledger.preempted_by.clone().filter(|_| is_evicted()));
        let begun = ledger.members.iter().zip(&fates).filter(|(_, fate)| **fate == Fate::Begun);
        let begun = begun.map(|(entry, _)| entry.pod.clone()).collect();
        Who {
            begun,
            is_written: object.annotation(annotation::PLACEMENT).is_some(),
            object,
            target,
            ledger,
            written_by,
            is_scribble,
            fates,
            still_held,
            bar: None,
            gives_up: false,
            leaves_for,
            moving: BTreeSet::new(),
        }
    }
}

/// Those that both ledgers name.
fn named(ledger: &Ledger, former: &Ledger) -> Vec<Victim> {
    let of = |ledger: &Ledger| ledger.nominated.as_ref().map(|it| it.victims.clone()).unwrap_or_default();
    let before = of(former);
    of(ledger).into_iter().filter(|victim| before.contains(victim)).collect()
}

/// What a ledger that is written holds, for members that come back or while others make room, and the one that follows it gives up or
/// fills otherwise.
pub(crate) fn given_up(written: &Ledger, next: &Ledger) -> Vec<Held> {
    let mut held = written.held.clone();
    if let Some(Nomination { until, places, .. }) = &written.nominated {
        let was = |it: &Nominated| Entry {
            group: it.group.clone(),
            request: it.request.clone(),
            spot: it.spot.clone(),
            pod: String::new(),
            uid: String::new(),
        };
        held.extend(places.iter().map(|place| Held { until: *until, was: was(place) }));
    }
    // Who stood before fills nothing that was held.
    let new = next.members.iter().filter(|entry| !written.members.contains(entry));
    let entries = next.held.iter().map(|held| &held.was).chain(new);
    let nominated = next.nominated.iter().flat_map(|nomination| &nomination.places);
    let mut others: Vec<(&String, &Spot, &Request)> = entries
        .map(|it| (&it.group, &it.spot, &it.request))
        .chain(nominated.map(|it| (&it.group, &it.spot, &it.request)))
        .collect();
    held.retain(|held| {
        let was = (&held.was.group, &held.was.spot, &held.was.request);
        others.iter().position(|other| *other == was).map(|at| others.swap_remove(at)).is_none()
    });
    held
}

fn fate(entry: &Entry, namespace: &str, seen: &Seen) -> Fate {
    match seen.pod(namespace, &entry.pod) {
        Some(pod) if short(pod.metadata.uid.as_deref().unwrap_or_default()) == entry.uid => of_pod(pod),
        _ => Fate::Vanished,
    }
}

/// Where a pod stands in its life.
pub(super) fn of_pod(pod: &Pod) -> Fate {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).filter(|node| !node.is_empty());
    let is_leaving = pod.metadata.deletion_timestamp.is_some();
    match (phase, node) {
        // One that ends well because it is told to go has not done its work, and will be made anew.
        (Some("Succeeded"), _) if !is_leaving => Fate::Finished,
        (Some("Succeeded" | "Failed"), _) => Fate::Vanished,
        (_, Some(_)) if is_leaving => Fate::Leaving,
        (_, None) if is_leaving => Fate::Vanished,
        (_, None) => Fate::Begun,
        (_, Some(node)) => {
            let zone = pod.metadata.annotations.as_ref().and_then(|map| map.get(annotation::NUMA_ZONE));
            Fate::Standing(Spot { node: node.to_owned(), zone: zone.cloned() })
        }
    }
}

#[cfg(test)]
mod tests;
