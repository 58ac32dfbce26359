//! Runs by seed: nothing is found, the same seed gives the same revisions, and what is found is found again when the run is replayed.
//!
//! `TRELLIS_SEED` chooses other seeds, `TRELLIS_LONG` plays a hundred seeds of ten thousand events each.

mod plant;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use futures::FutureExt as _;
use trellis_cluster::store::Store;
use trellis_simulate::check::Rule;
use trellis_simulate::{Hook, Options, Report, journal, run};

/// As in the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SEED: u64 = 1;

fn first_seed() -> u64 {
    std::env::var("TRELLIS_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(SEED)
}

fn play(options: &Options) -> Report {
    run(options, &|_| ()).unwrap_or_else(|error| panic!("seed {}: {error}", options.seed))
}

/// What was found, with where the journal is.
fn told(report: &Report, events: usize) -> String {
    let file = std::env::temp_dir().join(format!("trellis-simulate-{}.jsonl", report.seed));
    let mut out = std::fs::File::create(&file).expect("a file");
    let journal = report.journal.as_ref().expect("a journal");
    journal.write(report.seed, events, &report.violations, &mut out).expect("the journal is written");
    format!("seed {}: {:#?}\nreplay: {}", report.seed, report.violations, file.display())
}

#[test]
fn no_seed_breaks_a_rule() {
    let (seeds, events) = if std::env::var_os("TRELLIS_LONG").is_some() { (100, 10_000) } else { (20, 500) };
    let (first, next) = (first_seed(), AtomicU64::new(0));
    println!("TRELLIS_SEED={first}");
    let found = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= seeds {
                        return;
                    }
                    let report = play(&Options { seed: first + at, events, ..Options::default() });
                    println!(
                        "seed {}: {} revisions, {} decisions, {} writes, {} binds, {} gangs placed, {} preempted, {} s",
                        report.seed,
                        report.counts.revisions,
                        report.decisions,
                        report.operator_writes + report.scheduler_writes,
                        report.counts.binds,
                        report.counts.placed,
                        report.counts.preempted,
                        report.virtual_seconds
                    );
                    if !report.violations.is_empty() {
                        found.lock().expect("nobody panics").push(told(&report, events));
                    }
                }
            });
        }
    });
    let found = found.into_inner().expect("nobody panics");
    assert!(found.is_empty(), "{} seeds break rules:\n{}", found.len(), found.join("\n\n"));
}

#[test]
fn one_seed_gives_the_same_revisions_twice() {
    let options = Options { seed: first_seed(), events: 150, ..Options::default() };
    let (one, two) = (play(&options), play(&options));
    assert!(one.counts.revisions > 1_000, "{one:?}");
    assert!(one.violations.is_empty(), "{}", told(&one, options.events));
    let lines = |report: &Report| {
        let mut text = Vec::new();
        let journal = report.journal.as_ref().expect("a journal");
        journal.write(options.seed, options.events, &[], &mut text).expect("the journal is written");
        String::from_utf8(text).expect("text")
    };
    let (one_text, two_text) = (lines(&one), lines(&two));
    let differs = one_text.lines().zip(two_text.lines()).position(|(one, two)| one != two);
    let around = |text: &str, at: usize| {
        let lines: Vec<&str> = text.lines().skip(at.saturating_sub(12)).take(16).collect();
        lines.join("\n")
    };
    if let Some(at) = differs {
        panic!("line {at} differs:\n{}\n\n{}", around(&one_text, at), around(&two_text, at));
    }
    assert_eq!((one.counts.revisions, one.digest), (two.counts.revisions, two.digest));
    let effort = |report: &Report| (report.operator_writes, report.scheduler_writes, report.decisions, report.steps);
    assert_eq!(effort(&one), effort(&two), "the same seed costs the same");
    assert!(one.decisions > 100 && one.steps > 100 && one.scheduler_writes > one.counts.binds, "{one:?}");
    let other = play(&Options { seed: options.seed + 1, ..options.clone() });
    assert!(other.violations.is_empty(), "{}", told(&other, options.events));
    assert_ne!(one.digest, other.digest);
}

#[test]
fn what_is_found_is_found_again() {
    let options =
        Options { seed: first_seed(), events: 60, hook: Some(plant::at(40, plant::half_gang)), ..Options::default() };
    let found = play(&options);
    let violation = found.violations.first().expect("what was planted is found").clone();
    assert_eq!((violation.rule, violation.event), (Rule::HalfGang, 40));
    let mut text = Vec::new();
    let journal = found.journal.as_ref().expect("a journal");
    journal.write(options.seed, options.events, &found.violations, &mut text).expect("it is written");
    let read = journal::read(text.as_slice()).expect("it can be read");
    assert_eq!((read.seed, read.count, read.events.len()), (options.seed, options.events, 40));
    let again = play(&Options { replay: Some(read.events), ..options });
    assert_eq!(again.violations.first(), read.violation.as_ref());
    assert_eq!(again.digest, found.digest);
}

#[test]
fn nothing_is_left_of_a_world_that_has_ended() {
    let stores: Arc<Mutex<Vec<Weak<Store>>>> = Arc::default();
    let kept = Arc::clone(&stores);
    let hook: Hook = Arc::new(move |_, api| {
        kept.lock().expect("nobody panics").push(Arc::downgrade(api.store()));
        async {}.boxed()
    });
    let report = play(&Options { seed: first_seed(), events: 60, hook: Some(hook), ..Options::default() });
    assert!(report.operator_writes > 0 && report.scheduler_writes > 0, "{report:?}");
    let stores = stores.lock().expect("nobody panics");
    assert_eq!(stores.len(), report.total());
    assert!(stores.iter().all(|store| store.upgrade().is_none()), "somebody keeps the store of a run that is over");
}
