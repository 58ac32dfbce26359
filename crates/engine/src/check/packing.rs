//! The claim that pods cannot be packed, redone by a table over the nodes.
//!
//! A row of the table is what has been placed so far, kind by kind. Node after node each row is extended by each way to
//! fill the node; rows that another row has all of are dropped, and so are rows that even the rest of the nodes, each
//! filled with one kind alone, cannot complete. Pods can be packed if and only if a row comes out complete.

use super::arithmetic::distinct;
use super::case::{Case, Context, Kind};
use super::claims::ensure;
use super::ground::Mode;
use super::patterns::{Patterns, Row, Rows};
use super::scope::Scope;
use crate::cluster::NodeId;
use crate::gang::GroupId;
use std::sync::Arc;

/// Steps after which a table is given up. A proof that asks for more is no proof that one can check.
const LIMIT: u64 = 20_000_000;

/// Steps that are left.
pub(super) struct Work(u64);

impl Work {
    pub(super) fn spend(&mut self, steps: usize) -> Result<(), String> {
        let left = self.0.checked_sub(steps as u64);
        self.0 = left.ok_or_else(|| format!("the table of a packing takes more than {LIMIT} steps"))?;
        Ok(())
    }
}

/// Pods that are alike in all that matters to the table: a column.
pub(super) struct Column {
    pub(super) request: Arc<[i64]>,
    pub(super) eligibility: usize,
    pub(super) mode: Mode,
    pub(super) scope: Scope,
    /// More of them are of no use.
    pub(super) cap: u64,
}

/// A number of pods that must be reached by some columns together.
struct Goal {
    columns: std::ops::Range<usize>,
    need: u64,
}

#[derive(Default)]
struct Table {
    columns: Vec<Column>,
    goals: Vec<Goal>,
}

impl Table {
    fn add(&mut self, kinds: &[Kind], mode: Mode, scope: &Scope, need: u64) {
        let start = self.columns.len();
        for kind in kinds {
            self.columns.push(Column {
                request: Arc::clone(&kind.request),
                eligibility: kind.eligibility,
                mode,
                scope: scope.clone(),
                cap: kind.waiting.min(need),
            });
        }
        self.goals.push(Goal { columns: start..self.columns.len(), need });
    }

    /// Adds pods of one kind that must all be placed. Leaves that ask for the same in the same scope are as good as one.
    fn add_alike(&mut self, kind: &Kind, mode: Mode, scope: &Scope, need: u64) {
        for goal in self.goals.iter_mut().filter(|goal| goal.columns.len() == 1) {
            let column = &mut self.columns[goal.columns.start];
            let same = column.request == kind.request && column.eligibility == kind.eligibility;
            if same && column.mode == mode && column.scope == *scope {
                goal.need += need;
                column.cap += need;
                return;
            }
        }
        self.add(&[Kind { waiting: need, ..kind.clone() }], mode, scope, need);
    }

    /// Whether a row and something more reach all goals.
    fn completes(&self, row: &[u64], more: &[u64]) -> bool {
        self.goals.iter().all(|goal| {
            let counts = goal.columns.clone().map(|k| row[k].saturating_add(more[k]).min(self.columns[k].cap));
            counts.sum::<u64>() >= goal.need
        })
    }
}

impl Case<'_> {
    pub(super) fn packing(&self, context: &Context, leaves: &[GroupId]) -> Result<(), String> {
        ensure(leaves.is_sorted(), || "the leaves of a packing are not sorted".to_owned())?;
        distinct(leaves)?;
        let mut table = Table::default();
        let mut short = false;
        for group in leaves {
            let leaf = self.leaf(context, *group)?;
            let scope = self.scope(context, Some(*group));
            let waiting: u64 = leaf.kinds.iter().map(|kind| kind.waiting).sum();
            short |= waiting < leaf.need;
            if leaf.need == 0 {
                continue;
            }
            match leaf.kinds.as_slice() {
                [kind] => table.add_alike(kind, leaf.mode, &scope, leaf.need),
                // All of them are needed: each kind by itself.
                kinds if waiting == leaf.need => {
                    for kind in kinds {
                        table.add_alike(kind, leaf.mode, &scope, kind.waiting);
                    }
                }
                kinds => table.add(kinds, leaf.mode, &scope, leaf.need),
            }
        }
        ensure(short || !self.fills(&table)?, || "the pods can be packed".to_owned())
    }

    /// Whether all goals of a table can be reached.
    fn fills(&self, table: &Table) -> Result<bool, String> {
        let mut work = Work(LIMIT);
        let mut nodes: Vec<NodeId> = Vec::new();
        for column in &table.columns {
            self.each_node(&column.scope, |node| nodes.push(node));
        }
        nodes.sort_unstable();
        nodes.dedup();
        let mut patterns = Patterns::default();
        let mut ways = Vec::with_capacity(nodes.len());
        for node in nodes {
            ways.push(patterns.of(self, &table.columns, node, &mut work)?);
        }
        // What the nodes from each one on take of each kind alone.
        let width = table.columns.len();
        let mut rest: Vec<Row> = vec![vec![0; width]];
        for ways in ways.iter().rev() {
            let mut sum = rest.last().cloned().unwrap_or_default();
            for (k, sum) in sum.iter_mut().enumerate() {
                *sum = sum.saturating_add(ways.iter().map(|way| way[k]).max().unwrap_or(0));
            }
            rest.push(sum);
        }
        let mut rows: Vec<Row> = vec![vec![0; width]];
        rows.retain(|row| table.completes(row, &rest[rest.len() - 1]));
        rest.pop();
        for ways in ways {
            let after = rest.pop().unwrap_or_default();
            let mut next = Rows::default();
            for row in &rows {
                work.spend(ways.len())?;
                for way in ways.iter() {
                    let sums = row.iter().zip(way).zip(&table.columns);
                    let sum: Row = sums.map(|((have, more), column)| (have + more).min(column.cap)).collect();
                    if table.completes(&sum, &after) {
                        next.push(sum, &mut work)?;
                    }
                }
            }
            rows = next.front(&mut work)?;
        }
        Ok(!rows.is_empty())
    }
}
