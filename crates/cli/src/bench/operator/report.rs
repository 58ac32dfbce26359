//! What was measured, beside the limit, the target, and what Grove's own scale test was published with.

use std::io::{BufWriter, Write as _};
use std::time::{Duration, Instant};

use anyhow::Result;
use serde::Serialize;

use super::limit::Limit;
use super::seen::Tallies;
use super::subject::Writes;
use crate::args::BenchOperatorArgs;
use crate::bench::figures::{megabytes, number, seconds, table};
use crate::bench::process::Taken;

/// What was measured.
#[derive(Debug)]
pub struct Measured {
    pub limit: Limit,
    pub created: Duration,
    pub ungated: Duration,
    /// Until nothing changed any more, statuses included.
    pub settled: Duration,
    pub pods_gone: Duration,
    pub all_gone: Duration,
    /// Until all is settled.
    pub writes: Writes,
    /// In the window after that.
    pub steady_writes: u64,
    /// What the watches saw in that window, whoever did it.
    pub steady_changes: u64,
    /// After the set was deleted.
    pub deletion_writes: Writes,
    /// Before the set was created.
    pub idle: Option<Taken>,
    /// When all is settled.
    pub steady: Option<Taken>,
    /// When all is gone.
    pub last: Option<Taken>,
    pub creation: Vec<Lane>,
    pub deletion: Vec<Lane>,
}

/// When objects of a kind came and went, in seconds from the begin of a phase.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Lane {
    kind: &'static str,
    changes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_created: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_created: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_changed: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_changed: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_gone: Option<f64>,
}

/// What the watches have seen since `begun`, by kind.
pub fn lanes(seen: &Tallies, begun: Instant) -> Vec<Lane> {
    let after = |time: Option<Instant>| time.map(|time| seconds(time.duration_since(begun)));
    let lane = |(kind, tally): (&'static str, &super::seen::Tally)| Lane {
        kind,
        changes: tally.changes,
        first_created: after(tally.first_came),
        last_created: after(tally.last_came),
        first_changed: after(tally.first_changed),
        last_changed: after(tally.last_changed),
        last_gone: after(tally.last_went),
    };
    seen.kinds().map(lane).collect()
}

/// A figure, and what it is judged by.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Figure {
    name: &'static str,
    unit: &'static str,
    /// Unknown if the operator ran in this process, or if the system does not tell.
    measured: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    multiple: Option<f64>,
    /// At most so much; a multiple if there is a limit.
    target: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    grove: Option<f64>,
    met: Option<bool>,
}

impl Figure {
    fn of_limit(name: &'static str, took: Duration, limit: Duration, target: f64, grove: f64) -> Self {
        let multiple = took.as_secs_f64() / limit.as_secs_f64().max(f64::MIN_POSITIVE);
        Self {
            name,
            unit: "s",
            measured: Some(seconds(took)),
            limit: Some(seconds(limit)),
            multiple: Some(multiple),
            target,
            grove: Some(grove),
            met: Some(multiple <= target),
        }
    }

    fn at_most(name: &'static str, unit: &'static str, measured: Option<f64>, target: f64, grove: Option<f64>) -> Self {
        let met = measured.map(|measured| measured <= target);
        Self { name, unit, measured, limit: None, multiple: None, target, grove, met }
    }

    fn cells(&self) -> [String; 7] {
        let digits = match self.unit {
            "writes" => 0,
            "MB" => 1,
            _ => 2,
        };
        let amount = |amount: f64| format!("{amount:.digits$} {}", self.unit);
        let none = || "-".to_owned();
        let target = match self.limit {
            Some(_) => format!("≤ {}×", self.target),
            None => format!("≤ {} {}", self.target, self.unit),
        };
        [
            self.name.to_owned(),
            self.measured.map_or_else(none, amount),
            self.limit.map_or_else(none, amount),
            self.multiple.map_or_else(none, |multiple| format!("{multiple:.2}×")),
            target,
            self.grove.map_or_else(none, |grove| format!("{grove} {}", self.unit)),
            self.met.map_or("unknown", |met| if met { "met" } else { "MISSED" }).to_owned(),
        ]
    }
}

/// The figures that have a target.
fn figures(measured: &Measured, args: &BenchOperatorArgs) -> Vec<Figure> {
    let Measured { limit, .. } = measured;
    let writes: u64 = measured.writes.values().sum();
    let peak = measured.last.map(|taken| megabytes(taken.peak));
    let steady = measured.steady_writes.max(measured.steady_changes);
    let grove_steady = 100.0 * f64::from(args.window);
    let per_pod = number(writes) / f64::from(args.replicas) / f64::from(args.pods);
    let mut figures = vec![
        Figure::of_limit("all pods created", measured.created, limit.create, 3.0, 30.0),
        Figure::of_limit("all pods ungated", measured.ungated, limit.create, 5.0, 44.0),
        Figure::of_limit("all pods gone", measured.pods_gone, limit.delete, 3.0, 129.0),
        Figure::of_limit("everything gone", measured.all_gone, limit.delete, 3.0, 129.0),
        Figure::at_most("writes per pod", "per pod", Some(per_pod), 4.0, Some(9.6)),
        Figure::at_most("resident memory, peak", "MB", peak, 100.0, None),
        Figure::at_most("writes in steady state", "writes", Some(number(steady)), 0.0, Some(grove_steady)),
    ];
    // What was published is for the one size.
    if (args.replicas, args.pods) != (500, 2) {
        figures.iter_mut().for_each(|figure| figure.grove = None);
    }
    figures
}

/// Prints the figures for people.
pub fn print(measured: &Measured, args: &BenchOperatorArgs) -> Result<()> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let figures = figures(measured, args);
    let head = ["FIGURE", "MEASURED", "LIMIT", "MULTIPLE", "TARGET", "GROVE", "RESULT"];
    table(&mut out, head, figures.iter().map(Figure::cells))?;
    writeln!(out, "\nwrites until settled, {:.2} s after the set was created:", seconds(measured.settled))?;
    sites(&mut out, &measured.writes)?;
    writeln!(out, "\nwrites after the set was deleted:")?;
    sites(&mut out, &measured.deletion_writes)?;
    writeln!(out, "\nwhen they were created and changed, in seconds:")?;
    for lane in &measured.creation {
        let span = |first: Option<f64>, last: Option<f64>| match (first, last) {
            (Some(first), Some(last)) => format!("{first:6.2} to {last:6.2}"),
            _ => format!("{:16}", ""),
        };
        let created = span(lane.first_created, lane.last_created);
        let changed = span(lane.first_changed, lane.last_changed);
        writeln!(out, "  {:<22} created {created}  changed {changed}  {:>6} writes", lane.kind, lane.changes)?;
    }
    if let (Some(idle), Some(steady), Some(last)) = (&measured.idle, &measured.steady, &measured.last) {
        writeln!(
            out,
            "\nresident: {:.1} MB idle, {:.1} MB in steady state, {:.1} MB at the end; processor: {:.2} s until settled, {:.2} s after",
            megabytes(idle.resident),
            megabytes(steady.resident),
            megabytes(last.resident),
            seconds(steady.processor.saturating_sub(idle.processor)),
            seconds(last.processor.saturating_sub(steady.processor)),
        )?;
    }
    out.flush()?;
    Ok(())
}

fn sites(out: &mut impl std::io::Write, writes: &Writes) -> Result<()> {
    for (site, count) in writes {
        writeln!(out, "  {count:>6}  {site}")?;
    }
    Ok(())
}

/// The same for programs.
pub fn json(measured: &Measured, args: &BenchOperatorArgs) -> Result<()> {
    let taken = |taken: Option<Taken>| {
        let taken = taken?;
        Some(serde_json::json!({
            "residentBytes": taken.resident,
            "peakBytes": taken.peak,
            "processorSeconds": seconds(taken.processor),
        }))
    };
    crate::output::json(&serde_json::json!({
        "replicas": args.replicas,
        "podsPerReplica": args.pods,
        "inFlight": args.in_flight,
        "inProcess": args.in_process,
        "windowSeconds": args.window,
        "figures": figures(measured, args),
        "settledSeconds": seconds(measured.settled),
        "writes": measured.writes,
        "steadyWrites": measured.steady_writes,
        "steadyChanges": measured.steady_changes,
        "deletionWrites": measured.deletion_writes,
        "creation": measured.creation,
        "deletion": measured.deletion,
        "idle": taken(measured.idle),
        "steady": taken(measured.steady),
        "last": taken(measured.last),
    }))
}
