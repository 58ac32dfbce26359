//! The lines of a tree of domains. What looks alike is told once, and no domain takes more than a few lines.

use super::names::Names;
use super::text::{BAR, bar};
use super::tree::{Branch, Taken, Usage};
use std::cmp::Reverse;

/// Lines that the domains right inside one domain may take.
const ROWS: usize = 8;
/// Gangs that are named on one line.
const NAMED: usize = 4;

/// A line of the tree.
#[derive(Debug, Default)]
struct Row {
    lead: String,
    bar: String,
    amount: String,
    note: String,
}

/// What lines are made of.
pub struct Forest<'a> {
    pub names: &'a Names<'a>,
    pub usage: &'a Usage<'a>,
    /// What gangs are called.
    pub titles: &'a [String],
}

impl Forest<'_> {
    /// The lines of a tree.
    pub fn lines(&self, branches: &[Branch]) -> Vec<String> {
        let mut rows = Vec::new();
        self.siblings(branches, None, &mut rows);
        let width = |column: fn(&Row) -> &str, rows: &mut dyn Iterator<Item = &Row>| {
            rows.map(|row| column(row).chars().count()).max().unwrap_or(0)
        };
        // What was left out may be longer than names.
        let first = width(|row| &row.lead, &mut rows.iter().filter(|row| !row.amount.is_empty()));
        let second = width(|row| &row.amount, &mut rows.iter());
        let line = |row: &Row| {
            let Row { lead, bar, amount, note } = row;
            format!("{lead:first$}  {bar:BAR$}  {amount:>second$}  {note}").trim_end().to_owned()
        };
        rows.iter().map(line).collect()
    }

    /// The lines of siblings, each with those below it.
    fn siblings(&self, branches: &[Branch], indent: Option<&str>, rows: &mut Vec<Row>) {
        let kept = keep(branches);
        let count = kept.shown.len() + kept.left_out.len();
        for i in 0..count {
            let (knot, below) = match indent {
                None => ("", ""),
                Some(_) if i + 1 == count => ("└─ ", "   "),
                Some(_) => ("├─ ", "│  "),
            };
            let indent = indent.unwrap_or_default();
            let Some(&(branch, like)) = kept.shown.get(i) else {
                let note = self.left_out(&kept.left_out[i - kept.shown.len()]);
                rows.push(Row { lead: format!("{indent}{knot}{note}"), ..Row::default() });
                continue;
            };
            let mut row = self.row(branch, format!("{indent}{knot}{}", branch.label));
            match like {
                Some(like) if !branch.children.is_empty() && !branch.taken.is_free() => {
                    row.note = format!("like {}", like.label);
                    rows.push(row);
                }
                // There is nothing to see inside of what is free.
                _ if branch.taken.is_free() => rows.push(row),
                _ => {
                    rows.push(row);
                    self.siblings(&branch.children, Some(&format!("{indent}{below}")), rows);
                }
            }
        }
    }

    fn left_out(&self, left_out: &LeftOut<'_>) -> String {
        let LeftOut { count, like, taken } = left_out;
        let state = match (taken.is_free(), taken.free()) {
            (true, _) => "free".to_owned(),
            (_, 0) => "full".to_owned(),
            (_, free) if like.is_some() => format!("{} free each", self.names.amount(self.usage.resource, free)),
            (_, free) => format!("{} free", self.names.amount(self.usage.resource, free)),
        };
        match like {
            Some(like) => format!("… {count} more like {} ({state})", like.label),
            None => format!("… {count} more ({state})"),
        }
    }

    fn row(&self, branch: &Branch, lead: String) -> Row {
        let Taken { total, before, now, gangs, others } = &branch.taken;
        // Who is there is said once, at the narrowest domain.
        let mut there: Vec<(&str, u64)> = Vec::new();
        if branch.children.is_empty() {
            there.extend(gangs.iter().map(|(gang, pods)| (self.titles[*gang].as_str(), *pods)));
            there.sort_by_key(|(title, pods)| (Reverse(*pods), *title));
            if *others > 0 {
                there.push(("of no gang", *others));
            }
        }
        let mut note: Vec<String> = there.iter().take(NAMED).map(|(title, pods)| format!("{title} ×{pods}")).collect();
        if there.len() > NAMED {
            note.push(format!("{} more", there.len() - NAMED));
        }
        let show = |amount: i64| self.names.amount(self.usage.resource, amount);
        let amount = if *total == 0 { "-".to_owned() } else { format!("{}/{}", show(before + now), show(*total)) };
        Row { lead, bar: bar(*before, *now, *total), amount, note: note.join(", ") }
    }
}

/// What is shown of some siblings.
#[derive(Default)]
struct Kept<'a> {
    /// In order; with an earlier one that it looks like.
    shown: Vec<(&'a Branch, Option<&'a Branch>)>,
    left_out: Vec<LeftOut<'a>>,
}

/// Siblings that are not shown.
struct LeftOut<'a> {
    count: usize,
    /// One that is shown and that they all look like.
    like: Option<&'a Branch>,
    /// What is taken in one of them, or in all of them if they are not alike.
    taken: Taken,
}

/// Keeps siblings to a few lines: where there are many, those that look alike are shown once, and of what is left those
/// where something happens.
fn keep(branches: &[Branch]) -> Kept<'_> {
    let mut kinds: Vec<Vec<usize>> = Vec::new();
    for (i, branch) in branches.iter().enumerate() {
        match kinds.iter_mut().find(|kind| branches[kind[0]].is_like(branch)) {
            Some(kind) => kind.push(i),
            None => kinds.push(vec![i]),
        }
    }
    let mut kept = Kept::default();
    let is_short = branches.len() <= ROWS;
    // Lines with what they look like, and for what is left out what it looks like and how many there are.
    let mut lines: Vec<(usize, Option<usize>)> = Vec::new();
    let mut alike: Vec<(usize, usize)> = Vec::new();
    for kind in &kinds {
        // Two take as many lines as one with a note.
        let shown = if is_short || kind.len() == 2 { kind.len() } else { 1 };
        lines.extend(kind[..shown].iter().map(|i| (*i, (*i != kind[0]).then_some(kind[0]))));
        if shown < kind.len() {
            alike.push((kind[0], kind.len() - shown));
        }
    }
    if lines.len() + alike.len() > ROWS {
        lines.sort_by_key(|(i, _)| (Reverse(branches[*i].taken.now.min(1)), branches[*i].taken.is_free(), *i));
        let dropped = lines.split_off(ROWS.saturating_sub(1 + alike.len()).max(1).min(lines.len()));
        let mut rest = LeftOut { count: 0, like: None, taken: Taken::default() };
        let mut drop_one = |i: usize, times: usize| {
            rest.count += times;
            (0..times).for_each(|_| rest.taken.add(&branches[i].taken));
        };
        for (i, _) in dropped {
            drop_one(i, 1);
        }
        alike.retain(|(i, times)| {
            let is_shown = lines.iter().any(|(line, _)| line == i);
            if !is_shown {
                drop_one(*i, *times);
            }
            is_shown
        });
        kept.left_out.extend(Some(rest).filter(|rest| rest.count > 0));
    }
    lines.sort_unstable();
    kept.shown = lines.into_iter().map(|(i, like)| (&branches[i], like.map(|like| &branches[like]))).collect();
    let alike = alike.into_iter().map(|(i, count)| LeftOut {
        count,
        like: Some(&branches[i]),
        taken: branches[i].taken.clone(),
    });
    kept.left_out.splice(0..0, alike);
    kept
}
