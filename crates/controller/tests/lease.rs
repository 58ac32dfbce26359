//! Leader election on the embedded API. Time is the runtime's own: nothing waits for a real clock.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::Client;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use trellis_cluster::api::{self, Options};
use trellis_cluster::clock::Clock;
use trellis_cluster::entropy::Entropy;
use trellis_cluster::faults::{Fault, Faults, Seen};
use trellis_cluster::user::User;
use trellis_controller::Now;
use trellis_controller::lease::{Config, Leadership, acquire};

const DURATION: Duration = Duration::from_secs(15);
const DEADLINE: Duration = Duration::from_secs(10);
const RETRY: Duration = Duration::from_secs(2);
/// From when a leader may have stopped until another may begin.
const GAP: Duration = Duration::from_secs(5);
/// More than any answer takes here.
const MOMENT: Duration = Duration::from_millis(100);

/// An API, and those who want to lead on it.
struct Arena {
    api: api::Api,
    clock: Clock,
}

/// One of them, on a line of its own.
struct One {
    faults: Faults,
    leading: JoinHandle<Leadership>,
}

impl Arena {
    async fn new() -> Self {
        let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().expect("a time"));
        let api = api::Api::new(Options { clock, entropy: Entropy::seeded(1), ..Options::default() });
        api.furnish().await.expect("the objects of every cluster");
        Self { api, clock }
    }

    fn client(&self, faults: &Faults) -> Client {
        Client::new(faults.around(self.api.service(User::admin())), "default")
    }

    /// One begins to try; its clock is wrong by so much.
    fn one(&self, identity: &str, wrong: SignedDuration, faults: Faults) -> One {
        let (client, config, now) = (self.client(&faults), config(identity), now(self.clock, wrong));
        One { faults, leading: tokio::spawn(acquire(client, config, now)) }
    }

    async fn enter(&self, identity: &str) -> One {
        let one = self.one(identity, SignedDuration::ZERO, Faults::none());
        sleep(MOMENT).await;
        one
    }

    fn leases(&self) -> Api<Lease> {
        Api::default_namespaced(self.client(&Faults::none()))
    }

    async fn record(&self) -> LeaseSpec {
        self.leases().get("lock").await.expect("the lease").spec.unwrap_or_default()
    }
}

fn config(identity: &str) -> Config {
    Config {
        namespace: "default".to_owned(),
        name: "lock".to_owned(),
        identity: identity.to_owned(),
        duration: DURATION,
        renew_deadline: DEADLINE,
        retry_period: RETRY,
    }
}

fn now(clock: Clock, wrong: SignedDuration) -> Now {
    Arc::new(move || -> Timestamp { clock.now() + wrong })
}

impl One {
    /// Its leadership, once it has it.
    async fn leads(self, within: Duration) -> (Leadership, Faults) {
        let leadership = timeout(within, self.leading).await.expect("it leads in time").expect("no panic");
        assert!(leadership.holds());
        (leadership, self.faults)
    }

    async fn waits(&self, so_long: Duration) {
        sleep(so_long).await;
        assert!(!self.leading.is_finished(), "it should still wait");
    }
}

async fn lost(leadership: &Leadership, within: Duration) -> Duration {
    let begun = Instant::now();
    timeout(within, leadership.lost()).await.expect("it is lost in time");
    assert!(!leadership.holds());
    begun.elapsed()
}

#[tokio::test(start_paused = true)]
async fn one_of_two_leads_for_as_long_as_it_renews() {
    let arena = Arena::new().await;
    let first = arena.enter("first").await;
    let second = arena.enter("second").await;
    let (leadership, _) = first.leads(MOMENT).await;
    for _ in 0..20 {
        second.waits(DEADLINE).await;
        assert!(leadership.holds());
    }
    let record = arena.record().await;
    assert_eq!(record.holder_identity.as_deref(), Some("first"));
    assert_eq!((record.lease_duration_seconds, record.lease_transitions), (Some(15), Some(0)));
    assert!(record.renew_time > record.acquire_time, "renewed, and still of the same time in office: {record:?}");
}

#[tokio::test(start_paused = true)]
async fn another_takes_over_when_the_time_of_a_dead_leader_has_run_out() {
    let arena = Arena::new().await;
    let (leadership, _) = arena.enter("first").await.leads(MOMENT).await;
    let second = arena.enter("second").await;
    // Nobody is left who would renew or release.
    drop(leadership);
    second.waits(DEADLINE).await;
    let (_leadership, _) = second.leads(GAP + RETRY).await;
    let record = arena.record().await;
    assert_eq!((record.holder_identity.as_deref(), record.lease_transitions), (Some("second"), Some(1)));
}

#[tokio::test(start_paused = true)]
async fn expiry_is_judged_by_what_is_seen_and_not_by_clocks() {
    for wrong in [SignedDuration::from_hours(-100), SignedDuration::from_hours(100)] {
        let arena = Arena::new().await;
        let first = arena.one("first", wrong, Faults::none());
        sleep(MOMENT).await;
        let second = arena.enter("second").await;
        let (leadership, _) = first.leads(MOMENT).await;
        second.waits(DURATION * 3).await;
        assert!(leadership.holds());
        drop(leadership);
        second.leads(DURATION + RETRY).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_without_an_api_stops_leading_before_another_begins() {
    let arena = Arena::new().await;
    let (leadership, faults) = arena.enter("first").await.leads(MOMENT).await;
    let second = arena.enter("second").await;
    second.waits(DURATION).await;
    faults.disconnect();
    assert!(lost(&leadership, DEADLINE).await >= DEADLINE / 2);
    assert!(!second.leading.is_finished(), "there is a gap, never an overlap");
    let (_leadership, _) = second.leads(GAP + RETRY * 2).await;
    // What was lost does not come back with the API.
    faults.reconnect();
    sleep(DURATION).await;
    assert!(!leadership.holds());
}

#[tokio::test(start_paused = true)]
async fn a_short_outage_costs_nothing() {
    let arena = Arena::new().await;
    let (leadership, faults) = arena.enter("first").await.leads(MOMENT).await;
    for _ in 0..5 {
        faults.disconnect();
        sleep(RETRY * 3).await;
        faults.reconnect();
        sleep(RETRY + MOMENT).await;
        assert!(leadership.holds());
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_never_comes_is_not_waited_for() {
    let arena = Arena::new().await;
    let mute = |seen: &Seen| match seen.number {
        4 => Fault::Delay(Duration::from_hours(1)),
        _ => Fault::None,
    };
    let (leadership, _) = arena.one("first", SignedDuration::ZERO, Faults::decided(mute)).leads(MOMENT).await;
    sleep(DURATION * 3).await;
    assert!(leadership.holds());
}

/// As if the process had been stopped: the clock moves, and nothing else happens before the next look.
fn stopped_for(time: Duration) {
    let mut advance = std::pin::pin!(tokio::time::advance(time));
    let _ = futures::FutureExt::now_or_never(advance.as_mut());
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_was_stopped_refuses_itself_when_it_wakes() {
    let arena = Arena::new().await;
    let (leadership, _) = arena.enter("first").await.leads(MOMENT).await;
    sleep(DURATION).await;
    stopped_for(DURATION);
    assert!(!leadership.holds(), "before anybody had time to find out");
    lost(&leadership, MOMENT).await;
    sleep(DURATION).await;
    assert!(!leadership.holds());
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_went_through_too_late_brings_nothing_back() {
    let arena = Arena::new().await;
    // Made at 0; renewals at 2, 4 and 6 are lost, and the one at 8 is answered while the process is stopped, from 8.5 to 11.5.
    let late = |seen: &Seen| match seen.write {
        Some(1..=3) => Fault::LoseRequest,
        Some(4) => Fault::Delay(Duration::from_secs(1)),
        _ => Fault::None,
    };
    let (leadership, _) = arena.one("first", SignedDuration::ZERO, Faults::decided(late)).leads(MOMENT).await;
    sleep(Duration::from_millis(8_500)).await;
    assert!(leadership.holds());
    stopped_for(Duration::from_secs(3));
    assert!(!leadership.holds());
    lost(&leadership, MOMENT).await;
}

#[tokio::test(start_paused = true)]
async fn a_released_lease_is_taken_at_once() {
    let arena = Arena::new().await;
    let (leadership, _) = arena.enter("first").await.leads(MOMENT).await;
    let second = arena.enter("second").await;
    second.waits(DURATION).await;
    let before = Instant::now();
    leadership.release().await;
    assert!(before.elapsed() < MOMENT, "releasing waits for nothing but the API");
    assert!(!leadership.holds());
    assert_eq!(arena.record().await.holder_identity, None);
    second.leads(RETRY + MOMENT).await;
    // A second time it does nothing, and takes nothing from the other.
    leadership.release().await;
    assert_eq!(arena.record().await.holder_identity.as_deref(), Some("second"));
}

#[tokio::test(start_paused = true)]
async fn a_release_under_way_with_a_renewal_still_gives_the_lease_back() {
    let arena = Arena::new().await;
    // The renewal takes effect, and nobody hears of it.
    let deaf = |seen: &Seen| match seen.write {
        Some(1) => Fault::LoseAnswer,
        _ => Fault::None,
    };
    let first = arena.one("first", SignedDuration::ZERO, Faults::decided(deaf));
    sleep(MOMENT).await;
    let (leadership, _) = first.leads(MOMENT).await;
    sleep(RETRY).await;
    leadership.release().await;
    assert_eq!(arena.record().await.holder_identity, None);
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_lease_was_taken_is_told_with_its_next_renewal() {
    let arena = Arena::new().await;
    let (leadership, _) = arena.enter("first").await.leads(MOMENT).await;
    let patch = json!({"spec": {"holderIdentity": "thief", "leaseTransitions": 1}});
    arena.leases().patch("lock", &PatchParams::default(), &Patch::Merge(&patch)).await.expect("a theft");
    lost(&leadership, RETRY + MOMENT).await;
    assert_eq!(arena.record().await.holder_identity.as_deref(), Some("thief"), "it is not taken back");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_lease_is_made_again_by_its_holder_and_taken_by_nobody_who_saw_it() {
    let arena = Arena::new().await;
    let (leadership, _) = arena.enter("first").await.leads(MOMENT).await;
    sleep(RETRY / 2).await;
    let second = arena.enter("second").await;
    second.waits(RETRY).await;
    arena.leases().delete("lock", &DeleteParams::default()).await.expect("deleted");
    second.waits(DURATION * 2).await;
    assert!(leadership.holds());
    assert_eq!(arena.record().await.holder_identity.as_deref(), Some("first"));
}

#[tokio::test(start_paused = true)]
async fn a_deleted_lease_of_a_leader_without_an_api_runs_out_all_the_same() {
    let arena = Arena::new().await;
    let (leadership, faults) = arena.enter("first").await.leads(MOMENT).await;
    let second = arena.enter("second").await;
    second.waits(DURATION).await;
    faults.disconnect();
    arena.leases().delete("lock", &DeleteParams::default()).await.expect("deleted");
    lost(&leadership, DEADLINE).await;
    assert!(!second.leading.is_finished(), "the first may still have thought that it leads");
    second.leads(GAP + RETRY * 2).await;
}

#[tokio::test(start_paused = true)]
async fn who_has_no_competitors_always_leads() {
    let leadership = Leadership::always();
    assert!(leadership.holds());
    leadership.release().await;
    assert!(timeout(DURATION * 100, leadership.lost()).await.is_err());
    assert!(leadership.holds());
}

/// Numbers from a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Requests are lost, refused or late by up to twice the duration of a lease; sometimes for a while nothing gets through.
fn trouble(seed: u64) -> Faults {
    let mut numbers = Numbers(seed);
    Faults::decided(move |_| match numbers.below(12) {
        0 => Fault::LoseRequest,
        1 => Fault::LoseAnswer,
        2 => Fault::TimeOut,
        3 => Fault::Delay(Duration::from_millis(numbers.below(3_000))),
        4 => Fault::Delay(Duration::from_millis(numbers.below(30_000))),
        _ => Fault::None,
    })
}

/// Those who think that they lead, by who they are.
type Holders = watch::Sender<Vec<(String, Leadership)>>;

/// Leads, and gives it back, dies, or loses it; again and again.
async fn contend(arena: Arc<Arena>, name: &'static str, seed: u64, holders: Holders) {
    let faults = trouble(seed);
    let mut numbers = Numbers(seed ^ 0xFFFF);
    for life in 0.. {
        let identity = format!("{name}-{life}");
        let wrong = SignedDuration::from_secs(i64::try_from(numbers.below(100_000)).expect("small") - 50_000);
        let leadership = acquire(arena.client(&faults), config(&identity), now(arena.clock, wrong)).await;
        holders.send_modify(|all| all.push((identity.clone(), leadership.clone())));
        let term = Duration::from_millis(numbers.below(60_000));
        match numbers.below(3) {
            0 => drop(timeout(term, leadership.lost()).await),
            1 => {
                sleep(term).await;
                leadership.release().await;
            }
            // As one who dies: it writes nothing from now on, and says so to nobody.
            _ => {
                sleep(term).await;
                holders.send_modify(|all| all.retain(|(other, _)| *other != identity));
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn no_two_ever_lead_at_the_same_time() {
    let seed: u64 = std::env::var("TRELLIS_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(20_260_801);
    println!("seed {seed}");
    let arena = Arc::new(Arena::new().await);
    let holders = Holders::new(Vec::new());
    let names = ["left", "middle", "right"];
    let seeds = (seed..).step_by(7);
    let tasks: Vec<_> = names
        .into_iter()
        .zip(seeds)
        .map(|(name, seed)| tokio::spawn(contend(arena.clone(), name, seed, holders.clone())))
        .collect();
    let (mut led, mut idle) = (0, 0);
    for _ in 0..200_000 {
        sleep(Duration::from_millis(50)).await;
        holders.send_if_modified(|all| {
            all.retain(|(_, leadership)| leadership.holds());
            assert!(all.len() <= 1, "at {}: {all:?}", arena.clock.now());
            led += all.len();
            idle += usize::from(all.is_empty());
            false
        });
        assert!(tasks.iter().all(|task| !task.is_finished()), "one has given up");
    }
    let transitions = arena.record().await.lease_transitions.unwrap_or_default();
    println!("led {led}, nobody {idle}, {transitions} changes");
    assert!(led > idle && transitions > 100, "led {led}, nobody {idle}, {transitions} changes");
}
