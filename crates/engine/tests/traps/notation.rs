//! Clusters and gangs in a few words, so that a test shows what it is about.
//!
//! A cluster:
//! ```text
//! topology t: zone rack host          levels, widest first; a level called numa is one of zones inside nodes
//! z1/r1/*: a1..a4 gpu=8 cpu=4         path: nodes and what each has; * is the node's name, - is no label at all
//! z1/r2/*, x1: b1 gpu=8 numa(gpu=4) numa(gpu=4)      paths in two topologies; zones inside the node
//! occupant a1 gpu=4                   a pod of no gang
//! liked a1..a3 50                     how much pods like these nodes; others not at all
//! ```
//! Gangs, a group per line, groups below the root with a dash for each depth:
//! ```text
//! gang required=zone min=1 base=other priority=5      the root; min counts children, and is all of them if not given
//! - leader: 1 x cpu=1                                 a leaf; min counts pods, and is all of them if not given
//! - workers
//! -- worker preferred=t/rack min=2: 3 x gpu=8 + 1 x gpu=8 @a1
//! -- other: 2 x gpu=8 + 1 x gpu=8 ~a2              two that wait, and the place of one that is gone
//! ```

use fixedbitset::FixedBitSet;
use std::collections::BTreeSet;
use std::sync::Arc;
use trellis_engine::{
    Cluster, Constraint, Eligibility, Gang, GangName, Group, GroupId, Hold, Level, Members, Node, Occupant, Place, Pod,
    Topology, Zone,
};
use trellis_testkit::placement::Problem;

pub fn problem(cluster: &str, gangs: &str) -> Problem {
    let mut problem = Problem { cluster: self::cluster(cluster, gangs), gangs: Vec::new() };
    for line in lines(gangs) {
        let depth = line.chars().take_while(|c| *c == '-').count();
        let (head, pods) = line.split_once(':').map_or((line, None), |(head, pods)| (head, Some(pods)));
        let mut words = head[depth..].split_whitespace();
        let name = words.next().expect("a group has a name").to_owned();
        if depth == 0 {
            let id = GangName { namespace: "default".to_owned(), name: name.clone() };
            problem.gangs.push(Gang { id, ..Gang::default() });
        }
        let Problem { cluster, gangs } = &mut problem;
        let gang = gangs.last_mut().expect("the first line is a root's");
        let at_depth = |group: &GroupId| gang.ancestry(*group).count() == depth;
        let parent = (0..gang.groups.len()).rev().find(at_depth);
        let mut group = Group { name, parent, ..Group::default() };
        group.members = Members::Groups { min: usize::MAX };
        if let Some(pods) = pods {
            let (held, pods): (Vec<&str>, Vec<&str>) = pods.split(" + ").partition(|it| it.contains('~'));
            for (request, place) in held.iter().flat_map(|it| some_pods(cluster, &it.replace('~', "@"))) {
                gang.holds.extend(place.map(|place| Hold { group: gang.groups.len(), place, request }));
            }
            let pods = pods.into_iter().flat_map(|it| some_pods(cluster, it));
            for (n, (request, bound)) in pods.enumerate() {
                let name = format!("{}-{}-{n}", gang.id.name, group.name);
                gang.pods.push(Pod { name, group: gang.groups.len(), request, eligibility: 0, bound });
            }
            group.members = Members::Pods { min: gang.pods_of(gang.groups.len()).count() };
        }
        for word in words {
            setting(cluster, gang, &mut group, word);
        }
        gang.groups.push(group);
    }
    for gang in &mut problem.gangs {
        for group in 0..gang.groups.len() {
            let children = gang.children(group).count();
            if let Members::Groups { min } = &mut gang.groups[group].members {
                *min = children.min(*min);
            }
        }
    }
    problem
}

fn setting(cluster: &Cluster, gang: &mut Gang, group: &mut Group, word: &str) {
    let (key, value) = word.split_once('=').expect("key=value");
    match key {
        "min" => match &mut group.members {
            Members::Groups { min } | Members::Pods { min } => *min = value.parse().expect("a number"),
        },
        "base" => gang.base = Some(GangName { namespace: "default".to_owned(), name: value.to_owned() }),
        "reserve" => gang.reserve = value == "true",
        "priority" => gang.priority = value.parse().expect("a number"),
        "required" | "preferred" => {
            let (topology, level) = find_level(cluster, value);
            let constraint = group.constraint.get_or_insert_default();
            constraint.topology = topology;
            *(if key == "required" { &mut constraint.required } else { &mut constraint.preferred }) = Some(level);
        }
        _ => panic!("no such setting: {word}"),
    }
    debug_assert!(group.constraint != Some(Constraint::default()));
}

/// A level by name, with or without its topology's.
pub fn find_level(cluster: &Cluster, text: &str) -> (usize, usize) {
    let (topology, level) = text.split_once('/').map_or((None, text), |(topology, level)| (Some(topology), level));
    let right = |it: &&(usize, &Topology)| topology.is_none_or(|name| it.1.name == name);
    let (topology, it) =
        *cluster.topologies.iter().enumerate().collect::<Vec<_>>().iter().find(right).expect("topology");
    (topology, it.levels.iter().position(|it| it.name == level).expect("a level of the topology"))
}

/// `2 x gpu=8,cpu=1 @a1.0`
fn some_pods(cluster: &Cluster, text: &str) -> Vec<(Arc<[i64]>, Option<Place>)> {
    let (what, place) = text.split_once('@').map_or((text, None), |(what, place)| (what, Some(place.trim())));
    let (count, request) = what.split_once(" x ").expect("a number of pods, and what each asks for");
    let bound = place.map(|place| {
        let (node, zone) = place.split_once('.').map_or((place, None), |(node, zone)| (node, Some(zone)));
        Place { node: node_of(cluster, node), zone: zone.map(|zone| zone.parse().expect("a zone's number")) }
    });
    let request: Arc<[i64]> = amounts(cluster, request, 1).into();
    vec![(request, bound); count.trim().parse().expect("a number of pods")]
}

fn cluster(text: &str, gangs: &str) -> Cluster {
    let mut cluster = Cluster::default();
    // Whatever is asked for or offered.
    let words = text.split([' ', '\n', '(', ')', ',']).chain(gangs.split([' ', '\n', ',']));
    let settings = ["min", "base", "priority", "reserve", "required", "preferred"];
    let names = words.filter_map(|word| Some(word.split_once('=')?.0)).filter(|name| !settings.contains(name));
    cluster.resources = names.chain(["pods"]).collect::<BTreeSet<_>>().into_iter().map(str::to_owned).collect();
    for line in lines(text) {
        if let Some(topology) = line.strip_prefix("topology ") {
            let (name, levels) = topology.split_once(':').expect("a topology has levels");
            let level = |level: &str| Level {
                name: level.to_owned(),
                key: format!("{name}/{level}"),
                is_zone: level == "numa",
            };
            let levels = levels.split_whitespace().map(level).collect();
            cluster.topologies.push(Topology { name: name.to_owned(), levels });
        } else if let Some((paths, nodes)) = line.split_once(':') {
            add_nodes(&mut cluster, paths, nodes);
        }
    }
    cluster.nodes.sort_by(|a, b| a.name.cmp(&b.name));
    for occupant in lines(text).filter_map(|line| line.strip_prefix("occupant ")) {
        let (node, request) = occupant.split_once(' ').expect("a node, and what is taken");
        let (node, request) = (node_of(&cluster, node), amounts(&cluster, request, 1).into());
        let (namespace, name) = ("system".to_owned(), format!("occupant-{}", cluster.occupants.len()));
        cluster.occupants.push(Occupant { namespace, name, node, request });
    }
    let mut weights: Vec<u32> = Vec::new();
    for (nodes, weight) in lines(text).filter_map(|line| line.strip_prefix("liked ")?.split_once(' ')) {
        weights.resize(cluster.nodes.len(), 0);
        for node in range(nodes) {
            weights[node_of(&cluster, &node) as usize] = weight.trim().parse().expect("a number");
        }
    }
    let mut anywhere = Eligibility {
        weights,
        allowed: FixedBitSet::with_capacity(cluster.nodes.len()),
        barred: FixedBitSet::with_capacity(cluster.nodes.len()),
    };
    anywhere.allowed.insert_range(..);
    cluster.eligibility.push(anywhere);
    cluster
}

fn add_nodes(cluster: &mut Cluster, paths: &str, nodes: &str) {
    let (names, has): (Vec<&str>, Vec<&str>) = nodes.split_whitespace().partition(|word| !word.contains('='));
    let (zones, has): (Vec<&str>, Vec<&str>) = has.into_iter().partition(|word| word.starts_with("numa("));
    let available = |zone: &&str| {
        let zone = zone.trim_start_matches("numa(").trim_end_matches(')');
        let divided = |name: &String| zone.split(',').any(|it| it.split_once('=').is_some_and(|it| it.0 == name));
        let amounts = amounts(cluster, zone, 0).into_iter().zip(&cluster.resources);
        amounts.map(|(amount, name)| divided(name).then_some(amount)).collect()
    };
    let zones = (0..).zip(&zones).map(|(n, zone)| Zone { name: format!("numa-{n}"), available: available(zone) });
    let zones: Vec<Zone> = zones.collect();
    let allocatable = amounts(cluster, &has.join(","), 100);
    for name in names.into_iter().flat_map(range) {
        let path = |path: &str| {
            let values = path.trim().split('/').filter(|value| *value != "-");
            values.map(|value| if value == "*" { name.clone() } else { value.to_owned() }).collect()
        };
        let paths = paths.split(',').map(path).collect();
        let (allocatable, zones) = (allocatable.clone(), zones.clone());
        cluster.nodes.push(Node { name, allocatable, paths, zones });
    }
}

/// `a1..a3` is `a1`, `a2`, `a3`.
fn range(names: &str) -> Vec<String> {
    let Some((first, last)) = names.split_once("..") else { return vec![names.to_owned()] };
    let split = |name: &str| {
        let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
        (name[..name.len() - digits.len()].to_owned(), digits.parse::<u32>().expect("a name with a number"))
    };
    let (stem, from) = split(first);
    (from..=split(last).1).map(|n| format!("{stem}{n}")).collect()
}

/// `gpu=8,cpu=4` as a vector.
fn amounts(cluster: &Cluster, text: &str, pods: i64) -> Vec<i64> {
    let mut amounts = vec![0; cluster.resources.len()];
    let mut set = |name: &str, amount| {
        amounts[cluster.resources.iter().position(|it| it == name).expect("a resource")] = amount;
    };
    set("pods", pods);
    for (name, amount) in text.split([',', ' ']).filter_map(|it| it.split_once('=')) {
        set(name, amount.parse().expect("an amount"));
    }
    amounts
}

fn node_of(cluster: &Cluster, name: &str) -> u32 {
    (0..).zip(&cluster.nodes).find(|(_, node)| node.name == name).expect("a node").0
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty())
}
