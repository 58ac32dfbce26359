//! Plays a scenario with an operator that something happens to.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kube::Client;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use trellis_cluster::api::Api;
use trellis_cluster::faults::{Fault, Faults, Seen};
use trellis_cluster::user::User;
use trellis_operator::{Metrics, Operator, Options};
use trellis_testkit::mutate::Dice;

use crate::script::Scenario;
use crate::state::State;
use crate::trouble;
use crate::world::{NAMESPACE, NEVER, World, now};

/// How long an end state may take; time that passes only when nobody has anything to do.
const PATIENCE: Duration = Duration::from_mins(15);
/// How long nothing may happen before all is done.
pub const QUIET: Duration = Duration::from_secs(5);
/// How long nothing may happen in the end.
const STEADY: Duration = Duration::from_mins(3);

/// What happens to a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    LoseRequest,
    LoseAnswer,
    /// The operator dies with the write on its lips.
    CrashBefore,
    /// The operator dies before it hears of the write's effect.
    CrashAfter,
}

impl How {
    pub const ALL: [Self; 4] = [Self::LoseRequest, Self::LoseAnswer, Self::CrashAfter, Self::CrashBefore];

    /// What is tried: a crash before a write is much like a lost request, and left to long runs.
    pub fn tried(long: bool) -> &'static [Self] {
        if long { &Self::ALL } else { &Self::ALL[..3] }
    }
}

/// What happens to the operator in a run.
#[derive(Clone, Copy, Debug)]
pub enum Plight {
    None,
    /// Something happens to one write.
    At(usize, How),
    /// Anything may happen to any request, as long as the script goes on.
    Seeded(u64),
}

/// What came of a run.
pub struct Played {
    /// The state after each step.
    pub states: Vec<State>,
    /// How many writes there were.
    pub writes: usize,
    /// The sites of the writes that something happened to, with how often.
    pub hit: BTreeMap<String, usize>,
}

/// Plays a scenario. With states to expect, each step has to end in its own. Unless all of it is wanted, it ends with the step in which
/// something happened to the one write: if that has left no trace, what follows is what follows undisturbed.
pub async fn play(
    world: &World,
    scenario: &Scenario,
    plight: Plight,
    expected: Option<&[State]>,
    whole: bool,
) -> Result<Played, String> {
    world.sweep().await;
    world.collect(scenario.collects);
    if std::env::var_os("TRELLIS_TRACE").is_some() {
        eprintln!("{}: {plight:?}", scenario.name);
    }
    let life = Life::begin(world, scenario.kai, plight);
    let seeded = matches!(plight, Plight::Seeded(_));
    let mut dice = Dice::new(if let Plight::Seeded(seed) = plight { seed } else { 0 });
    let mut states = Vec::new();
    for (at, step) in scenario.steps.iter().enumerate() {
        step.act(world).await;
        let next = scenario.steps.get(at + 1);
        if seeded && (next.is_none() || next.is_some_and(|next| !next.waits) && dice.below(2) == 0) {
            // Nobody waits for the end of the step, and in the end the accidents do.
            sleep(milliseconds(&mut dice, 3_000)).await;
            if next.is_some() {
                continue;
            }
            life.spare();
        }
        let wanted = expected.map(|expected| &expected[at]);
        let mut state = settle(world, step.quiet, wanted, seeded).await;
        if seeded && state.is_err() {
            // Accidents may go on for so long that it never gets there; without them it has to.
            life.spare();
            state = settle(world, step.quiet, wanted, seeded).await;
        }
        states.push(state.map_err(|why| format!("{}: {}: {why}", scenario.name, step.what))?);
        if !whole && !life.story().hit.is_empty() {
            break;
        }
    }
    let revision = world.revision();
    sleep(STEADY).await;
    if world.revision() != revision {
        return Err(format!("{}: something is written although nothing happens", scenario.name));
    }
    let story = life.story();
    match &story.died {
        Some(why) => Err(format!("{}: the operator ended by itself: {why}", scenario.name)),
        None => Ok(Played { states, writes: story.writes, hit: story.hit.clone() }),
    }
}

/// Waits until nothing happens any more, and all is as expected.
pub async fn settle(world: &World, quiet: Duration, expected: Option<&State>, any_way: bool) -> Result<State, String> {
    let begun = Instant::now();
    let mut expected = expected.cloned();
    if any_way {
        expected = expected.map(State::without_history);
    }
    loop {
        let revision = world.revision();
        sleep(quiet).await;
        let late = begun.elapsed() > PATIENCE;
        if world.revision() != revision {
            if late {
                return Err("it never comes to rest".to_owned());
            }
            continue;
        }
        let state = State::of(world);
        let state = if any_way { state.without_history() } else { state };
        match &expected {
            Some(expected) if *expected != state => {
                if late {
                    return Err(format!("\n{}", state.differences(expected)));
                }
            }
            _ => return Ok(state),
        }
    }
}

/// A time shorter than so many milliseconds.
pub fn milliseconds(dice: &mut Dice, below: usize) -> Duration {
    Duration::from_millis(u64::try_from(dice.below(below)).unwrap_or(0))
}

/// What has happened to an operator.
#[derive(Default)]
struct Story {
    /// How many times it was started; all but the last are dead, and nothing of theirs gets through.
    lives: usize,
    writes: usize,
    /// Whether something is to be told of the operator: by what it counts, which write it was.
    struck: Option<Strike>,
    hit: BTreeMap<String, usize>,
    died: Option<String>,
    faults: Option<Faults>,
    spared: bool,
}

struct Strike {
    target: String,
    crash: bool,
}

/// An operator that is started again whenever it dies.
pub struct Life {
    story: Arc<Mutex<Story>>,
    task: JoinHandle<()>,
}

impl Drop for Life {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock(story: &Mutex<Story>) -> MutexGuard<'_, Story> {
    story.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Life {
    pub fn begin(world: &World, kai: bool, plight: Plight) -> Self {
        let story = Arc::new(Mutex::new(Story::default()));
        let mut options = Options::new(World::settings(kai));
        options.now = now(&world.api);
        let task = tokio::spawn(live(world.api.clone(), options, plight, Arc::clone(&story)));
        Self { story, task }
    }

    fn story(&self) -> MutexGuard<'_, Story> {
        lock(&self.story)
    }

    /// Why it ended by itself, if it did.
    pub fn died(&self) -> Option<String> {
        self.story().died.clone()
    }

    /// From now on nothing happens to it any more.
    pub fn spare(&self) {
        let mut story = self.story();
        story.spared = true;
        if let Some(faults) = &story.faults {
            faults.cut_watches();
        }
    }
}

/// A task that ends with whoever holds it.
struct Mortal(JoinHandle<Result<(), String>>);

impl Drop for Mortal {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// One life after the other.
async fn live(api: Api, options: Options, plight: Plight, story: Arc<Mutex<Story>>) {
    let struck = Arc::new(Notify::new());
    let dice = Arc::new(Mutex::new(Dice::new(if let Plight::Seeded(seed) = plight { !seed } else { 0 })));
    loop {
        let life = {
            let mut story = lock(&story);
            story.lives += 1;
            story.lives
        };
        let (story_of, notify, dice) = (Arc::clone(&story), Arc::clone(&struck), Arc::clone(&dice));
        let faults = Faults::decided(move |seen| {
            let mut story = lock(&story_of);
            if story.lives != life {
                return Fault::Delay(NEVER);
            }
            let fault = strike(&mut story, seen, plight, &dice);
            if story.struck.is_some() {
                notify.notify_one();
            }
            fault
        });
        lock(&story).faults = Some(faults.clone());
        let user = User::service_account("trellis-system", "trellis-operator");
        let client = Client::new(faults.around(api.service(user)), NAMESPACE);
        let metrics: Arc<Mutex<Option<Metrics>>> = Arc::default();
        let mut task = Mortal(tokio::spawn(one_life(client, options.clone(), Arc::clone(&metrics))));
        let mut known = BTreeMap::new();
        loop {
            tokio::select! {
                ended = &mut task.0 => {
                    match ended {
                        Ok(Ok(())) => {}
                        Ok(Err(why)) => lock(&story).died = Some(why),
                        Err(panic) => lock(&story).died = Some(panic.to_string()),
                    }
                    // As a kubelet would, after a while.
                    sleep(Duration::from_secs(1)).await;
                    break;
                }
                () = struck.notified() => {
                    // Time passes when nobody has anything to do any more: by then the write has failed and is counted.
                    sleep(Duration::from_millis(1)).await;
                    let text = metrics.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(Metrics::render);
                    let Some(strike) = lock(&story).struck.take() else { continue };
                    let failed = failed(&text.unwrap_or_default());
                    let site = site(&failed, &known, &strike.target);
                    *lock(&story).hit.entry(site).or_default() += 1;
                    known = failed;
                    if strike.crash {
                        task.0.abort();
                        let _ = (&mut task.0).await;
                        break;
                    }
                }
            }
        }
    }
}

/// Starts and runs an operator. That it could not start is no fault: somebody starts it again.
async fn one_life(client: Client, options: Options, metrics: Arc<Mutex<Option<Metrics>>>) -> Result<(), String> {
    let Ok(operator) = Operator::start(client, options).await else { return Ok(()) };
    *metrics.lock().unwrap_or_else(PoisonError::into_inner) = Some(operator.metrics());
    operator.run(std::future::pending()).await.map_err(|error| error.to_string())
}

/// What happens to a request.
fn strike(story: &mut Story, seen: &Seen, plight: Plight, dice: &Mutex<Dice>) -> Fault {
    if seen.write.is_some() && std::env::var_os("TRELLIS_TRACE").is_some() {
        eprintln!("{} {}", seen.method, seen.target);
    }
    let number = story.writes;
    story.writes += usize::from(seen.write.is_some());
    if story.spared {
        return Fault::None;
    }
    let (fault, crash) = match plight {
        Plight::At(at, how) if seen.write.is_some() && number == at => match how {
            How::LoseRequest => (Fault::LoseRequest, false),
            How::LoseAnswer => (Fault::LoseAnswer, false),
            How::CrashBefore => (Fault::LoseRequest, true),
            How::CrashAfter => (Fault::LoseAnswer, true),
        },
        Plight::Seeded(_) => trouble::decide(seen, &mut dice.lock().unwrap_or_else(PoisonError::into_inner)),
        Plight::None | Plight::At(..) => (Fault::None, false),
    };
    if crash {
        // Nothing of this life gets through any more.
        story.lives += 1;
    }
    let single = matches!(plight, Plight::At(..)) && fault != Fault::None;
    if crash || single {
        story.struck = Some(Strike { target: format!("{} {}", seen.method, seen.target), crash });
    }
    fault
}

/// How many writes of each site failed, by what the operator counts.
fn failed(metrics: &str) -> BTreeMap<String, usize> {
    let line = |line: &str| {
        let rest = line.strip_prefix("trellis_operator_writes_total{site=\"")?;
        let (site, rest) = rest.split_once("\",result=\"failed\"} ")?;
        Some((site.to_owned(), rest.trim().parse().ok()?))
    };
    metrics.lines().filter_map(line).collect()
}

/// The site of which one more write has failed; else what the request was about.
fn site(failed: &BTreeMap<String, usize>, known: &BTreeMap<String, usize>, target: &str) -> String {
    let more = failed.iter().find(|(site, count)| known.get(*site).is_none_or(|known| known < count));
    match more {
        Some((site, _)) => site.clone(),
        None if target.contains("/events") => "tell people (an Event)".to_owned(),
        None => format!("at the start: {}", target.split('?').next().unwrap_or_default()),
    }
}
