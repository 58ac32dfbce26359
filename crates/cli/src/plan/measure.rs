//! Plans and explains, and takes the time.

use super::progress::{Phase, Progress};
use std::time::{Duration, Instant};
use trellis_engine::{Explanation, Gang, Options, Plan, Snapshot, explain_on, plan_with};

/// How long things took, in microseconds; medians where they were done several times.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// From files to a snapshot.
    pub load: u64,
    /// All decisions.
    pub decide: u64,
    /// All explanations.
    pub explain: u64,
    /// The decision of each gang's minimum.
    pub gangs: Vec<u64>,
}

/// What came out, and how long it took.
pub struct Measured {
    pub plan: Plan,
    pub explanations: Vec<Explanation>,
    pub times: Times,
}

/// Plans and explains on clones of a snapshot, `repeat` times and at least once.
pub fn run(snapshot: &Snapshot, gangs: &[Gang], repeat: u32, load: Duration, progress: &Progress) -> Measured {
    let options = Options::default();
    let (mut plan, mut explanations) = (Plan::default(), Vec::new());
    let (mut decide, mut explain) = (Vec::new(), Vec::new());
    let mut by_gang: Vec<Vec<Duration>> = vec![Vec::new(); gangs.len()];
    for _ in 0..repeat.max(1) {
        let mut snapshot = snapshot.clone();
        let mut done = 0;
        let begun = Instant::now();
        let mut last = begun;
        plan = plan_with(&mut snapshot, gangs, options, &mut |gang| {
            let now = Instant::now();
            by_gang[gang].push(now - last);
            last = now;
            done += 1;
            progress.set(Phase::Planning(done, gangs.len()));
        });
        decide.push(begun.elapsed());
        progress.set(Phase::Explaining(gangs.len()));
        let begun = Instant::now();
        explanations = explain_on(&mut snapshot, gangs, &plan, options);
        explain.push(begun.elapsed());
    }
    let times = Times {
        load: micros(load),
        decide: median(&mut decide),
        explain: median(&mut explain),
        gangs: by_gang.iter_mut().map(|times| median(times)).collect(),
    };
    Measured { plan, explanations, times }
}

/// The middle one, in microseconds; of two in the middle the mean.
fn median(times: &mut [Duration]) -> u64 {
    times.sort_unstable();
    let middle = times.len() / 2;
    match times {
        [] => 0,
        times if times.len() % 2 == 1 => micros(times[middle]),
        times => micros((times[middle - 1] + times[middle]) / 2),
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from((time.as_nanos() + 500) / 1000).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_rounded_to_microseconds() {
        let of = |nanos: &[u64]| median(&mut nanos.iter().map(|n| Duration::from_nanos(*n)).collect::<Vec<_>>());
        assert_eq!(of(&[]), 0);
        assert_eq!(of(&[9000, 1000, 2499]), 2);
        assert_eq!(of(&[1000, 9000, 2000, 3000]), 3);
    }
}
