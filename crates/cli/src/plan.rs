//! `trellis plan`

mod forest;
mod gather;
mod items;
pub mod live;
mod load;
mod measure;
mod nodes_of;
mod progress;
mod promised;
mod proof;
mod report;
mod table;
pub mod text;
mod tree;
mod workflows;

use crate::args::{PlanArgs, PlanOutput};
use crate::objects::Object;
use crate::{End, connect, output, up};
use anyhow::Result;
pub use nodes_of::nodes_of;

use measure::Measured;
use names::Names;
use progress::Progress;
use std::sync::Arc;
use std::time::Instant;
use trellis_engine::{Outcome, Snapshot, Unready, order};
use trellis_lower::problem::Problem;
use trellis_lower::{explanation, named as names};

/// Plans all gangs of the input and prints where they go.
pub fn run(args: &PlanArgs) -> Result<End> {
    let begun = Instant::now();
    let progress = Progress::start();
    let Some(Problem { cluster, mut gangs, ties, warnings, .. }) = load::load(args, cluster(args)?, &progress)? else {
        return Ok(End::Refused);
    };
    for warning in warnings {
        eprintln!("warning: {warning}");
    }
    let cluster = Arc::new(cluster);
    let snapshot = Snapshot::with_gangs(cluster.clone(), &gangs);
    let loaded = begun.elapsed();
    let mut measured = measure::run(&snapshot, &gangs, args.repeat, loaded, &progress);
    // Each time at least one more of those that keep apart or seek each other waits; so this ends.
    loop {
        let late = ties.late(&order(&gangs), |gang| !measured.plan.decisions[gang].placed.is_empty());
        if late.is_empty() {
            break;
        }
        for gang in late {
            let text = "its pods keep apart from, or seek, those of gangs before it, and are planned once these have \
                        their places";
            gangs[gang].unready = Some(Unready::Missing { text: text.to_owned() });
        }
        measured = measure::run(&snapshot, &gangs, args.repeat, loaded, &progress);
    }
    let Measured { plan, explanations, times } = measured;
    drop(progress);
    let names = Names::new(&cluster);
    let times = args.stats.then_some(&times);
    match args.output {
        PlanOutput::Json => output::json(&report::report(&names, &gangs, &plan, &explanations, times))?,
        PlanOutput::Table => table::print(&names, &gangs, &plan, &explanations, times)?,
    }
    let waits = plan.decisions.iter().any(|decision| decision.outcome != Outcome::Placed);
    Ok(if waits { End::Waiting } else { End::Done })
}

/// What the cluster holds, if it is to be looked at.
fn cluster(args: &PlanArgs) -> Result<Option<Vec<Object>>> {
    if !args.live {
        return Ok(None);
    }
    let reading = async {
        let connection = connect::connection(args.kubeconfig.as_deref(), args.context.as_deref()).await?;
        live::read(&connection.client()?).await
    };
    up::runtime()?.block_on(reading).map(Some)
}
