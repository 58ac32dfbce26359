//! The runner: seeds in, problems judged on two threads, a failing one printed as small as it could be made.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use trellis_testkit::placement::{Problem, TooLarge, shrink::shrink};

/// What became of a case: an error says what is wrong, in words.
pub type Judged = Result<Verdict, String>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The engine is right.
    Right,
    /// The oracle gave up.
    TooLarge,
}

impl From<TooLarge> for Verdict {
    fn from(_: TooLarge) -> Self {
        Self::TooLarge
    }
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} must be a number, and is {text:?}")))
}

/// The first seed.
pub fn seed() -> u64 {
    number("TRELLIS_SEED").unwrap_or(0)
}

/// A number of cases, times what `TRELLIS_CASES` asks for.
pub fn times(cases: u64) -> u64 {
    cases * number("TRELLIS_CASES").unwrap_or(1)
}

/// Judges problems made from seeds until so many have been answered, the regressions first.
pub fn check(
    generate: impl Fn(u64) -> Problem + Sync,
    cases: u64,
    regressions: &[u64],
    judge: impl Fn(&Problem, u64) -> Judged + Sync,
) {
    let cases = times(cases);
    let failure: Mutex<Option<String>> = Mutex::new(None);
    let judge = |problem: &Problem, seed: u64| {
        let judged = catch_unwind(AssertUnwindSafe(|| judge(problem, seed)));
        judged.unwrap_or_else(|panic| Err(format!("panicked: {}", text(panic.as_ref()))))
    };
    let try_seed = |seed: u64| {
        let problem = generate(seed);
        judge(&problem, seed).inspect_err(|_| {
            let mut failure = failure.lock().expect("no thread panics with it");
            if failure.is_none() {
                let small = shrink(&problem, |problem| judge(problem, seed).is_err());
                let fault = judge(&small, seed).err();
                let fault = fault.unwrap_or_else(|| "it did not fail again".to_owned());
                *failure = Some(format!("seed {seed}: {fault}\n{small}"));
            }
        })
    };
    let (next, answered, large) = (AtomicU64::new(seed()), AtomicU64::new(0), AtomicU64::new(0));
    let work = || {
        while answered.load(Ordering::Relaxed) < cases {
            match try_seed(next.fetch_add(1, Ordering::Relaxed)) {
                Ok(Verdict::Right) => answered.fetch_add(1, Ordering::Relaxed),
                Ok(Verdict::TooLarge) => large.fetch_add(1, Ordering::Relaxed),
                Err(_) => answered.fetch_add(cases, Ordering::Relaxed),
            };
        }
    };
    if regressions.iter().all(|seed| try_seed(*seed).is_ok()) {
        std::thread::scope(|scope| {
            scope.spawn(work);
            scope.spawn(work);
        });
    }
    if let Some(failure) = failure.into_inner().expect("no thread panics with it") {
        panic!("{failure}");
    }
    let large = large.into_inner();
    assert!(large * 10 <= cases, "{large} problems were too large for the oracle, and {cases} were not");
}

fn text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}
