//! The same seed gives the same revisions, what is planted is found, and what is found is found again when the run is replayed.
//! `TRELLIS_SEED` chooses other seeds.

mod plant;

use trellis_simulate::check::Rule;
use trellis_simulate::{Options, Report, journal, run};

const SEED: u64 = 1;

fn first_seed() -> u64 {
    std::env::var("TRELLIS_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(SEED)
}

fn play(options: &Options) -> Report {
    run(options, &|_| ()).unwrap_or_else(|error| panic!("seed {}: {error}", options.seed))
}

#[test]
fn one_seed_gives_the_same_revisions_twice() {
    let options = Options { seed: first_seed(), events: 150, ..Options::default() };
    let (one, two) = (play(&options), play(&options));
    assert!(one.counts.revisions > 1_000, "{one:?}");
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
    let other = play(&Options { seed: options.seed + 1, ..options });
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
