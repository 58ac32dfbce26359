//! What was measured, beside the limit, the target, and what KAI reaches.

use std::io::{BufWriter, Write as _};
use std::time::Duration;

use anyhow::Result;
use serde::Serialize;

use crate::args::BenchSchedulerArgs;
use crate::bench::figures::{megabytes, number, seconds, table};

/// The share of plain binds that KAI reaches.
const KAI: f64 = 0.06;

/// What was measured.
#[derive(Debug)]
pub struct Measured {
    pub fill: Fill,
    pub arrivals: Arrivals,
    pub backlog: Backlog,
    /// Most memory that was ever taken.
    pub peak: Option<u64>,
}

/// All gangs at once.
#[derive(Debug)]
pub struct Fill {
    pub pods: usize,
    /// From the first gang that is complete to the last pod that is bound.
    pub took: Duration,
    /// How long plain binds of as many pods take.
    pub limit: Duration,
    /// What the scheduler took for it.
    pub processor: Option<Duration>,
    pub decisions: Decisions,
}

/// How often it was decided, and how long that took in all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Decisions {
    count: f64,
    seconds: f64,
}

impl Decisions {
    /// What the scheduler has counted.
    pub fn of(metrics: &str) -> Self {
        let value = |name: &str| {
            let found = metrics.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
            found.unwrap_or(0.0)
        };
        Self {
            count: value("trellis_scheduler_plan_duration_seconds_count"),
            seconds: value("trellis_scheduler_plan_duration_seconds_sum"),
        }
    }

    pub fn since(self, before: Self) -> Self {
        Self { count: self.count - before.count, seconds: self.seconds - before.seconds }
    }

    fn mean(self) -> Option<f64> {
        (self.count > 0.0).then(|| 1000.0 * self.seconds / self.count)
    }
}

/// Gangs one after the other.
#[derive(Debug)]
pub struct Arrivals {
    /// From the last pod created to the last pod bound, the shortest first.
    pub waits: Vec<Duration>,
    pub decisions: Decisions,
}

/// Many that wait.
#[derive(Debug)]
pub struct Backlog {
    /// Until nothing was written any more.
    pub settled: Duration,
    pub window: Duration,
    /// What the scheduler took in the window.
    pub processor: Option<Duration>,
    pub resident: Option<u64>,
}

impl Arrivals {
    /// The wait that so many of a hundred do not exceed.
    fn percentile(&self, percent: usize) -> Duration {
        let at = (self.waits.len() * percent).div_ceil(100).saturating_sub(1);
        self.waits.get(at).copied().unwrap_or_default()
    }
}

/// A figure, and what it is judged by.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Figure {
    name: &'static str,
    unit: &'static str,
    /// Unknown where the system does not tell.
    measured: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kai: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    met: Option<bool>,
}

impl Figure {
    fn plain(name: &'static str, unit: &'static str, measured: Option<f64>) -> Self {
        Self { name, unit, measured, target: None, kai: None, met: None }
    }

    fn cells(&self) -> [String; 5] {
        let digits = if self.unit == "/s" { 0 } else { 2 };
        let none = || "-".to_owned();
        let amount = |amount: f64| format!("{amount:.digits$} {}", self.unit).trim_end().to_owned();
        let sign = if self.kai.is_some() { "≥" } else { "≤" };
        [
            self.name.to_owned(),
            self.measured.map_or_else(none, amount),
            self.target.map_or_else(none, |target| format!("{sign} {target} {}", self.unit).trim_end().to_owned()),
            self.kai.map_or_else(none, |kai| format!("{kai}")),
            self.met.map_or("", |met| if met { "met" } else { "MISSED" }).to_owned(),
        ]
    }
}

fn figures(measured: &Measured) -> Vec<Figure> {
    let Measured { fill, arrivals, backlog, peak } = measured;
    let rate = |took: Duration| number(u64::try_from(fill.pods).unwrap_or(u64::MAX)) / took.as_secs_f64();
    let share = fill.limit.as_secs_f64() / fill.took.as_secs_f64();
    let idle = backlog.processor.map(|taken| 100.0 * taken.as_secs_f64() / backlog.window.as_secs_f64());
    let wait = |percent| Some(arrivals.percentile(percent).as_secs_f64() * 1000.0);
    vec![
        Figure::plain("plain binds", "/s", Some(rate(fill.limit))),
        Figure::plain("pods bound", "/s", Some(rate(fill.took))),
        Figure {
            target: Some(0.7),
            kai: Some(KAI),
            met: Some(share >= 0.7),
            ..Figure::plain("share of plain binds", "", Some(share))
        },
        Figure::plain("processor for the fill", "s", fill.processor.map(seconds)),
        Figure::plain("a decision in the fill, mean", "ms", fill.decisions.mean()),
        Figure::plain("last pod created to gang bound, p50", "ms", wait(50)),
        Figure::plain("last pod created to gang bound, p99", "ms", wait(99)),
        Figure::plain("a decision among arrivals, mean", "ms", arrivals.decisions.mean()),
        Figure::plain("backlog settled", "s", Some(seconds(backlog.settled))),
        Figure {
            target: Some(5.0),
            met: idle.map(|idle| idle <= 5.0),
            ..Figure::plain("of a core at rest with the backlog", "%", idle)
        },
        Figure::plain("resident memory with the backlog", "MB", backlog.resident.map(megabytes)),
        Figure::plain("resident memory, peak", "MB", peak.map(megabytes)),
    ]
}

/// Prints the figures for people.
pub fn print(measured: &Measured, args: &BenchSchedulerArgs) -> Result<()> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let head = ["FIGURE", "MEASURED", "TARGET", "KAI", "RESULT"];
    table(&mut out, head, figures(measured).iter().map(Figure::cells))?;
    writeln!(
        out,
        "\n{} nodes, {} gangs of {} pods; backlog: {} nodes, {} gangs",
        args.nodes, args.gangs, args.pods, args.waiting_nodes, args.waiting
    )?;
    out.flush()?;
    Ok(())
}

/// The same for programs.
pub fn json(measured: &Measured, args: &BenchSchedulerArgs) -> Result<()> {
    crate::output::json(&serde_json::json!({
        "nodes": args.nodes,
        "gangs": args.gangs,
        "podsPerGang": args.pods,
        "inFlight": args.in_flight,
        "waitingNodes": args.waiting_nodes,
        "waitingGangs": args.waiting,
        "windowSeconds": args.window,
        "figures": figures(measured),
        "waitsSeconds": measured.arrivals.waits.iter().map(|wait| seconds(*wait)).collect::<Vec<_>>(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_are_read_as_the_scheduler_writes_them() {
        let metrics = trellis_scheduler::Metrics::new();
        let before = Decisions::of(&metrics.render());
        metrics.planned(Duration::from_millis(30), &trellis_scheduler::plan::Figures::default());
        metrics.planned(Duration::from_millis(10), &trellis_scheduler::plan::Figures::default());
        let mean = Decisions::of(&metrics.render()).since(before).mean();
        assert!(mean.is_some_and(|mean| (mean - 20.0).abs() < 1e-6), "{mean:?}");
        assert_eq!(before.mean(), None);
    }

    #[test]
    fn percentiles_are_waits_that_were_seen() {
        let arrivals = |count: u64| Arrivals {
            waits: (1..=count).map(Duration::from_millis).collect(),
            decisions: Decisions::default(),
        };
        assert_eq!(arrivals(200).percentile(99), Duration::from_millis(198));
        assert_eq!(arrivals(200).percentile(50), Duration::from_millis(100));
        assert_eq!(arrivals(1).percentile(99), Duration::from_millis(1));
        assert_eq!(arrivals(0).percentile(99), Duration::ZERO);
    }
}
