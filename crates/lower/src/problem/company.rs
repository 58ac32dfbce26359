//! Which pods may share a domain with which: required affinity and anti-affinity between pods.
//!
//! Pods are sorted into classes by whom they speak of and who could speak of them. What is placed closes nodes to a class, in both
//! directions ([`census`]). What is not placed yet is the harder half: pods of one gang, and gangs of one decision. One pod per host among
//! pods that all ask for it is a resource that hosts have once ([`tokens`]); the first of a group that wants to be near itself makes a
//! required level of its group; everything else within a gang is refused in words ([`within`]). Gangs that speak of each other are told as
//! [`Ties`](super::Ties), so that not both are placed by one decision.

pub(super) mod census;
mod terms;
pub(super) mod within;

use super::amounts::{Amounts, index, number};
use super::pods::{Facts, Pods, State};
use super::tokens;
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use terms::Term;
use trellis_api::names::label;

/// A term, by number.
type TermId = usize;

/// All terms that pods name, and all classes of pods.
#[derive(Debug, Default)]
pub(super) struct Company<'a> {
    terms: Vec<Term<'a>>,
    /// Whether a term is a resource: one per host among pods that it means and that have it themselves.
    is_token: Vec<bool>,
    /// Different lists of terms that pods want to be near to, all at once.
    nears: Vec<Vec<TermId>>,
    /// The first is that of pods which have nothing to do with any other.
    classes: Vec<Class>,
    /// The class of each pod.
    of_pod: Vec<u32>,
}

/// Pods that say the same of others, and of whom others say the same.
#[derive(Debug, Default)]
pub(super) struct Class {
    /// Whom they keep apart from, in the order of the field.
    apart: Vec<TermId>,
    /// Whom they must be near, as a list.
    near: Option<usize>,
    /// Terms that mean them.
    meant: Vec<TermId>,
    /// Lists all of whose terms mean them.
    sought: Vec<usize>,
    /// What they say that cannot be judged, in words.
    trouble: Option<String>,
}

impl Class {
    fn is_meant(&self, term: TermId) -> bool {
        self.meant.binary_search(&term).is_ok()
    }

    /// Whether they are among those of whom a host takes one.
    fn is_alone(&self, term: TermId) -> bool {
        self.apart.contains(&term) && self.is_meant(term)
    }
}

/// What one pod says.
#[derive(Default)]
struct Said {
    apart: Vec<TermId>,
    near: Vec<TermId>,
    trouble: Option<String>,
}

impl<'a> Company<'a> {
    /// Reads what pods say of each other. `moves` tells of pods with a place whether they may still get another.
    pub fn read(pods: &Pods<'a>, moves: impl Fn(&Facts<'_>) -> bool) -> Self {
        let mut company = Self::default();
        let mut ids: HashMap<Term<'a>, TermId> = HashMap::new();
        let said: HashMap<usize, Said> = (0..pods.list.len())
            .filter(|at| takes_part(&pods.list[*at]))
            .filter_map(|at| Some((at, company.said(&pods.list[at], &mut ids)?)))
            .collect();
        if said.is_empty() {
            return company;
        }
        company.sort(pods, &said);
        company.is_token = vec![false; company.terms.len()];
        for (at, pod) in pods.list.iter().enumerate() {
            let class = &company.classes[index(company.of_pod[at])];
            for &term in &class.apart {
                let is_open = pod.state == State::Waiting || moves(pod);
                if is_open && class.is_meant(term) && company.terms[term].key == label::HOSTNAME {
                    company.is_token[term] = true;
                }
            }
        }
        company
    }

    fn said(&mut self, pod: &Facts<'a>, ids: &mut HashMap<Term<'a>, TermId>) -> Option<Said> {
        let mut said = Said::default();
        for is_apart in [true, false] {
            for (i, term) in terms::required(pod.spec(), is_apart).iter().enumerate() {
                let (term, trouble) = Term::read(term, pod.namespace, pod.pod.metadata.labels.as_ref());
                let next = self.terms.len();
                let id = *ids.entry(term).or_insert_with_key(|term| {
                    self.terms.push(term.clone());
                    next
                });
                let list = if is_apart { &mut said.apart } else { &mut said.near };
                list.push(id);
                if said.trouble.is_none() {
                    said.trouble = trouble.map(|which| trouble_in_words(&terms::field(is_apart, i), which));
                }
            }
        }
        (!said.apart.is_empty() || !said.near.is_empty()).then_some(said)
    }

    /// Sorts all pods into classes.
    fn sort(&mut self, pods: &Pods<'_>, said: &HashMap<usize, Said>) {
        let keys: BTreeSet<&str> = self.terms.iter().flat_map(Term::asks_about).collect();
        let mut ids: HashMap<String, u32> = HashMap::new();
        let mut lists: HashMap<&[TermId], usize> = HashMap::new();
        let mut near_of: HashMap<usize, usize> = HashMap::new();
        let mut speakers: Vec<(&usize, &Said)> = said.iter().filter(|(_, said)| !said.near.is_empty()).collect();
        speakers.sort_unstable_by_key(|(at, _)| **at);
        for (at, said) in speakers {
            let next = lists.len();
            near_of.insert(*at, *lists.entry(said.near.as_slice()).or_insert(next));
        }
        self.nears = vec![Vec::new(); lists.len()];
        lists.into_iter().for_each(|(list, id)| self.nears[id] = list.to_vec());
        self.classes.push(Class::default());
        self.of_pod = vec![0; pods.list.len()];
        let (nobody, mut key) = (Said::default(), String::new());
        for (at, pod) in pods.list.iter().enumerate().filter(|(_, pod)| takes_part(pod)) {
            let said = said.get(&at).unwrap_or(&nobody);
            key.clear();
            let _ = write!(key, "{:?}{:?}{:?}{:?}", said.apart, near_of.get(&at), said.trouble, pod.namespace);
            for label in &keys {
                let value = pod.pod.metadata.labels.as_ref().and_then(|labels| labels.get(*label));
                let _ = write!(key, "{value:?}");
            }
            if let Some(class) = ids.get(&key) {
                self.of_pod[at] = *class;
                continue;
            }
            let class = self.classify(pod, said, near_of.get(&at).copied());
            let is_idle = class.apart.is_empty() && class.near.is_none() && class.meant.is_empty();
            let id = if is_idle { 0 } else { number(self.classes.len()) };
            if !is_idle {
                self.classes.push(class);
            }
            ids.insert(key.clone(), id);
            self.of_pod[at] = id;
        }
    }

    fn classify(&self, pod: &Facts<'_>, said: &Said, near: Option<usize>) -> Class {
        let means = |term: &TermId| self.terms[*term].means(pod.namespace, pod.pod.metadata.labels.as_ref());
        let meant: Vec<TermId> = (0..self.terms.len()).filter(means).collect();
        let sought =
            (0..self.nears.len()).filter(|list| self.nears[*list].iter().all(|it| meant.binary_search(it).is_ok()));
        Class { apart: said.apart.clone(), near, sought: sought.collect(), meant, trouble: said.trouble.clone() }
    }

    /// Whether pods of one class, which wait, must not be placed without regard to pods of another that do: the first keep apart from the
    /// second and no token counts both, or they could go anywhere only because none of the second is anywhere.
    pub fn excludes(&self, one: u32, other: u32, census: &census::Census) -> bool {
        let (one, other) = (&self.classes[index(one)], &self.classes[index(other)]);
        let is_counted = |term: TermId| self.is_token[term] && one.is_meant(term) && other.is_alone(term);
        let is_apart = |term: &TermId| other.is_meant(*term) && !is_counted(*term);
        let seeks = |list: usize| census.near_in_all[list] == 0 && other.sought.binary_search(&list).is_ok();
        one.apart.iter().any(is_apart) || one.near.is_some_and(seeks)
    }

    /// How many classes there are.
    pub fn count(&self) -> usize {
        self.classes.len()
    }

    /// The class of a pod; 0 if it has nothing to do with others.
    pub fn class(&self, pod: u32) -> u32 {
        self.of_pod.get(index(pod)).copied().unwrap_or(0)
    }

    /// Labels of nodes whose values are domains.
    pub fn keys(&self) -> impl Iterator<Item = &'a str> {
        self.terms.iter().map(|term| term.key)
    }

    /// Charges pods that must be alone on their host.
    pub fn charge(&self, pods: &mut Pods<'_>, amounts: &mut Amounts) {
        let names = |class: &Class| -> Vec<String> {
            let alone = class.apart.iter().filter(|term| self.is_token[**term] && class.is_alone(**term));
            let names: BTreeSet<String> = alone.map(|term| tokens::alone(&self.terms[*term].words())).collect();
            names.into_iter().collect()
        };
        let names: Vec<Vec<String>> = self.classes.iter().map(names).collect();
        let taken = self.of_pod.iter().enumerate().map(|(at, class)| (at, names[index(*class)].clone()));
        tokens::charge(pods, amounts, taken.filter(|(_, names)| !names.is_empty()));
    }
}

/// Whether a pod is somewhere, or could be.
fn takes_part(pod: &Facts<'_>) -> bool {
    matches!(pod.state, State::Waiting | State::Bound(_) | State::Leaving(_))
}

fn trouble_in_words(field: &str, which: &str) -> String {
    match which {
        "namespaceSelector" => format!(
            "selects namespaces by their labels ({field}.{which}); of namespaces only the label \
             kubernetes.io/metadata.name is looked at"
        ),
        _ => format!("selects pods in a way that cannot be read ({field}.{which})"),
    }
}
