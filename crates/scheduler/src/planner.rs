//! The one who decides: looks when something changed or a time has come, has the pure part decide on a copy of what was seen, and hands
//! the plan on. Gangs that are being carried out are charged meanwhile, so nobody waits for them.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tracing::{debug, info, warn};
use trellis_controller::Now;
use trellis_controller::events::{About, Events, Note};

use crate::act::{Actor, Ground};
use crate::index::Index;
use crate::memory::Memory;
use crate::metrics::Metrics;
use crate::plan::{self, Plan};
use crate::seen::Seen;
use crate::settings::{Around, Settings};
use crate::view::View;

/// Decisions are this far apart, at least.
const APART: Duration = Duration::from_millis(5);
/// The same while gangs are under way: each that ends is an event, and all that is left to do about it is to say so.
const APART_BUSY: Duration = Duration::from_millis(25);
/// And at most: a decision that takes long is not followed at once by the next.
const APART_MAX: Duration = Duration::from_millis(200);
/// How long it is waited for gangs that are not begun yet: whatever is decided goes behind them.
const APART_QUEUED: Duration = Duration::from_millis(500);
/// How soon an old view is looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// No time that a plan names is nearer than this.
const SOONEST: Duration = Duration::from_millis(100);

/// Tells of what was seen whether it is all that has to be decided on together.
pub type Whole = Arc<dyn Fn(&Seen) -> bool + Send + Sync>;

/// Who decides.
pub struct Planner {
    pub index: Arc<Index>,
    pub view: Arc<View>,
    pub actor: Arc<Actor>,
    pub settings: Arc<Settings>,
    pub identity: String,
    pub leads_since: Option<Timestamp>,
    pub now: Now,
    /// Whether it is looked again when a time comes.
    pub timers: bool,
    /// How long events are gathered before they are decided on.
    pub gather: Duration,
    pub is_whole: Whole,
    pub events: Events,
    pub metrics: Metrics,
    /// The last generation of the index after which there was nothing to do.
    pub settled: Arc<watch::Sender<Option<u64>>>,
}

impl Planner {
    /// Decides for ever.
    pub async fn run(self) {
        let (mut is_paused, mut memory) = (false, Memory::default());
        loop {
            let generation = self.index.generation();
            if let Err(reason) = self.view.is_fresh() {
                if !std::mem::replace(&mut is_paused, true) {
                    self.metrics.paused();
                    warn!(reason, "nothing is decided: the view is incomplete or too old");
                }
                sleep(LOOK_AGAIN).await;
                continue;
            }
            if std::mem::take(&mut is_paused) {
                info!("deciding again");
            }
            let ground = Ground { seen: Arc::new(self.index.seen()), at: Instant::now() };
            if !(self.is_whole)(&ground.seen) {
                self.index.changed(generation).await;
                continue;
            }
            let plan = self.decide(&ground.seen, &mut memory);
            let took = ground.at.elapsed();
            self.metrics.planned(took, &plan.figures);
            let again = plan.again_at.filter(|_| self.timers).map(|time| self.instant(time));
            let is_settled = plan.is_idle() && ground.seen.under_way.is_empty() && self.actor.is_idle();
            debug!(?took, gangs = plan.gangs.len(), deletes = plan.deletes.len(), is_settled, "decided");
            self.carry_out(plan, &ground);
            let apart = if self.index.is_busy() { APART_BUSY } else { APART };
            self.settled.send_replace(is_settled.then_some(generation));
            sleep(took.clamp(apart, APART_MAX)).await;
            let _ = timeout(APART_QUEUED, self.actor.all_begun()).await;
            self.wait(generation, again).await;
            // What happens at one moment is told event by event, and belongs together.
            sleep(self.gather).await;
        }
    }

    /// Waits until something changed, a time has come, or the view is too old.
    async fn wait(&self, generation: u64, again: Option<Instant>) {
        let due = async {
            match again {
                Some(time) => sleep_until(time).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.index.changed(generation) => {}
            () = due => {}
        }
    }

    fn decide(&self, seen: &Seen, memory: &mut Memory) -> Plan {
        let around = Around {
            settings: &self.settings,
            identity: &self.identity,
            leads_since: self.leads_since,
            now: (self.now)(),
        };
        let mut decide = || crate::decide::decide(seen, &around, memory);
        // It may take a while, and the lease has to be renewed meanwhile. With one thread there is nobody else to do it.
        match Handle::current().runtime_flavor() {
            RuntimeFlavor::MultiThread => tokio::task::block_in_place(decide),
            _ => decide(),
        }
    }

    fn carry_out(&self, mut plan: Plan, ground: &Ground) {
        let notes = std::mem::take(&mut plan.notes);
        self.actor.carry_out(plan, ground);
        if !notes.is_empty() {
            let (actor, events) = (Arc::clone(&self.actor), self.events.clone());
            tokio::spawn(async move {
                actor.time_to_say().await;
                notes.into_iter().for_each(|note| events.say(event(note)));
            });
        }
    }

    fn instant(&self, time: Timestamp) -> Instant {
        let ahead = Duration::try_from(time.duration_since((self.now)())).unwrap_or_default();
        Instant::now() + ahead.max(SOONEST)
    }
}

fn event(note: plan::Note) -> Note {
    let (_, _, kind, _) = note.about.kind.names();
    let about = About {
        api_version: note.about.kind.api_version(),
        kind: kind.to_owned(),
        namespace: note.about.namespace,
        name: note.about.name,
        uid: Some(note.uid),
    };
    Note { about, warning: note.warning, reason: note.reason.to_owned(), message: note.message }
}
