//! Whatever goes wrong between the operator and the API, what it leaves in the end is the same.
//!
//! Fifteen lifecycles are played on the embedded API. Once undisturbed, which gives the states to expect after every step; then once for
//! every write and everything that can happen to it: the request is lost, the answer is lost, the operator dies of it. Then by chance, with lists that are old and watches that break, stutter and stall. Then by other ways to the same set.
//!
//! The runtime's clock moves only when nobody has anything to do, so nothing here waits for real time. `TRELLIS_SEED` chooses other
//! accidents and ways, `TRELLIS_LONG` ten times as many, played to their end, `TRELLIS_RUNS` only so many, `TRELLIS_ONLY` one scenario by a part of its name;
//! `TRELLIS_TRACE` prints the operator's writes.

#[path = "faults/orders.rs"]
mod orders;
#[path = "faults/play.rs"]
mod play;
#[path = "faults/script.rs"]
mod script;
#[path = "faults/stage.rs"]
mod stage;
#[path = "faults/state.rs"]
mod state;
#[path = "faults/trouble.rs"]
mod trouble;
#[path = "faults/world.rs"]
mod world;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};

use play::{How, Played, Plight, play};
use script::Scenario;
use state::State;
use tokio::runtime::Runtime;
use trellis_lifecycle::site;
use world::World;

const SEED: u64 = 20_260_802;
/// Runs in which anything may happen to any request.
const TROUBLED: usize = 200;
/// Ways to the same set.
const WAYS: usize = 60;
/// How many failures are shown.
const SHOWN: usize = 5;

/// A scenario with the states that it has undisturbed.
struct Known {
    scenario: Scenario,
    states: Vec<State>,
    writes: usize,
}

static KNOWN: LazyLock<Vec<Known>> = LazyLock::new(|| {
    let only = std::env::var("TRELLIS_ONLY").unwrap_or_default();
    let scenarios: Vec<Scenario> = script::all().into_iter().filter(|it| it.name.contains(&only)).collect();
    let played =
        on_all_cores(scenarios.len(), async |world, at| play(world, &scenarios[at], Plight::None, None, true).await);
    let known = scenarios.iter().zip(played).map(|(scenario, played)| {
        let Played { states, writes, .. } = played.unwrap_or_else(|why| panic!("undisturbed: {why}"));
        Known { scenario: scenario.clone(), states, writes }
    });
    known.collect()
});

/// Where one run after the other is played: a cluster, and a runtime whose clock moves only when nobody has anything to do.
struct Hall {
    world: World,
    runtime: Runtime,
}

impl Hall {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let runtime = runtime.expect("a runtime");
        Self { world: runtime.block_on(World::new()), runtime }
    }

    fn run<T>(&self, run: impl AsyncFnOnce(&World) -> Result<T, String>) -> Result<T, String> {
        catch_unwind(AssertUnwindSafe(|| self.runtime.block_on(run(&self.world)))).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            Err(text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default())
        })
    }
}

/// Plays so many runs, as many at a time as there are cores.
fn on_all_cores<T: Send>(
    count: usize,
    run: impl AsyncFn(&World, usize) -> Result<T, String> + Sync,
) -> Vec<Result<T, String>> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                let mut hall = Hall::new();
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= count {
                        return;
                    }
                    let result = hall.run(async |world| run(world, at).await);
                    if result.is_err() {
                        // Whatever it was, the next one shall not suffer from it.
                        hall = Hall::new();
                    }
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((at, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

fn is_long() -> bool {
    std::env::var_os("TRELLIS_LONG").is_some()
}

fn seed() -> u64 {
    std::env::var("TRELLIS_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(SEED)
}

/// How many runs there are, where so many are usual.
fn runs(usual: usize) -> usize {
    let asked = std::env::var("TRELLIS_RUNS").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(if is_long() { 10 * usual } else { usual })
}

/// Fails with the first of the failures, if there are any.
fn judge(failures: &[String]) {
    let shown: Vec<&str> = failures.iter().take(SHOWN).map(String::as_str).collect();
    assert!(failures.is_empty(), "{} failures, the first of them:\n{}", failures.len(), shown.join("\n\n"));
}

#[test]
fn every_write_may_be_lost_or_be_the_last() {
    let ways = How::tried(is_long());
    let runs: Vec<(&Known, usize, How)> = KNOWN
        .iter()
        .flat_map(|known| (0..known.writes).flat_map(move |at| ways.iter().map(move |how| (known, at, *how))))
        .collect();
    let results = on_all_cores(runs.len(), async |world, at| {
        let (known, number, how) = runs[at];
        let played = play(world, &known.scenario, Plight::At(number, how), Some(&known.states), is_long()).await;
        played.map(|played| played.hit).map_err(|why| format!("write {number}, {how:?}: {why}"))
    });
    let mut coverage: BTreeMap<String, BTreeMap<How, usize>> = BTreeMap::new();
    let (mut failures, mut unharmed) = (Vec::new(), 0);
    for ((_, _, how), result) in runs.iter().zip(results) {
        match result {
            // Writes that go together go in any order, and one of them may be saved: then there is one fewer.
            Ok(hit) if hit.is_empty() => unharmed += 1,
            Ok(hit) => {
                hit.into_keys().for_each(|site| *coverage.entry(site).or_default().entry(*how).or_default() += 1);
            }
            Err(why) => failures.push(why),
        }
    }
    println!("{} runs, {unharmed} of them without the write that something was to happen to.", runs.len());
    println!("How often something happened to a write, by what the write is for:");
    for (site, counts) in &coverage {
        println!("{site:60} {counts:?}");
    }
    judge(&failures);
    assert!(unharmed * 20 < runs.len(), "too many runs in which nothing happened: {unharmed} of {}", runs.len());
    if std::env::var_os("TRELLIS_ONLY").is_none() {
        let is_missed =
            |site: &&str| ways.iter().any(|how| coverage.get(*site).and_then(|counts| counts.get(how)).is_none());
        let missed: Vec<&str> = site::ALL.into_iter().filter(is_missed).collect();
        assert!(missed.is_empty(), "nothing ever happened to these: {missed:?}");
    }
}

#[test]
fn accidents_change_nothing_in_the_end() {
    let (seed, count) = (seed(), runs(TROUBLED));
    println!("TRELLIS_SEED={seed}");
    let results = on_all_cores(count, async |world, at| {
        let known = &KNOWN[at % KNOWN.len()];
        let seed = seed.wrapping_add(u64::try_from(at).unwrap_or(0));
        let played = play(world, &known.scenario, Plight::Seeded(seed), Some(&known.states), true).await;
        played.map(drop).map_err(|why| format!("seed {seed}: {why}"))
    });
    judge(&results.into_iter().filter_map(Result::err).collect::<Vec<_>>());
}

#[test]
fn every_way_to_a_set_ends_the_same() {
    let (seed, count) = (seed(), runs(WAYS));
    println!("TRELLIS_SEED={seed}");
    let results = on_all_cores(count, async |world, at| {
        let seed = seed.wrapping_add(u64::try_from(at).unwrap_or(0));
        orders::check(world, seed).await.map_err(|why| format!("seed {seed}: {why}"))
    });
    judge(&results.into_iter().filter_map(Result::err).collect::<Vec<_>>());
}
