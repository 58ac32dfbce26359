//! `trellis simulate`: runs by seed, as many at a time as there are cores. Progress on stderr, what came of it on stdout.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context as _, Result};
use serde_json::json;
use trellis_api::kinds::config::{LogFormat, LogLevel};
use trellis_simulate::{Options, Report, journal, run as play};

use crate::args::{SimulateArgs, SimulateOutput};
use crate::logs;

/// Progress is told whenever so many events have gone by.
const TOLD_EVERY: usize = 1_000;

/// Plays what was asked for; whether nothing was found.
pub fn run(args: &SimulateArgs) -> Result<bool> {
    if args.verbose {
        logs::start(LogLevel::Debug, LogFormat::Text);
    }
    let begun = Instant::now();
    let (runs, events) = match &args.replay {
        Some(file) => replayed(file)?,
        None => {
            let seeds = args.seed..args.seed.saturating_add(args.seeds);
            let runs = seeds.map(|seed| Options { seed, events: args.events, ..Options::default() });
            (runs.collect(), args.events)
        }
    };
    let reports = play_all(&runs, |report| {
        for violation in &report.violations {
            let rule = violation.rule.name();
            eprintln!(
                "seed {}, event {}, revision {}: {rule}: {}",
                report.seed, violation.event, violation.revision, violation.what
            );
            violation.objects.iter().for_each(|object| eprintln!("  {object}"));
        }
        if args.replay.is_none() && !report.violations.is_empty() {
            match write(&args.journals, report, events) {
                Ok(file) => eprintln!("hint: `trellis simulate --replay {}` plays it again", file.display()),
                Err(error) => eprintln!("warning: {error:#}"),
            }
        }
    })?;
    eprintln!("{} s", begun.elapsed().as_secs());
    match args.output {
        SimulateOutput::Table => table(&reports)?,
        SimulateOutput::Json => println!("{}", serde_json::to_string_pretty(&json!({ "runs": reports }))?),
    }
    Ok(reports.iter().all(|report| report.violations.is_empty()))
}

fn replayed(file: &Path) -> Result<(Vec<Options>, usize)> {
    let input = File::open(file).with_context(|| format!("cannot read {}", file.display()))?;
    let replay = journal::read(BufReader::new(input)).with_context(|| file.display().to_string())?;
    let options = Options { seed: replay.seed, events: replay.count, replay: Some(replay.events), hook: None };
    Ok((vec![options], replay.count))
}

/// Plays runs on all cores; each is told when it has ended.
fn play_all(runs: &[Options], ended: impl Fn(&Report) + Sync) -> Result<Vec<Report>> {
    let (next, done, events) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()), AtomicU64::new(0));
    let progress = |number: usize| {
        let events = usize::try_from(events.fetch_add(1, Ordering::Relaxed) + 1).unwrap_or(usize::MAX);
        if events.is_multiple_of(TOLD_EVERY) || (runs.len() == 1 && number.is_multiple_of(TOLD_EVERY / 10)) {
            eprintln!("{events} events");
        }
    };
    std::thread::scope(|scope| {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..cores.min(runs.len()) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(options) = runs.get(at) else { return };
                    let report = play(options, &progress);
                    if let Ok(report) = &report {
                        ended(report);
                    }
                    done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(at, report);
                }
            });
        }
    });
    let done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.into_values().map(|report| report.map_err(Into::into)).collect()
}

/// Writes the journal of a run; where it is.
fn write(folder: &Path, report: &Report, events: usize) -> Result<PathBuf> {
    let file = folder.join(format!("trellis-simulate-{}.jsonl", report.seed));
    let cannot = || format!("cannot write {}", file.display());
    let mut out = BufWriter::new(File::create(&file).with_context(cannot)?);
    if let Some(journal) = &report.journal {
        journal.write(report.seed, events, &report.violations, &mut out).with_context(cannot)?;
    }
    out.flush().with_context(cannot)?;
    Ok(file)
}

fn table(reports: &[Report]) -> Result<()> {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for (kind, count) in reports.iter().flat_map(|report| &report.events) {
        *kinds.entry(kind).or_default() += count;
    }
    let sum = |of: fn(&Report) -> u64| reports.iter().map(of).sum::<u64>();
    let crashes = |of: fn(&Report) -> usize| reports.iter().map(of).sum::<usize>();
    let mut out = std::io::stdout().lock();
    for (kind, count) in &kinds {
        writeln!(out, "{kind:24} {count:>9}")?;
    }
    writeln!(out, "{:24} {:>9}", "events", kinds.values().sum::<usize>())?;
    for (what, count) in [
        ("revisions checked", sum(|report| report.counts.revisions)),
        ("pods bound", sum(|report| report.counts.binds)),
        ("gangs placed", sum(|report| report.counts.placed)),
        ("gangs preempted", sum(|report| report.counts.preempted)),
        ("virtual seconds", sum(|report| report.virtual_seconds)),
        ("writes of the operator", sum(|report| report.operator_writes)),
        ("writes of the scheduler", sum(|report| report.scheduler_writes)),
        ("decisions", sum(|report| report.decisions)),
        ("steps of search", sum(|report| report.steps)),
    ] {
        writeln!(out, "{what:24} {count:>9}")?;
    }
    writeln!(out, "{:24} {:>9}", "operator crashes", crashes(|report| report.operator_crashes))?;
    writeln!(out, "{:24} {:>9}", "scheduler crashes", crashes(|report| report.scheduler_crashes))?;
    writeln!(out, "{:24} {:>9}", "violations", crashes(|report| report.violations.len()))?;
    if let [report] = reports {
        writeln!(out, "{:24} {:>16x}", "digest", report.digest)?;
    }
    Ok(())
}
