//! Disruption budgets: how many of the pods that a budget selects are healthy, how many have to be, and how many may go.
//!
//! Only pods in namespaces that have a budget are looked into, and of those what [`Member`] says is kept.

mod members;
mod verdict;

use std::time::Duration;

use tokio::time::Instant;

use super::Options;
use super::agenda::Agenda;
use super::follow::{Follow, News, each};
use super::objects;
use super::stale;
use crate::api::Api;
use crate::status::Status;
use crate::store::Key;
use members::{Member, Members};

pub(super) const CONTROLLER: &str = "disruption-controller";

pub(super) async fn run(api: Api, options: Options) {
    let mut budgets = Follow::new(&api.store, objects::BUDGETS);
    let mut pods = Follow::new(&api.store, objects::PODS);
    let mut members = Members::default();
    let mut agenda: Agenda<Key> = Agenda::new();
    let mut stale = stale::Stale::new(options.disruption_timeout);
    loop {
        tokio::select! {
            biased;
            due = agenda.due() => for key in due {
                match look_at(&api, &members, &key, options.disruption_timeout).await {
                    Ok(again) => {
                        agenda.note(key.clone(), Ok(()));
                        again.into_iter().for_each(|when| agenda.by(key.clone(), when));
                    }
                    Err(status) => agenda.note(key, Err(status)),
                }
            },
            news = budgets.next() => {
                if let News::All(_) = news {
                    members = Members::default();
                }
                for (key, budget) in each(news) {
                    members.learn_budget(&api, &key, budget.as_deref());
                    agenda.now(key);
                }
            }
            news = pods.next() => {
                let touched = match &news {
                    // What vanished unseen is found by selecting anew.
                    News::All(_) => members.select_all(&api),
                    News::Changes(changes) => {
                        changes.iter().flat_map(|change| members.learn_pod(&api, &change.key)).collect()
                    }
                };
                touched.into_iter().for_each(|key| agenda.now(key));
                each(news).iter().for_each(|(key, pod)| stale.learn(&api, key, pod.as_deref()));
            }
            () = stale.run(&api) => {}
        }
    }
}

/// Brings the status of a budget up to date; when to look again, if time alone changes it.
async fn look_at(api: &Api, members: &Members, key: &Key, timeout: Duration) -> Result<Option<Instant>, Status> {
    let Some(call) = objects::call(api, CONTROLLER, objects::BUDGETS, key) else { return Ok(None) };
    let Some(budget) = call.found().await? else { return Ok(None) };
    let pods: Vec<(&String, &Member)> = members.of(key).collect();
    let now = api.clock.now();
    let expected = verdict::expected(api, &key.namespace, &budget, &pods).await;
    let (changed, again) = match expected {
        Ok(expected) => verdict::judge(&budget, &pods, expected, now, timeout),
        Err(why) => (verdict::failed(&budget, &why, now), None),
    };
    if changed["status"] != budget["status"] {
        objects::put(&call.through("status"), changed).await?;
    }
    Ok(again.map(|time| objects::instant(api.clock, time)))
}
