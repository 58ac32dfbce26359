//! Which event comes next: drawn by the dice from what is possible in the world as it is.

use serde_json::{Value, json};

use crate::dice::Dice;
use crate::events::{Act, Event, Kind};
use crate::life::Who;
use crate::workloads;
use crate::world::{NODES, RACK, World, first_labels, node_name};

/// How often the world is given time to come to rest, in events.
const REST_EVERY: usize = 100;
/// So many workloads fill the cluster.
const FULL: usize = 12;

/// How a node is, as far as events changed it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct NodeState {
    presence: Presence,
    is_closed: bool,
    is_relabelled: bool,
}

/// Whether a node is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Presence {
    #[default]
    There,
    /// It is silent.
    Lost,
    /// It was taken away.
    Removed,
}

/// Draws one event after the other.
#[derive(Debug)]
pub struct Draw {
    dice: Dice,
    nodes: [NodeState; NODES],
    /// How many workloads were ever made.
    made: usize,
}

/// What may happen.
#[derive(Clone, Copy, Debug)]
enum What {
    NewSet,
    NewGroup,
    NewPod,
    ScaleSet,
    ScaleClique,
    ScaleGroup,
    Update,
    DeleteSet,
    DeleteGroup,
    DeleteAlone,
    DeletePod,
    Finish,
    Fail,
    Node,
    Trouble,
    Nothing,
}

impl Draw {
    /// Draws by this seed.
    pub fn new(seed: u64) -> Self {
        Self { dice: Dice::aside(seed, 3), nodes: [NodeState::default(); NODES], made: 0 }
    }

    /// The next event.
    pub fn next(&mut self, number: usize, world: &World) -> Event {
        let (kind, act) = match number.is_multiple_of(REST_EVERY) {
            true => ("rest", Act::Settle),
            false => self.act(world).unwrap_or(("nothing", Act::Create(Vec::new()))),
        };
        let pause = match self.dice.below(10) {
            0..=2 => 0,
            3..=7 => self.dice.below(1_500),
            8 => self.dice.below(6_000),
            _ => self.dice.below(20_000),
        };
        Event { number, kind: kind.to_owned(), act, pause }
    }

    fn act(&mut self, world: &World) -> Option<(&'static str, Act)> {
        let sets = world.names(Kind::Set.shelf());
        let groups = world.names(Kind::Group.shelf());
        let alone: Vec<String> =
            world.names(Kind::Pod.shelf()).into_iter().filter(|name| name.starts_with("pod-")).collect();
        let count = sets.len() + groups.len() + alone.len() / 3;
        let (arrive, leave) = if count < FULL / 2 {
            (30, 2)
        } else if count < FULL {
            (14, 8)
        } else {
            (3, 20)
        };
        let what = self.dice.weighed(&[
            (arrive, What::NewSet),
            (arrive / 2, What::NewGroup),
            (arrive / 4, What::NewPod),
            (4, What::ScaleSet),
            (6, What::ScaleClique),
            (6, What::ScaleGroup),
            (6, What::Update),
            (leave, What::DeleteSet),
            (leave / 2 + 1, What::DeleteGroup),
            (leave / 2 + 1, What::DeleteAlone),
            (7, What::DeletePod),
            (6, What::Finish),
            (4, What::Fail),
            (18, What::Node),
            (10, What::Trouble),
            (4, What::Nothing),
        ])?;
        match what {
            What::NewSet => Some(("new set", Act::Create(vec![self.make("set", workloads::set)]))),
            What::NewGroup => Some(("new group", Act::Create(self.make("group", workloads::group)))),
            What::NewPod => Some((
                "new pod",
                Act::Create(vec![self.make("pod", |dice, name| {
                    let gpus = dice.between(1, 4);
                    workloads::pod(name, gpus)
                })]),
            )),
            What::ScaleSet => self.scale(Kind::Set, &sets, 2, "set scaled"),
            What::ScaleClique => self.scale(Kind::Clique, &world.names(Kind::Clique.shelf()), 5, "clique scaled"),
            What::ScaleGroup => {
                self.scale(Kind::ScalingGroup, &world.names(Kind::ScalingGroup.shelf()), 4, "scaling group scaled")
            }
            What::Update => self.update(world, &sets),
            What::DeleteSet => Some(("set deleted", Act::Delete(vec![Kind::Set.path(self.dice.of(&sets)?)]))),
            What::DeleteGroup => {
                // Nobody collects the pods of a group.
                let group = self.dice.of(&groups)?;
                let mut paths = vec![Kind::Group.path(group)];
                let pods =
                    world.names(Kind::Pod.shelf()).into_iter().filter(|pod| pod.starts_with(&format!("{group}-")));
                paths.extend(pods.map(|pod| Kind::Pod.path(&pod)));
                Some(("group deleted", Act::Delete(paths)))
            }
            What::DeleteAlone => Some(("lone pod deleted", Act::Delete(vec![Kind::Pod.path(self.dice.of(&alone)?)]))),
            What::DeletePod => {
                let pods = world.names(Kind::Pod.shelf());
                Some(("pod deleted", Act::Delete(vec![Kind::Pod.path(self.dice.of(&pods)?)])))
            }
            What::Finish => {
                Some(("member finished", Act::Finish(self.dice.of(&world.names(Kind::Pod.shelf()))?.clone(), 0)))
            }
            What::Fail => {
                Some(("member failed", Act::Finish(self.dice.of(&world.names(Kind::Pod.shelf()))?.clone(), 1)))
            }
            What::Node => self.node(),
            What::Trouble => Some(self.trouble()),
            What::Nothing => None,
        }
    }

    fn make<T>(&mut self, what: &str, make: impl FnOnce(&mut Dice, &str) -> T) -> T {
        self.made += 1;
        make(&mut self.dice, &format!("{what}-{}", self.made))
    }

    fn scale(&mut self, kind: Kind, names: &[String], most: u64, what: &'static str) -> Option<(&'static str, Act)> {
        let name = self.dice.of(names)?;
        let replicas = self.dice.between(u64::from(kind != Kind::Set), most);
        Some((what, Act::Patch(format!("{}/scale", kind.path(name)), json!({ "spec": { "replicas": replicas } }))))
    }

    /// A new image for a clique of a set, which starts a rolling update.
    fn update(&mut self, world: &World, sets: &[String]) -> Option<(&'static str, Act)> {
        let name = self.dice.of(sets)?;
        let key = trellis_cluster::store::Key { namespace: crate::world::NAMESPACE.to_owned(), name: name.clone() };
        let set = world.api.store().get(&Kind::Set.shelf().into(), &key)?;
        let set: Value = serde_json::from_slice(&set.text).ok()?;
        let mut cliques = set["spec"]["template"]["cliques"].as_array()?.clone();
        let count = u64::try_from(cliques.len()).ok()?;
        let clique = cliques.get_mut(usize::try_from(self.dice.below(count)).ok()?)?;
        clique["spec"]["podSpec"]["containers"][0]["image"] = format!("app:{}", self.dice.between(1, 9)).into();
        Some((
            "rolling update",
            Act::Patch(Kind::Set.path(name), json!({ "spec": { "template": { "cliques": cliques } } })),
        ))
    }

    fn node(&mut self) -> Option<(&'static str, Act)> {
        let number = usize::try_from(self.dice.below(u64::try_from(NODES).ok()?)).ok()?;
        let choice = self.dice.below(10);
        // Most that is wrong with a node is put right when the node is hit again, so that the cluster never empties.
        let state = &mut self.nodes[number];
        let path = Kind::Node.path(&node_name(number));
        match state.presence {
            Presence::There => {}
            Presence::Removed => {
                *state = NodeState::default();
                return Some(("node put back", Act::Add(number)));
            }
            Presence::Lost => {
                state.presence = Presence::There;
                return Some(("node returns", Act::Restore(number)));
            }
        }
        match choice {
            0..=2 => {
                state.presence = Presence::Lost;
                Some(("node lost", Act::Lose(number)))
            }
            3 => {
                state.presence = Presence::Removed;
                Some(("node removed", Act::Remove(number)))
            }
            4..=6 => {
                state.is_closed = !state.is_closed;
                let what = if state.is_closed { "node cordoned" } else { "node uncordoned" };
                Some((what, Act::Patch(path, json!({ "spec": { "unschedulable": state.is_closed } }))))
            }
            7 | 8 if state.is_relabelled => {
                state.is_relabelled = false;
                Some(("labels put right", Act::Patch(path, json!({ "metadata": { "labels": first_labels(number) } }))))
            }
            7 | 8 => {
                state.is_relabelled = true;
                let rack = self.dice.below(4);
                let labels = json!({ "metadata": { "labels": { RACK: format!("rack-{rack}") } } });
                Some(("labels changed", Act::Patch(path, labels)))
            }
            _ => None,
        }
    }

    fn trouble(&mut self) -> (&'static str, Act) {
        let who = if self.dice.once_in(2) { Who::Operator } else { Who::Scheduler };
        match self.dice.below(8) {
            0 | 1 => ("watches cut", Act::CutWatches(who)),
            2 => ("outage", Act::Outage(who, self.dice.between(1, 30))),
            _ if who == Who::Operator => ("operator crash", Act::Crash(who, self.dice.once_in(2))),
            _ => ("scheduler crash", Act::Crash(who, self.dice.once_in(2))),
        }
    }
}
