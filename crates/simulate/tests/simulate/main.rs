//! What is planted is found, and what is found is found again when the run is replayed. `TRELLIS_SEED` chooses other seeds.

mod plant;

use trellis_simulate::check::{Rule, Violation};
use trellis_simulate::{Options, Report, journal, run};

const SEED: u64 = 1;

fn first_seed() -> u64 {
    std::env::var("TRELLIS_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(SEED)
}

fn play(options: &Options) -> Report {
    run(options, &|_| ()).unwrap_or_else(|error| panic!("seed {}: {error}", options.seed))
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
    // The order of requests is not the same in every run, so the revision may be another.
    let what = |violation: Option<&Violation>| violation.map(|it| (it.rule, it.event));
    assert_eq!(what(again.violations.first()), what(read.violation.as_ref()));
}
