//! The plan for people: the cluster as a tree, what each gang got, and why some wait.

use super::forest::Forest;
use super::measure::Times;
use super::names::Names;
use super::report;
use super::text::{Natural, columns, paths, wrapped};
use super::tree::Usage;
use anyhow::Result;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::io::{BufWriter, Write as _};
use trellis_engine::{Decision, Explanation, Gang, Outcome, Place, Plan};

/// Columns that paragraphs are wrapped at.
const WIDTH: usize = 100;

/// What is printed.
struct Table<'a> {
    names: &'a Names<'a>,
    gangs: &'a [Gang],
    plan: &'a Plan,
    /// What gangs are called: without their namespace if they share one.
    titles: Vec<String>,
    /// The gangs as people count them: `llm-2` before `llm-10`.
    order: Vec<usize>,
}

/// Prints the plan.
pub fn print(
    names: &Names<'_>,
    gangs: &[Gang],
    plan: &Plan,
    explanations: &[Explanation],
    times: Option<&Times>,
) -> Result<()> {
    let namespaces: BTreeSet<&str> = gangs.iter().map(|gang| gang.id.namespace.as_str()).collect();
    let title = |gang: &Gang| match namespaces.len() {
        1 => gang.id.name.clone(),
        _ => super::names::gang(&gang.id),
    };
    let mut order: Vec<usize> = (0..gangs.len()).collect();
    order.sort_by_cached_key(|gang| (&gangs[*gang].id.namespace, Natural::of(&gangs[*gang].id.name)));
    let table = Table { names, gangs, plan, titles: gangs.iter().map(title).collect(), order };
    let mut out = BufWriter::new(std::io::stdout().lock());
    let lines = table.cluster().into_iter().chain(table.gangs(times)).chain(table.waiting(explanations));
    for line in lines {
        writeln!(out, "{line}")?;
    }
    out.flush()?;
    let waiting = plan.decisions.iter().filter(|decision| decision.outcome != Outcome::Placed).count();
    let all = plan.decisions.len();
    eprintln!("{}, {} placed, {waiting} waiting", counted(all, "gang"), all - waiting);
    Ok(())
}

impl Table<'_> {
    /// The cluster in figures, and its tree for each topology that gangs ask for.
    fn cluster(&self) -> Vec<String> {
        let cluster = self.names.cluster;
        let usage = Usage::new(cluster, self.gangs, self.plan).filter(|_| !cluster.nodes.is_empty());
        let Some(usage) = usage else { return vec!["no nodes".to_owned()] };
        let sum = usage.sum();
        let show = |amount: i64| self.names.amount(usage.resource, amount);
        let mut lines = vec![format!(
            "{}, {} {}: █ {} in use, ▓ {} placed now, ░ {} free",
            counted(cluster.nodes.len(), "node"),
            show(sum.total),
            self.names.resource(usage.resource),
            show(sum.before),
            show(sum.now),
            show(sum.free())
        )];
        let mut trees: Vec<(Option<usize>, Option<usize>)> =
            self.topologies().into_iter().map(|(topology, narrowest)| (Some(topology), Some(narrowest))).collect();
        if trees.is_empty() {
            trees.push((self.first_topology(), None));
        }
        let shown: Vec<usize> = trees.iter().filter_map(|(topology, _)| *topology).collect();
        for (topology, narrowest) in trees {
            lines.push(String::new());
            if let Some(topology) = topology.map(|topology| &cluster.topologies[topology]) {
                let levels: Vec<&str> = topology.levels.iter().map(|level| level.name.as_str()).collect();
                lines.push(format!("{} ({})", topology.name, levels.join(" > ")));
            }
            let forest = Forest { names: self.names, usage: &usage, titles: &self.titles };
            lines.extend(forest.lines(&usage.tree(topology, narrowest, &shown)));
        }
        lines
    }

    /// The topologies that gangs ask for, those with the most groups first, each with the narrowest level required.
    fn topologies(&self) -> Vec<(usize, usize)> {
        let mut uses = vec![(0_usize, 0_usize); self.names.cluster.topologies.len()];
        let groups = self.gangs.iter().flat_map(|gang| &gang.groups);
        for constraint in groups.filter_map(|group| group.constraint) {
            let (count, narrowest) = &mut uses[constraint.topology];
            *count += 1;
            *narrowest = (*narrowest).max(constraint.required.unwrap_or(0));
        }
        let mut wanted: Vec<usize> = (0..uses.len()).filter(|topology| uses[*topology].0 > 0).collect();
        wanted.sort_by_key(|topology| Reverse(uses[*topology].0));
        wanted.into_iter().map(|topology| (topology, uses[topology].1)).collect()
    }

    /// The topology that tells most of the nodes.
    fn first_topology(&self) -> Option<usize> {
        let cluster = self.names.cluster;
        let depth = |topology: usize| cluster.nodes.iter().map(|node| node.paths[topology].len()).sum::<usize>();
        let labelled = (0..cluster.topologies.len()).filter(|topology| depth(*topology) > 0);
        labelled.max_by_key(|topology| (depth(*topology), Reverse(*topology)))
    }

    /// A line for each gang.
    fn gangs(&self, times: Option<&Times>) -> Vec<String> {
        let head = ["GANG", "STATE", "PODS", "WHERE"].map(str::to_owned).to_vec();
        let mut rows = vec![head];
        for &i in &self.order {
            let (gang, decision) = (&self.gangs[i], &self.plan.decisions[i]);
            let places = report::places(gang, decision);
            let pods = format!("{} of {}", places.iter().flatten().count(), gang.pods.len());
            let state = state(gang, decision).to_owned();
            rows.push(vec![self.titles[i].clone(), state, pods, self.place(gang, &places)]);
        }
        if let Some(times) = times {
            rows[0].splice(3..3, ["MICROS".to_owned(), "STEPS".to_owned()]);
            for (row, &i) in rows[1..].iter_mut().zip(&self.order) {
                row.splice(3..3, [times.gangs[i].to_string(), self.plan.decisions[i].steps.to_string()]);
            }
        }
        let mut lines = Vec::new();
        if !self.gangs.is_empty() {
            lines.push(String::new());
            lines.extend(columns(&rows));
        }
        if let Some(Times { load, decide, explain, .. }) = times {
            lines.push(String::new());
            lines.push(format!("microseconds: {load} to load, {decide} to decide, {explain} to explain"));
        }
        lines
    }

    /// The domains that a gang uses at the levels that it requires, or else prefers.
    fn place(&self, gang: &Gang, places: &[Option<Place>]) -> String {
        let rows = report::rows(self.names, gang, places);
        let is_required = rows.iter().any(|row| row.required);
        let mut levels: Vec<(&str, BTreeSet<&str>)> = Vec::new();
        for row in rows.iter().filter(|row| row.required == is_required && !row.values.is_empty()) {
            let values = row.values.iter().map(String::as_str);
            match levels.iter_mut().find(|(level, _)| *level == row.level) {
                Some((_, all)) => all.extend(values),
                None => levels.push((row.level, values.collect())),
            }
        }
        if levels.is_empty() {
            let nodes: BTreeSet<u32> = places.iter().flatten().map(|place| place.node).collect();
            return if nodes.is_empty() { String::new() } else { counted(nodes.len(), "node") };
        }
        let level =
            |(level, values): (&str, BTreeSet<&str>)| format!("{level} {}", paths(values.into_iter().collect()));
        levels.into_iter().map(level).collect::<Vec<_>>().join("; ")
    }

    /// The gangs that wait, each with its paragraph.
    fn waiting(&self, explanations: &[Explanation]) -> Vec<String> {
        let mut lines = Vec::new();
        for &i in self.order.iter().filter(|i| self.plan.decisions[**i].outcome != Outcome::Placed) {
            let kept = match self.plan.decisions[i].reserved.len() {
                0 => String::new(),
                kept => format!(", with {} kept for it", counted(kept, "node")),
            };
            lines.extend([String::new(), format!("{}{kept}", self.titles[i])]);
            lines.extend(wrapped(&explanations[i].text, WIDTH - 2).iter().map(|line| format!("  {line}")));
        }
        lines
    }
}

fn state(gang: &Gang, decision: &Decision) -> &'static str {
    match decision.outcome {
        Outcome::Placed if decision.placed.is_empty() && !gang.pods.is_empty() => "running",
        Outcome::Placed => "placed",
        Outcome::CannotFit(_) => "waits",
        Outcome::Undecided => "undecided",
    }
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
