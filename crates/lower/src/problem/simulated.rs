//! The nodes of a SimulatedCluster, one after another: there may be a million.

use super::quantity;
use k8s_openapi::api::core::v1::{Node, NodeSpec, NodeStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use trellis_api::field::{FieldError, Path};
use trellis_api::kinds::{SimulatedCluster, SimulatedLevel, SimulatedPool};
use trellis_api::names::{LABEL_VALUE_MAX, label, taint};

/// Most nodes of a SimulatedCluster.
pub const NODES_MAX: u64 = 1_000_000;

const LABEL_KEY: &str = "must be a label key: an optional prefix and '/', and 1 to 63 letters, digits, '-', '_' or '.', \
                         starting and ending with a letter or digit (e.g. 'topology.kubernetes.io/zone')";
const LABEL_VALUE: &str = "must be a label value: at most 63 letters, digits, '-', '_' or '.', starting and ending with a \
                           letter or digit";

/// The nodes of a cluster, pool by pool, or all that is wrong with it.
pub fn nodes(cluster: &SimulatedCluster) -> Result<impl Iterator<Item = Node> + '_, Vec<FieldError>> {
    Ok(nodes_by_pool(cluster)?.map(|(_, node)| node))
}

/// The nodes, each with the index of its pool.
pub(super) fn nodes_by_pool(
    cluster: &SimulatedCluster,
) -> Result<impl Iterator<Item = (usize, Node)> + '_, Vec<FieldError>> {
    let errors = faults(cluster);
    if !errors.is_empty() {
        return Err(errors);
    }
    let pools = cluster.spec.pools.iter().enumerate();
    Ok(pools.flat_map(|(i, pool)| (0..size(pool).unwrap_or(0)).map(move |host| (i, node(pool, host)))))
}

/// The number of nodes in a pool; nothing if there are too many to count, or a count is none.
fn size(pool: &SimulatedPool) -> Option<u64> {
    let hosts = u64::try_from(pool.hosts).ok()?;
    pool.levels.iter().try_fold(hosts, |size, level| size.checked_mul(u64::try_from(level.count).ok()?))
}

/// Node number `host` of a pool.
fn node(pool: &SimulatedPool, host: u64) -> Node {
    let name = format!("{}-{host}", pool.name);
    let mut labels = pool.labels.clone();
    labels.insert(label::HOSTNAME.to_owned(), name.clone());
    // From the narrowest level up: each domain holds `count` of those below it.
    let mut number = host / u64::try_from(pool.hosts).unwrap_or(1).max(1);
    for level in pool.levels.iter().rev() {
        labels.insert(level.key.clone(), format!("{}{number}", level.prefix()));
        number /= u64::try_from(level.count).unwrap_or(1).max(1);
    }
    Node {
        metadata: ObjectMeta { name: Some(name), labels: Some(labels), ..ObjectMeta::default() },
        spec: Some(NodeSpec {
            taints: Some(pool.taints.clone()).filter(|taints| !taints.is_empty()),
            ..NodeSpec::default()
        }),
        status: Some(NodeStatus { allocatable: Some(pool.resources.clone()), ..NodeStatus::default() }),
    }
}

/// All that is wrong with a cluster.
fn faults(cluster: &SimulatedCluster) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let pools = Path::new("spec.pools");
    let mut names = BTreeSet::new();
    let mut total = 0_u64;
    for (i, pool) in cluster.spec.pools.iter().enumerate() {
        let path = pools.index(i);
        pool_faults(pool, &path, &mut errors);
        if !names.insert(&pool.name) {
            errors.push(FieldError::duplicate(&path.child("name"), pool.name.as_str()));
        }
        if pool.hosts >= 0 && pool.levels.iter().all(|level| level.count > 0) {
            total = total.saturating_add(size(pool).unwrap_or(u64::MAX));
        }
    }
    if total > NODES_MAX {
        let shown = if total == u64::MAX { serde_json::Value::from("uncountable") } else { total.into() };
        errors.push(FieldError::too_many(&pools, shown, format!("must have at most {NODES_MAX} nodes in all")));
    }
    errors
}

fn pool_faults(pool: &SimulatedPool, path: &Path, errors: &mut Vec<FieldError>) {
    let name = path.child("name");
    // The host name label of the last node has to be a label value.
    let longest = size(pool).unwrap_or(NODES_MAX).saturating_sub(1).to_string().len() + 1 + pool.name.len();
    let is_dns = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if !pool.name.bytes().all(is_dns) || pool.name.is_empty() || pool.name.starts_with('-') {
        let message = "must be lower case letters, digits and '-', starting with a letter or digit (e.g. 'gb200'); \
                       nodes are called <name>-<number>";
        errors.push(FieldError::invalid(&name, pool.name.as_str(), message));
    } else if longest > LABEL_VALUE_MAX {
        let message = format!("must leave room for '-' and a number: at most {LABEL_VALUE_MAX} characters in all");
        errors.push(FieldError::invalid(&name, pool.name.as_str(), message));
    }
    if pool.hosts < 0 {
        errors.push(FieldError::invalid(&path.child("hosts"), pool.hosts, "must be 0 or more"));
    }
    let mut keys = BTreeSet::new();
    for (i, level) in pool.levels.iter().enumerate() {
        level_faults(level, &path.child("levels").index(i), errors);
        if !keys.insert(level.key.as_str()) {
            errors.push(FieldError::duplicate(&path.child("levels").index(i).child("key"), level.key.as_str()));
        }
    }
    keys.insert(label::HOSTNAME);
    for (name, text) in &pool.resources {
        let path = path.child("resources").key(name);
        if !is_label_key(name) {
            errors.push(FieldError::invalid(&path, name.as_str(), "must be the name of a resource (e.g. 'cpu')"));
        }
        if let Err(fault) = quantity::amount(name, &text.0) {
            errors.push(FieldError::invalid(&path, text.0.as_str(), fault));
        }
    }
    label_faults(&pool.labels, &keys, &path.child("labels"), errors);
    for (i, taint) in pool.taints.iter().enumerate() {
        let path = path.child("taints").index(i);
        if !is_label_key(&taint.key) {
            errors.push(FieldError::invalid(&path.child("key"), taint.key.as_str(), LABEL_KEY));
        }
        errors.extend(effect_fault(&taint.effect, &path));
    }
}

/// What is wrong with the effect of the taint at `path`, if anything.
pub(super) fn effect_fault(effect: &str, path: &Path) -> Option<FieldError> {
    const EFFECTS: [&str; 3] = [taint::NO_SCHEDULE, taint::PREFER_NO_SCHEDULE, taint::NO_EXECUTE];
    (!EFFECTS.contains(&effect)).then(|| FieldError::not_supported(&path.child("effect"), effect, &EFFECTS))
}

fn level_faults(level: &SimulatedLevel, path: &Path, errors: &mut Vec<FieldError>) {
    if !is_label_key(&level.key) {
        errors.push(FieldError::invalid(&path.child("key"), level.key.as_str(), LABEL_KEY));
    } else if level.key == label::HOSTNAME {
        let message = "is set to the name of the node; levels are wider than that";
        errors.push(FieldError::invalid(&path.child("key"), level.key.as_str(), message));
    }
    if level.count < 1 {
        errors.push(FieldError::invalid(&path.child("count"), level.count, "must be 1 or more"));
    }
    // Numbers of domains have up to seven digits.
    let longest = format!("{}{}", level.prefix(), NODES_MAX);
    if level.prefix.is_some() && !is_qualified(&longest) {
        let message = format!("a number follows, and together they {LABEL_VALUE}");
        errors.push(FieldError::invalid(&path.child("prefix"), level.prefix(), message));
    } else if level.prefix.is_none() && is_label_key(&level.key) && !is_qualified(&longest) {
        let message = "is needed: the key is too long to make label values of";
        errors.push(FieldError::required(&path.child("prefix"), message));
    }
}

fn label_faults(labels: &BTreeMap<String, String>, taken: &BTreeSet<&str>, path: &Path, errors: &mut Vec<FieldError>) {
    for (key, value) in labels {
        if !is_label_key(key) {
            errors.push(FieldError::invalid(path, key.as_str(), LABEL_KEY));
        } else if taken.contains(key.as_str()) {
            let message = "is a level of the pool or the name of the node, and may not be set";
            errors.push(FieldError::forbidden(&path.key(key), message));
        }
        if !value.is_empty() && !is_qualified(value) {
            errors.push(FieldError::invalid(&path.key(key), value.as_str(), LABEL_VALUE));
        }
    }
}

fn is_label_key(key: &str) -> bool {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    let is_dns = |part: &str| {
        let inner = part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        inner && !part.is_empty() && !part.starts_with('-') && !part.ends_with('-')
    };
    is_qualified(name) && prefix.is_none_or(|prefix| prefix.len() <= 253 && prefix.split('.').all(is_dns))
}

/// Whether `text` is a label value, and not empty.
fn is_qualified(text: &str) -> bool {
    let edge = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    bytes.len() <= LABEL_VALUE_MAX
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        && edge(bytes.first())
        && edge(bytes.last())
}
