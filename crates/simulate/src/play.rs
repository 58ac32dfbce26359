//! Plays a run: one event after the other, with everything that may go wrong; now and then a rest, and one in the end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use serde_json::json;
use tokio::time::{Instant, sleep};
use trellis_cluster::nodes::Outcome;

use crate::check::Rule;
use crate::draw::Draw;
use crate::events::{self, Act, Kind};
use crate::eye::Eye;
use crate::journal::Journal;
use crate::life::{Life, Who};
use crate::wire::Watcher;
use crate::world::{self, HOLD_SECONDS, NAMESPACE, World, first_labels, node_name, node_spec};
use crate::{Error, Options, Report};

/// How long nothing may happen before the world is at rest: longer than anything that is waited for.
const QUIET: Duration = Duration::from_secs(HOLD_SECONDS + 30);
/// How long it may take until then.
const PATIENCE: Duration = Duration::from_hours(1);
/// How often it is looked whether something happened.
const STEP: Duration = Duration::from_secs(5);
/// How often a request is sent that could not be answered, and how long in between.
const TRIES: usize = 5;
const AGAIN: Duration = Duration::from_secs(2);

/// A run under way.
struct Play {
    world: World,
    eye: Eye,
    operator: Arc<Life>,
    scheduler: Arc<Life>,
    /// What is wrong with nodes.
    lost: BTreeSet<usize>,
    removed: BTreeSet<usize>,
    refused: usize,
}

/// Plays a run.
pub async fn play(options: &Options, progress: &(dyn Fn(usize) + Sync)) -> Result<Report, Error> {
    let begun = Instant::now();
    let seed = options.seed;
    let api = World::api(seed);
    let eye = Eye::on(&api);
    let journal = Journal::new(api.clock());
    let world = World::new(api).await?;
    let configuration = world::configuration()?;
    let begin =
        |who: Who, watcher: Watcher| Arc::new(Life::begin(who, seed, &world.api, &configuration, &journal, watcher));
    let watched = eye.clone();
    let operator = begin(Who::Operator, Arc::new(|_: &Method, _: &str, _: &[u8]| ()));
    let scheduler = begin(
        Who::Scheduler,
        Arc::new(move |method: &Method, path: &str, body: &[u8]| watched.scheduler_writes(method, path, body)),
    );
    let (lost, removed) = (BTreeSet::new(), BTreeSet::new());
    let mut play = Play { world, eye, operator, scheduler, lost, removed, refused: 0 };
    play.rest().await;
    play.suffer(true);
    let mut draw = Draw::new(seed);
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for number in 1..=options.events {
        let event = match &options.replay {
            Some(events) => match events.get(number - 1) {
                Some(event) => event.clone(),
                None => break,
            },
            None => draw.next(number, &play.world),
        };
        journal.event(&event);
        play.eye.look(|checker| checker.event(number));
        progress(number);
        if let Some(hook) = &options.hook {
            hook(number, play.world.api.clone()).await;
        }
        *kinds.entry(event.kind.clone()).or_default() += 1;
        play.act(&event.act).await;
        sleep(Duration::from_millis(event.pause)).await;
        if play.has_found() {
            break;
        }
    }
    if !play.has_found() {
        play.end().await;
    }
    Ok(play.report(seed, kinds, begun, journal))
}

impl Play {
    fn lives(&self) -> [&Arc<Life>; 2] {
        [&self.operator, &self.scheduler]
    }

    fn life(&self, who: Who) -> &Arc<Life> {
        match who {
            Who::Operator => &self.operator,
            Who::Scheduler => &self.scheduler,
        }
    }

    fn suffer(&self, suffers: bool) {
        self.lives().into_iter().for_each(|life| life.suffer(suffers));
    }

    /// Whether something was found, or somebody ended who should not.
    fn has_found(&self) -> bool {
        let died: Vec<(Rule, String)> = self.lives().into_iter().flat_map(|life| life.ends().1).collect();
        self.eye.look(|checker| {
            if checker.violations().is_empty() {
                for (rule, why) in died {
                    checker.report(rule, why, Vec::new());
                }
            }
            !checker.violations().is_empty()
        })
    }

    async fn act(&mut self, act: &Act) {
        // A node that is not there, or a pod that runs nothing, is no fault of the run.
        match act {
            Act::Lose(node) => {
                self.lost.insert(*node);
                let _ = self.world.nodes.lose(&node_name(*node)).await;
            }
            Act::Restore(node) => {
                self.lost.remove(node);
                let _ = self.world.nodes.restore(&node_name(*node)).await;
            }
            Act::Remove(node) => {
                self.removed.insert(*node);
                let _ = self.world.nodes.remove(&node_name(*node)).await;
            }
            Act::Add(node) => {
                self.removed.remove(node);
                let _ = self.world.nodes.add(node_spec(*node)).await;
            }
            Act::Finish(pod, code) => {
                let _ = self.world.nodes.finish(NAMESPACE, pod, None, Outcome::of_code(*code)).await;
            }
            Act::CutWatches(who) => self.life(*who).cut_watches(),
            Act::Outage(who, seconds) => {
                let (life, seconds) = (Arc::clone(self.life(*who)), *seconds);
                life.connect(false);
                tokio::spawn(async move {
                    sleep(Duration::from_secs(seconds)).await;
                    life.connect(true);
                });
            }
            Act::Crash(who, after) => self.life(*who).strike(*after),
            Act::Settle => {
                self.suffer(false);
                self.rest().await;
                self.eye.look(crate::check::Checker::at_rest);
                self.suffer(true);
            }
            Act::Create(_) | Act::Patch(..) | Act::Delete(_) => self.request(act).await,
        }
    }

    async fn request(&mut self, act: &Act) {
        for (method, path, body) in events::requests(act) {
            let mut code = 0;
            for _ in 0..TRIES {
                code = self.world.send(method.clone(), &path, &body).await.0;
                // Who judges sets may be away.
                if code < 500 {
                    break;
                }
                sleep(AGAIN).await;
            }
            self.refused += usize::from(code >= 400 && code != 404);
        }
    }

    /// Waits until nothing happens any more.
    async fn rest(&self) {
        let begun = Instant::now();
        let (mut moved, mut since) = (0, Instant::now());
        while since.elapsed() < QUIET {
            if begun.elapsed() > PATIENCE {
                let what = format!("something still happens after {} minutes", PATIENCE.as_secs() / 60);
                self.eye.look(|checker| checker.report(Rule::Restless, what, Vec::new()));
                return;
            }
            sleep(STEP).await;
            let now = self.eye.look(|checker| checker.moved());
            if now != moved {
                (moved, since) = (now, Instant::now());
            }
        }
    }

    /// All is put right, and comes to rest.
    async fn end(&mut self) {
        self.suffer(false);
        for node in std::mem::take(&mut self.removed) {
            let _ = self.world.nodes.add(node_spec(node)).await;
        }
        for node in std::mem::take(&mut self.lost) {
            let _ = self.world.nodes.restore(&node_name(node)).await;
        }
        for node in 0..world::NODES {
            let right = json!({ "metadata": { "labels": first_labels(node) }, "spec": { "unschedulable": false } });
            self.request(&Act::Patch(Kind::Node.path(&node_name(node)), right)).await;
        }
        self.rest().await;
        self.eye.look(crate::check::Checker::at_rest);
        self.has_found();
    }

    fn report(&self, seed: u64, events: BTreeMap<String, usize>, begun: Instant, journal: Journal) -> Report {
        let (operator, scheduler) = (self.operator.effort(), self.scheduler.effort());
        if self.has_found() {
            journal.last_changes(self.eye.last_changes());
        }
        self.eye.look(|checker| Report {
            seed,
            events,
            refused: self.refused,
            operator_crashes: self.operator.ends().0,
            scheduler_crashes: self.scheduler.ends().0,
            operator_writes: operator.writes,
            scheduler_writes: scheduler.writes,
            decisions: scheduler.decisions,
            steps: scheduler.steps,
            counts: checker.counts().clone(),
            virtual_seconds: begun.elapsed().as_secs(),
            digest: checker.digest(),
            violations: checker.violations().to_vec(),
            journal: Some(journal),
        })
    }
}
