//! Lists of amounts, each different one kept once: most pods ask for what many others ask for.

use super::requests;
use k8s_openapi::api::core::v1::Pod;
use std::collections::HashMap;
use std::sync::Arc;
use trellis_api::field::FieldError;
use trellis_api::names::resource;

/// A list of amounts, by number. The empty one is 0.
pub(super) type ListId = u32;

/// Lists of amounts by resource, in base units.
#[derive(Debug)]
pub(super) struct Amounts {
    /// Resources in the order in which they were found.
    names: HashMap<String, u32>,
    ids: HashMap<Box<[(u32, i64)]>, ListId>,
    lists: Vec<Box<[(u32, i64)]>>,
    scratch: Vec<(u32, i64)>,
    /// Lists by the text that they were read from.
    by_text: HashMap<String, ListId>,
    text: String,
}

impl Amounts {
    pub fn new() -> Self {
        Self {
            names: HashMap::from([(resource::PODS.to_owned(), 0)]),
            ids: HashMap::from([(Box::default(), 0)]),
            lists: vec![Box::default()],
            scratch: Vec::new(),
            by_text: HashMap::new(),
            text: String::new(),
        }
    }

    /// The number of what a pod is charged.
    pub fn charge(&mut self, pod: &Pod) -> Result<ListId, Vec<FieldError>> {
        let is_usual = requests::write_key(pod, &mut self.text).is_some();
        if is_usual && let Some(list) = self.by_text.get(&self.text) {
            return Ok(*list);
        }
        let list = self.intern(&requests::of(pod)?);
        if is_usual {
            self.by_text.insert(self.text.clone(), list);
        }
        Ok(list)
    }

    /// The number of a list that is sorted by resource name.
    pub fn intern(&mut self, list: &[(&str, i64)]) -> ListId {
        self.scratch.clear();
        for &(name, amount) in list {
            let id = self.name(name);
            self.scratch.push((id, amount));
        }
        self.intern_scratch()
    }

    fn name(&mut self, name: &str) -> u32 {
        let next = number(self.names.len());
        self.names.get(name).copied().unwrap_or_else(|| {
            self.names.insert(name.to_owned(), next);
            next
        })
    }

    fn intern_scratch(&mut self) -> ListId {
        if let Some(id) = self.ids.get(self.scratch.as_slice()) {
            return *id;
        }
        let (id, list): (_, Box<[_]>) = (number(self.lists.len()), self.scratch.as_slice().into());
        self.lists.push(list.clone());
        self.ids.insert(list, id);
        id
    }

    /// The number of a list with one more of each of these, which it does not have yet.
    pub fn with_one_of_each(&mut self, list: ListId, names: &[String]) -> ListId {
        self.scratch.clear();
        self.scratch.extend_from_slice(&self.lists[index(list)]);
        for name in names {
            let id = self.name(name);
            self.scratch.push((id, 1));
        }
        self.intern_scratch()
    }

    /// The first resource, by name, of which all uses of lists together come to more than `most`, and the list that has
    /// most of it, with how much.
    pub fn overflow(&self, uses: &mut dyn Iterator<Item = ListId>, most: i64) -> Option<(&str, ListId, i64)> {
        let mut counts = vec![0_i128; self.lists.len()];
        uses.for_each(|list| counts[index(list)] += 1);
        let mut totals = vec![0_i128; self.names.len()];
        for (list, count) in self.lists.iter().zip(&counts) {
            for &(name, amount) in list {
                totals[index(name)] += i128::from(amount) * count;
            }
        }
        let over = self.names.iter().filter(|(_, id)| totals[index(**id)] > i128::from(most));
        let (name, id) = over.min()?;
        let amount = |list: &[(u32, i64)]| list.iter().find(|(name, _)| name == id).map_or(0, |(_, amount)| *amount);
        let in_use = (0..self.lists.len()).filter(|list| counts[*list] > 0);
        let largest = in_use.max_by_key(|list| amount(&self.lists[*list]))?;
        Some((name, number(largest), amount(&self.lists[largest])))
    }

    /// Every list as a vector over all resources.
    pub fn vectors(self) -> Vectors {
        let mut resources: Vec<(String, u32)> = self.names.into_iter().collect();
        resources.sort();
        let mut place = vec![0; resources.len()];
        for (i, (_, id)) in resources.iter().enumerate() {
            place[index(*id)] = i;
        }
        let mut vector = vec![0; resources.len()];
        let mut vectors = Vec::with_capacity(self.lists.len());
        for list in self.lists {
            vector.fill(0);
            list.iter().for_each(|&(name, amount)| vector[place[index(name)]] = amount);
            vectors.push(Arc::from(vector.as_slice()));
        }
        Vectors { resources: resources.into_iter().map(|(name, _)| name).collect(), vectors }
    }
}

/// Every list as a vector over all resources.
#[derive(Debug)]
pub(super) struct Vectors {
    /// Names of the resources, sorted.
    pub resources: Vec<String>,
    vectors: Vec<Arc<[i64]>>,
}

impl Vectors {
    pub fn get(&self, list: ListId) -> &Arc<[i64]> {
        &self.vectors[index(list)]
    }
}

/// Lists of everything are numbered in 32 bits, to keep them small: there are never as many objects as that.
pub(super) fn number(i: usize) -> u32 {
    u32::try_from(i).expect("fewer than 2^32 objects fit into memory")
}

pub(super) fn index(number: u32) -> usize {
    usize::try_from(number).expect("a pointer has at least 32 bits")
}
