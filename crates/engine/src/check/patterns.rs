//! The ways to fill one node: numbers of pods, kind by kind, that it takes together and that leave no room for more.

use super::case::Case;
use super::packing::{Column, Work};
use crate::cluster::{NodeId, Place};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Numbers of pods, column by column.
pub(super) type Row = Vec<u64>;

/// What decides how a node can be filled.
#[derive(PartialEq, Eq, Hash)]
struct Offer {
    free: Vec<i64>,
    zones: Vec<Vec<Option<i64>>>,
    /// For each column its places here: the node, or zones of it.
    slots: Vec<(usize, Option<u16>)>,
}

/// The ways to fill nodes, worked out once for nodes that offer the same.
#[derive(Default)]
pub(super) struct Patterns {
    known: FxHashMap<Offer, Rc<Vec<Row>>>,
}

impl Patterns {
    /// The ways to fill a node. There is at least one, though it may be to place nothing.
    pub(super) fn of(
        &mut self,
        case: &Case<'_>,
        columns: &[Column],
        node: NodeId,
        work: &mut Work,
    ) -> Result<Rc<Vec<Row>>, String> {
        work.spend(columns.len())?;
        let mut slots = Vec::new();
        for (k, column) in columns.iter().enumerate() {
            if case.open(column.eligibility, node) && case.covers(&column.scope, node) {
                case.each_place_on(&column.scope, column.mode, node, |place| {
                    if case.room.takes(place, &column.request) > 0 {
                        slots.push((k, place.zone));
                    }
                });
            }
        }
        let zones = if slots.iter().any(|(_, zone)| zone.is_some()) {
            let count = case.ground.cluster.nodes[node as usize].zones.len();
            (0..).take(count).map(|zone| case.room.zone(node, zone).to_vec()).collect()
        } else {
            Vec::new()
        };
        let free = if slots.is_empty() { Vec::new() } else { case.room.free(node).to_vec() };
        let offer = Offer { free, zones, slots };
        if let Some(ways) = self.known.get(&offer) {
            return Ok(Rc::clone(ways));
        }
        let mut filling = Filling { case, node, columns, offer: &offer, placed: Vec::new(), ways: Rows::default() };
        filling.placed.resize(offer.slots.len(), 0);
        filling.fill(0, &mut vec![0; columns.len()], work)?;
        let ways = Rc::new(filling.ways.front(work)?);
        self.known.insert(offer, Rc::clone(&ways));
        Ok(ways)
    }
}

struct Filling<'a, 'g> {
    case: &'a Case<'g>,
    node: NodeId,
    columns: &'a [Column],
    offer: &'a Offer,
    /// How many pods stand at each slot.
    placed: Vec<u64>,
    ways: Rows,
}

impl Filling<'_, '_> {
    /// How many more pods fit at a slot beside what stands at the slots before it.
    fn room(&self, slot: usize) -> u64 {
        let (column, zone) = self.offer.slots[slot];
        let mut room = self.case.room.takes(Place { node: self.node, zone }, &self.columns[column].request);
        let asks = self.columns[column].request.iter().enumerate().filter(|(_, ask)| **ask > 0);
        for (resource, ask) in asks {
            let (mut here, mut there) = (0_i64, 0_i64);
            for (earlier, count) in self.placed[..slot].iter().enumerate() {
                let (other, other_zone) = self.offer.slots[earlier];
                let each = self.columns[other].request.get(resource).copied().unwrap_or(0);
                let all = each.saturating_mul(i64::try_from(*count).unwrap_or(i64::MAX));
                here = here.saturating_add(all);
                there = there.saturating_add(if other_zone == zone { all } else { 0 });
            }
            let mut left = self.offer.free[resource].saturating_sub(here);
            let divided = zone.and_then(|zone| self.offer.zones[usize::from(zone)].get(resource).copied().flatten());
            if let Some(divided) = divided {
                left = left.min(divided.saturating_sub(there));
            }
            room = room.min(u64::try_from(left / ask).unwrap_or(0));
        }
        room
    }

    fn fill(&mut self, slot: usize, row: &mut Row, work: &mut Work) -> Result<(), String> {
        work.spend(1)?;
        let Some((column, _)) = self.offer.slots.get(slot).copied() else {
            return self.ways.push(row.clone(), work);
        };
        let most = self.room(slot).min(self.columns[column].cap - row[column]);
        let is_last = slot + 1 == self.offer.slots.len();
        // What the last slot could take and does not is lost on nobody.
        for count in if is_last { most } else { 0 }..=most {
            self.placed[slot] = count;
            row[column] += count;
            self.fill(slot + 1, row, work)?;
            row[column] -= count;
        }
        self.placed[slot] = 0;
        Ok(())
    }
}

/// Rows of which only those matter that no other row has at least as much of everything as.
#[derive(Default)]
pub(super) struct Rows {
    rows: Vec<Row>,
    /// How many are let in before they are looked through, so that memory follows the rows that matter.
    room: usize,
}

impl Rows {
    pub(super) fn push(&mut self, row: Row, work: &mut Work) -> Result<(), String> {
        work.spend(row.len())?;
        self.rows.push(row);
        if self.rows.len() > self.room.max(10_000) {
            self.rows = std::mem::take(self).front(work)?;
            self.room = self.rows.len() * 2;
        }
        Ok(())
    }

    /// The rows that matter.
    pub(super) fn front(self, work: &mut Work) -> Result<Vec<Row>, String> {
        let mut rows = self.rows;
        let total = |row: &Row| row.iter().fold(0_u64, |sum, count| sum.saturating_add(*count));
        rows.sort_unstable_by(|one, other| total(other).cmp(&total(one)).then_with(|| other.cmp(one)));
        rows.dedup();
        let mut kept: Vec<Row> = Vec::new();
        for row in rows {
            // A row that has more in all stands before this one.
            let covering = kept.iter().position(|other| row.iter().zip(other).all(|(own, other)| own <= other));
            work.spend(covering.map_or(kept.len(), |position| position + 1))?;
            if covering.is_none() {
                kept.push(row);
            }
        }
        Ok(kept)
    }
}
