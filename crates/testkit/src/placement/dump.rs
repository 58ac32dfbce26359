//! A problem as text for people: a line for each node, group and kind of pods.

use super::{Problem, facts};
use std::fmt::{Display, Formatter, Result};
use trellis_engine::{Cluster, Constraint, Gang, GroupId, Hold, Members, Place, Pod};

impl Display for Problem {
    fn fmt(&self, f: &mut Formatter) -> Result {
        let Cluster { resources, topologies, nodes, eligibility, .. } = &self.cluster;
        writeln!(f, "resources: {}", resources.join(" "))?;
        for topology in topologies {
            let levels: Vec<String> = topology.levels.iter().map(|level| level.name.clone()).collect();
            writeln!(f, "topology {}: {}", topology.name, levels.join(" > "))?;
        }
        for (node, free) in nodes.iter().zip(facts::free(&self.cluster, &self.gangs, None)) {
            let paths: Vec<String> = node.paths.iter().map(|path| path.join("/")).collect();
            write!(f, "node {} ({}) {:?} free {free:?}", node.name, paths.join(", "), node.allocatable)?;
            for zone in &node.zones {
                write!(f, " zone {} {:?}", zone.name, zone.available)?;
            }
            writeln!(f)?;
        }
        for (n, kind) in eligibility.iter().enumerate() {
            let barred: Vec<usize> = kind.barred.ones().collect();
            writeln!(f, "eligibility {n}: {:?} barred {barred:?}", kind.allowed.ones().collect::<Vec<_>>())?;
        }
        self.gangs.iter().try_for_each(|gang| self.gang(f, gang))
    }
}

impl Problem {
    fn gang(&self, f: &mut Formatter, gang: &Gang) -> Result {
        let Gang { id, priority, created, .. } = gang;
        write!(f, "gang {}/{} priority {priority} created {created}", id.namespace, id.name)?;
        if let Some(base) = &gang.base {
            write!(f, " base {}", base.name)?;
        }
        if gang.reserve {
            write!(f, " reserves")?;
        }
        if let Some(unready) = &gang.unready {
            write!(f, " {unready:?}")?;
        }
        writeln!(f)?;
        for (group, it) in gang.groups.iter().enumerate() {
            let indent = "  ".repeat(gang.ancestry(group).count());
            write!(f, "{indent}{} ({group}) ", it.name)?;
            match it.members {
                Members::Groups { min } => write!(f, "min {min} of {} groups", gang.children(group).count())?,
                Members::Pods { min } => write!(f, "min {min} of {} pods", gang.pods_of(group).count())?,
            }
            if let Some(constraint) = it.constraint {
                write!(f, ", {}", self.constraint(constraint))?;
            }
            writeln!(f)?;
            self.pods(f, gang, group, &indent)?;
        }
        Ok(())
    }

    fn constraint(&self, Constraint { topology, required, preferred }: Constraint) -> String {
        let topology = &self.cluster.topologies[topology];
        let mut text = topology.name.clone();
        for (word, level) in [("required", required), ("preferred", preferred)] {
            if let Some(level) = level {
                text.extend([" ", word, " ", &topology.levels[level].name]);
            }
        }
        text
    }

    fn pods(&self, f: &mut Formatter, gang: &Gang, leaf: GroupId, indent: &str) -> Result {
        let pods: Vec<&Pod> = gang.pods_of(leaf).map(|(_, pod)| pod).collect();
        let alike = |a: &&Pod, b: &&Pod| (&a.request, a.eligibility, a.bound) == (&b.request, b.eligibility, b.bound);
        for pods in pods.chunk_by(alike) {
            let Pod { request, eligibility, bound, .. } = pods[0];
            write!(f, "{indent}  {} x {request:?} eligibility {eligibility}", pods.len())?;
            if let Some(Place { node, zone }) = bound {
                write!(f, " bound to {}", self.cluster.nodes[*node as usize].name)?;
                zone.iter().try_for_each(|zone| write!(f, " zone {zone}"))?;
            }
            writeln!(f)?;
        }
        for Hold { request, place, .. } in gang.holds.iter().filter(|hold| hold.group == leaf) {
            write!(f, "{indent}  held {request:?} at {}", self.cluster.nodes[place.node as usize].name)?;
            place.zone.iter().try_for_each(|zone| write!(f, " zone {zone}"))?;
            writeln!(f)?;
        }
        Ok(())
    }
}
