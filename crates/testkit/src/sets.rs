//! PodCliqueSets and ClusterTopologies as users write them, for property tests.
//!
//! Everything here is JSON and knows nothing of our own types: what the types cannot express must reach the code under
//! test as well.

use proptest::collection::{btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Map, Value, json};

/// The seven domains, widest first.
pub const DOMAINS: [&str; 7] = ["region", "zone", "datacenter", "block", "rack", "host", "numa"];
/// Name of the topology of sets that name none.
pub const DEFAULT_TOPOLOGY: &str = "grove-topology";
/// Longest `set + group + clique`.
const COMBINED_NAME_MAX: usize = 45;
/// Names that provoke collisions: `a-0-b` is a clique beside a group `a` with a clique `b`, and so on.
const TRICKY: [&str; 16] =
    ["a", "b", "a-0", "a-0-b", "0-b", "a-1", "0", "a-0-0", "10", "a-10-b", "b-0", "0-0", "a-b", "x-b", "1-a", "a--0"];
/// Variables in pods: the operator's own, those of its init container, and the user's.
const VARIABLES: [&str; 10] = [
    "A",
    "MODEL",
    "GROVE_PCS_NAME",
    "GROVE_PCLQ_NAME",
    "GROVE_HEADLESS_SERVICE",
    "GROVE_PCLQ_POD_INDEX",
    "GROVE_PCSG_INDEX",
    "GROVE_PCSG_TEMPLATE_NUM_PODS",
    "TRELLIS_PODGANG",
    "grove_pcs_name",
];

/// A set as a user writes it, and the topology that its constraints speak of.
#[derive(Clone)]
pub struct Case {
    /// The PodCliqueSet.
    pub set: Value,
    /// The ClusterTopology.
    pub topology: Value,
}

/// As JSON, so that a failing case can be fed to the binary.
impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#}\n{:#}", self.set, self.topology)
    }
}

/// Names of the set, of up to six cliques and of up to three groups.
#[derive(Clone, Debug)]
struct Names {
    set: String,
    cliques: Vec<String>,
    groups: Vec<String>,
}

fn names() -> impl Strategy<Value = Names> {
    let word = "[a-z0-9]([a-z0-9-]{0,6}[a-z0-9])?";
    let words = |most: usize| btree_set(word, most).prop_map(|set| set.into_iter().collect()).prop_shuffle();
    let tricky = |most: usize| subsequence(TRICKY.map(str::to_owned).to_vec(), most).prop_shuffle();
    let plain = (word, words(6), words(3));
    let colliding = (select(vec!["a", "a-0", "s", "7b"]).prop_map(str::to_owned), tricky(6), tricky(3));
    prop_oneof![3 => plain, 1 => colliding].prop_map(|(set, cliques, groups)| Names { set, cliques, groups })
}

/// Which name is made longer, and up to which length of all three together.
#[derive(Clone, Copy, Debug)]
enum Stretch {
    No,
    Set(usize),
    Clique(usize),
    Group(usize),
}

fn stretch() -> impl Strategy<Value = Stretch> {
    let to = || prop_oneof![4 => Just(COMBINED_NAME_MAX), 1 => Just(COMBINED_NAME_MAX + 1), 1 => 20_usize..70];
    prop_oneof![
        4 => Just(Stretch::No),
        1 => to().prop_map(Stretch::Set),
        1 => to().prop_map(Stretch::Clique),
        1 => to().prop_map(Stretch::Group),
    ]
}

/// Appends to one name until the longest `set + group + clique` has the wanted length.
fn stretched(mut names: Names, group_of: &[Option<usize>], stretch: Stretch) -> Names {
    let length = |names: &Names, i: usize| {
        let group = group_of[i].map_or(0, |g| names.groups[g].len());
        names.set.len() + group + names.cliques[i].len()
    };
    let longest = (0..group_of.len()).max_by_key(|&i| length(&names, i)).unwrap_or(0);
    let pad = |to: usize| "x".repeat(to.saturating_sub(length(&names, longest)));
    match stretch {
        Stretch::No => {}
        Stretch::Set(to) => names.set = format!("{}{}", names.set, pad(to)),
        Stretch::Clique(to) => names.cliques[longest] = format!("{}{}", names.cliques[longest], pad(to)),
        Stretch::Group(to) => {
            if let Some(g) = group_of[longest] {
                names.groups[g] = format!("{}{}", names.groups[g], pad(to));
            }
        }
    }
    names
}

/// Replicas, minimum and autoscaling of a clique or a group.
#[derive(Clone, Debug)]
struct Counts {
    replicas: Option<i32>,
    /// Clamped to the replicas, unless it is meant to be wrong.
    min_available: Option<i32>,
    wrong: bool,
    scaling: Option<(Option<i32>, i32, bool)>,
}

fn counts() -> impl Strategy<Value = Counts> {
    let replicas = prop_oneof![3 => Just(None), 1 => Just(Some(0)), 8 => (1..=4_i32).prop_map(Some)];
    let scaling = option::weighted(0.2, (option::of(0..3_i32), 0..4_i32, any::<bool>()));
    (replicas, option::of(1..=4_i32), prop::bool::weighted(0.01), scaling)
        .prop_map(|(replicas, min_available, wrong, scaling)| Counts { replicas, min_available, wrong, scaling })
}

impl Counts {
    /// Writes the counts into a clique's spec or a group, with the autoscaling under `scaling`, if it may have any.
    fn write(&self, into: &mut Value, scaling: Option<&str>) {
        let replicas = self.replicas.filter(|&n| n > 0).unwrap_or(1);
        let min = self.min_available.map(|min| if self.wrong { min } else { min.min(replicas) });
        set(into, "replicas", self.replicas);
        set(into, "minAvailable", min);
        if let (Some(field), Some((least, more, with_metric))) = (scaling, self.scaling) {
            let mut config = json!({ "maxReplicas": replicas + more });
            set(&mut config, "minReplicas", least.map(|least| (min.unwrap_or(replicas) + least).min(replicas + more)));
            if with_metric {
                let target = json!({ "type": "Utilization", "averageUtilization": 80 });
                config["metrics"] = json!([{ "type": "Resource", "resource": { "name": "cpu", "target": target } }]);
            }
            into[field] = config;
        }
    }
}

/// Writes a field, if there is something to write.
fn set(into: &mut Value, field: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        into[field] = value.into();
    }
}

/// What a constraint asks for, as picks among the levels that its parents leave.
#[derive(Clone, Copy, Debug)]
struct Constraint {
    required: Option<u8>,
    preferred: Option<u8>,
    old_spelling: bool,
    with_name: bool,
    /// Any of the seven domains, whatever parents and topology say.
    wild: bool,
}

fn constraint(likely: f64) -> impl Strategy<Value = Option<Constraint>> {
    let picks = prop_oneof![
        3 => any::<u8>().prop_map(|a| (Some(a), None)),
        1 => any::<u8>().prop_map(|b| (None, Some(b))),
        2 => (any::<u8>(), any::<u8>()).prop_map(|(a, b)| (Some(a), Some(b))),
    ];
    let constraint = (picks, any::<bool>(), prop::bool::weighted(0.3), prop::bool::weighted(0.02)).prop_map(
        |((required, preferred), old_spelling, with_name, wild)| Constraint {
            required,
            preferred,
            old_spelling,
            with_name,
            wild,
        },
    );
    option::weighted(likely, constraint)
}

/// The levels that a place may ask for: those from these positions on.
#[derive(Clone, Copy, Default)]
struct Bounds {
    required: usize,
    preferred: usize,
}

impl Constraint {
    fn write(self, into: &mut Value, levels: &[&str], above: Bounds, name: &str) -> Bounds {
        let mut below = above;
        let domain = |pick: Option<u8>, from: &mut usize| {
            let pick = usize::from(pick?);
            if self.wild {
                return Some(DOMAINS[pick % DOMAINS.len()]);
            }
            *from += pick % (levels.len() - *from);
            Some(levels[*from])
        };
        let required = domain(self.required, &mut below.required);
        let preferred = domain(self.preferred, &mut below.preferred);
        let mut written = json!({});
        if self.with_name {
            written["topologyName"] = name.into();
        }
        if self.old_spelling && preferred.is_none() {
            set(&mut written, "packDomain", required);
        } else {
            written["pack"] = json!({});
            set(&mut written["pack"], "required", required);
            set(&mut written["pack"], "preferred", preferred);
        }
        into["topologyConstraint"] = written;
        below
    }
}

/// ClusterTopologies: some of the seven domains, in any order.
pub fn topology(name: impl Strategy<Value = String>) -> impl Strategy<Value = Value> {
    let long = format!("{}/rack", vec!["x".repeat(49); 5].join("."));
    let levels = subsequence(DOMAINS.to_vec(), 1..=DOMAINS.len()).prop_shuffle();
    (name, levels, prop::bool::weighted(0.1)).prop_map(move |(name, levels, with_long_key)| {
        let key = |domain: &str| match domain {
            "host" => "kubernetes.io/hostname".to_owned(),
            "rack" if with_long_key => long.clone(),
            other => format!("topology.kubernetes.io/{other}"),
        };
        let levels: Vec<Value> = levels.iter().map(|&d| json!({ "domain": d, "key": key(d) })).collect();
        json!({
            "apiVersion": "grove.io/v1alpha1",
            "kind": "ClusterTopology",
            "metadata": { "name": name },
            "spec": { "levels": levels },
        })
    })
}

/// Domains of a topology, widest first.
pub fn domains(topology: &Value) -> Vec<&'static str> {
    let levels = topology["spec"]["levels"].as_array().map_or(&[][..], Vec::as_slice);
    DOMAINS.into_iter().filter(|domain| levels.iter().any(|level| level["domain"] == *domain)).collect()
}

fn container(name: &'static str) -> impl Strategy<Value = Value> {
    let env = option::of(subsequence(VARIABLES.to_vec(), 0..4).prop_shuffle());
    (env, any::<bool>()).prop_map(move |(env, by_reference)| {
        let mut container = json!({ "name": name, "image": "model:1" });
        let variable = |name: &str| {
            let reference = json!({ "fieldRef": { "fieldPath": "metadata.name" } });
            let value = json!({ "name": name, "value": "$(GROVE_PCS_NAME)" });
            if by_reference { json!({ "name": name, "valueFrom": reference }) } else { value }
        };
        set(&mut container, "env", env.map(|env| env.into_iter().map(variable).collect::<Vec<_>>()));
        container
    })
}

/// Small pod specs with everything in them that lowering touches.
pub fn pod_spec() -> impl Strategy<Value = Value> {
    let containers = (container("main"), option::weighted(0.3, container("sidecar")));
    let init = (option::weighted(0.2, container("init")), option::weighted(0.1, container("download")));
    let gates = option::weighted(
        0.3,
        subsequence(vec!["example.com/quota", "grove.io/podgang-pending-creation", "example.com/other"], 0..=3),
    );
    let volumes = prop_oneof![
        14 => Just(None),
        5 => subsequence(vec!["cache", "data"], 0..=2).prop_map(Some),
        1 => Just(Some(vec!["trellis-wait-token"])),
    ];
    let claims = option::weighted(0.02, Just(vec!["shared-0"]));
    let account = option::weighted(0.2, select(vec!["runner", ""]));
    let class = option::weighted(0.2, select(vec!["high", ""]));
    let restart = option::weighted(0.3, select(vec!["Always", "OnFailure", "Never", ""]));
    let grace = option::weighted(0.3, select(vec![0, 30, 60]));
    let odd = option::weighted(0.1, select(vec!["hostname", "subdomain", "futureField"]));
    (containers, init, gates, (volumes, claims), (account, class, restart, grace, odd)).prop_map(
        |((main, sidecar), (init, download), gates, (volumes, claims), (account, class, restart, grace, odd))| {
            let containers: Vec<Value> = [Some(main), sidecar].into_iter().flatten().collect();
            let mut pod = json!({ "containers": containers });
            let init: Vec<Value> = [init, download].into_iter().flatten().collect();
            set(&mut pod, "initContainers", Some(init).filter(|init| !init.is_empty()));
            let named = |names: Vec<&str>| names.into_iter().map(|name| json!({ "name": name })).collect::<Vec<_>>();
            set(&mut pod, "schedulingGates", gates.map(named));
            set(&mut pod, "volumes", volumes.map(named));
            set(&mut pod, "resourceClaims", claims.map(named));
            set(&mut pod, "serviceAccountName", account);
            set(&mut pod, "priorityClassName", class);
            set(&mut pod, "restartPolicy", restart);
            set(&mut pod, "terminationGracePeriodSeconds", grace);
            if let Some(field) = odd {
                pod[field] = "mine".into();
            }
            pod
        },
    )
}

/// Labels and annotations: harmless ones, and ones that the operator gives a meaning.
fn metadata() -> impl Strategy<Value = Map<String, Value>> {
    let harmless = ["app", "example.com/team", "app.kubernetes.io/name", "app.kubernetes.io/instance"];
    let ours = ["grove.io/podgang", "grove.io/base-podgang", "grove.io/podcliquescalinggroup", "grove.io/podclique"];
    let keys = prop_oneof![
        6 => subsequence(harmless.to_vec(), 0..3),
        1 => subsequence(ours.to_vec(), 1..3),
    ];
    keys.prop_map(|keys| keys.into_iter().map(|key| (key.to_owned(), "mine".into())).collect())
}

/// Claims that are shared: scope, template, and whether all children take part.
type Sharing = Vec<(bool, usize, bool)>;

const CLAIM_TEMPLATES: [&str; 2] = ["gpu", "link"];
/// Names that no ResourceClaim can have, or that make claims of two owners look alike.
const ODD_TEMPLATES: [&str; 5] = ["Big_GPU", "a-0-gpu", "0-gpu", "all-link", "x.y"];

fn sharing() -> impl Strategy<Value = Sharing> {
    vec((any::<bool>(), 0..CLAIM_TEMPLATES.len(), any::<bool>()), 0..3)
}

fn write_sharing(sharing: &Sharing, into: &mut Value, child: Option<&str>) {
    let mut seen = Vec::new();
    for (each, template, filtered) in sharing {
        if !seen.contains(&template) {
            seen.push(template);
            let scope = if *each { "PerReplica" } else { "AllReplicas" };
            let mut entry = json!({ "name": CLAIM_TEMPLATES[*template], "scope": scope });
            if let (true, Some(child)) = (filtered, child) {
                entry["filter"] = json!({ "childCliqueNames": [child] });
            }
            push(&mut into["resourceSharing"], entry);
        }
    }
}

/// Appends to a list that need not be there yet.
fn push(list: &mut Value, item: Value) {
    match list {
        Value::Array(items) => items.push(item),
        other => *other = json!([item]),
    }
}

#[derive(Clone, Debug)]
struct Clique {
    group: Option<usize>,
    counts: Counts,
    constraint: Option<Constraint>,
    pod: Value,
    labels: Map<String, Value>,
    annotations: Map<String, Value>,
    after: Vec<bool>,
    sharing: Sharing,
}

fn clique(constrained: f64) -> impl Strategy<Value = Clique> {
    let group = option::of(0..3_usize);
    let shape = (group, counts(), constraint(constrained), sharing());
    (shape, pod_spec(), metadata(), metadata(), vec(prop::bool::weighted(0.4), 6)).prop_map(
        |((group, counts, constraint, sharing), pod, labels, annotations, after)| Clique {
            group,
            counts,
            constraint,
            pod,
            labels,
            annotations,
            after,
            sharing,
        },
    )
}

#[derive(Clone, Debug)]
struct Group {
    counts: Counts,
    constraint: Option<Constraint>,
    annotations: Map<String, Value>,
    sharing: Sharing,
}

fn group(constrained: f64) -> impl Strategy<Value = Group> {
    (counts(), constraint(constrained), metadata(), sharing())
        .prop_map(|(counts, constraint, annotations, sharing)| Group { counts, constraint, annotations, sharing })
}

/// What stands on the set itself.
#[derive(Clone, Debug)]
struct Top {
    replicas: Option<i32>,
    constraint: Option<Constraint>,
    with_name: bool,
    startup: Option<&'static str>,
    scheduler: Option<&'static str>,
    class: Option<&'static str>,
    generated_name: bool,
    namespace: Option<String>,
    labels: Map<String, Value>,
    annotations: Map<String, Value>,
    sharing: Sharing,
    odd_template: Option<&'static str>,
}

fn top(constrained: f64) -> impl Strategy<Value = Top> {
    let startup =
        option::of(select(vec!["CliqueStartupTypeAnyOrder", "CliqueStartupTypeInOrder", "CliqueStartupTypeExplicit"]));
    let scheduler =
        option::weighted(0.3, select(vec!["trellis", "kai-scheduler", "kai-scheduler", "default-scheduler"]));
    let namespace = option::of(select(vec!["default".to_owned(), "team-a".to_owned(), "n".repeat(63)]));
    let replicas = prop_oneof![3 => Just(None), 1 => Just(Some(0)), 6 => (1..=3_i32).prop_map(Some)];
    let text = (startup, scheduler, option::weighted(0.3, select(vec!["high", ""])), namespace);
    let odd_template = option::weighted(0.1, select(ODD_TEMPLATES.to_vec()));
    let flags = (prop::bool::weighted(0.5), prop::bool::weighted(0.03), odd_template);
    (replicas, constraint(constrained), text, flags, (metadata(), metadata(), sharing())).prop_map(
        |(replicas, constraint, text, (with_name, generated_name, odd_template), (labels, annotations, sharing))| {
            let (startup, scheduler, class, namespace) = text;
            Top {
                replicas,
                constraint,
                with_name,
                startup,
                scheduler,
                class,
                generated_name,
                namespace,
                labels,
                annotations,
                sharing,
                odd_template,
            }
        },
    )
}

/// Sets of a few pods. About two of three are admitted; the others break one rule or another.
pub fn cases() -> BoxedStrategy<Case> {
    // Half of the sets have no constraint at all: one anywhere decides about the whole set.
    (sets(0.5), any::<bool>(), prop::bool::weighted(0.1))
        .prop_map(|(case, free, sharing)| {
            let case = if free { without(case, &["topologyConstraint", "clusterTopologyName"]) } else { case };
            if sharing { case } else { without(case, &["resourceSharing", "resourceClaimTemplates"]) }
        })
        .boxed()
}

/// Sets whose pods share claims.
pub fn sharing_cases() -> BoxedStrategy<Case> {
    sets(0.1)
}

/// The same set without these fields of the template, its cliques and its groups.
fn without(mut case: Case, fields: &[&str]) -> Case {
    let template = &mut case.set["spec"]["template"];
    for field in fields {
        remove(template, field);
        for list in ["cliques", "podCliqueScalingGroups"] {
            let items = template.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
            items.for_each(|item| remove(item, field));
        }
    }
    case
}

/// Sets whose constraints matter, with nothing else that could go wrong much.
pub fn constrained_cases() -> BoxedStrategy<Case> {
    sets(0.7).prop_map(|case| without(case, &["resourceSharing", "resourceClaimTemplates"])).boxed()
}

fn sets(constrained: f64) -> BoxedStrategy<Case> {
    let name = prop_oneof![
        2 => Just(DEFAULT_TOPOLOGY.to_owned()),
        2 => Just("gpu-pool".to_owned()),
        1 => Just("t".repeat(63)),
    ];
    let parts = (vec(clique(constrained), 1..=6), vec(group(constrained), 3));
    (names(), stretch(), topology(name), top(constrained), parts)
        .prop_map(|(names, stretch, topology, top, (cliques, groups))| {
            let group_of: Vec<Option<usize>> = cliques.iter().map(|clique| clique.group).collect();
            let names = stretched(names, &group_of, stretch);
            Case { set: assemble(&names, &top, &cliques, &groups, &topology), topology }
        })
        .boxed()
}

fn assemble(names: &Names, top: &Top, cliques: &[Clique], groups: &[Group], topology: &Value) -> Value {
    let levels = domains(topology);
    let topology_name = topology["metadata"]["name"].as_str().unwrap_or_default();
    let constrain = |constraint: Option<Constraint>, into: &mut Value, above: Bounds| {
        constraint.map_or(above, |constraint| constraint.write(into, &levels, above, topology_name))
    };
    let mut template = json!({});
    let of_set = constrain(top.constraint, &mut template, Bounds::default());
    let mut group_bounds = Vec::new();
    for (g, group) in groups.iter().enumerate() {
        let members: Vec<&str> =
            (0..cliques.len()).filter(|&c| cliques[c].group == Some(g)).map(|c| names.cliques[c].as_str()).collect();
        let mut written = json!({ "name": names.groups[g], "cliqueNames": members });
        group.counts.write(&mut written, Some("scaleConfig"));
        write_sharing(&group.sharing, &mut written, members.first().copied());
        fill(&mut written, "annotations", &group.annotations);
        group_bounds.push(constrain(group.constraint.filter(|_| !members.is_empty()), &mut written, of_set));
        if !members.is_empty() {
            push(&mut template["podCliqueScalingGroups"], written);
        }
    }
    for (c, clique) in cliques.iter().enumerate() {
        let mut pod = clique.pod.clone();
        set(&mut pod, "schedulerName", top.scheduler);
        let mut spec = json!({ "roleName": format!("role-{c}"), "podSpec": pod });
        clique.counts.write(&mut spec, clique.group.is_none().then_some("autoScalingConfig"));
        // Only earlier ones, so that there is no circle.
        let after: Vec<&String> = (0..c).filter(|&i| clique.after[i]).map(|i| &names.cliques[i]).collect();
        set(&mut spec, "startsAfter", Some(json!(after)).filter(|_| !after.is_empty()));
        let mut written = json!({ "name": names.cliques[c], "spec": spec });
        fill(&mut written, "labels", &clique.labels);
        fill(&mut written, "annotations", &clique.annotations);
        write_sharing(&clique.sharing, &mut written, None);
        constrain(clique.constraint, &mut written, clique.group.map_or(of_set, |g| group_bounds[g]));
        push(&mut template["cliques"], written);
    }
    set(&mut template, "cliqueStartupType", top.startup);
    set(&mut template, "priorityClassName", top.class);
    let with_name = top.with_name && is_constrained(&template);
    set(&mut template, "clusterTopologyName", with_name.then_some(topology_name));
    let first = cliques.first().map(|_| names.cliques[0].as_str());
    write_sharing(&top.sharing, &mut template, first);
    let claim = |name: &&str| {
        let request = json!([{ "name": "device", "exactly": { "deviceClassName": name } }]);
        json!({ "name": name, "templateSpec": { "spec": { "devices": { "requests": request } } } })
    };
    template["resourceClaimTemplates"] = CLAIM_TEMPLATES.iter().map(claim).collect();
    if let Some(name) = &top.odd_template {
        push(&mut template["resourceClaimTemplates"], claim(name));
        push(&mut template["resourceSharing"], json!({ "name": name, "scope": "PerReplica" }));
    }
    let mut metadata = json!({});
    metadata[if top.generated_name { "generateName" } else { "name" }] = names.set.as_str().into();
    set(&mut metadata, "namespace", top.namespace.clone());
    fill(&mut metadata, "labels", &top.labels);
    fill(&mut metadata, "annotations", &top.annotations);
    let mut spec = json!({ "template": template });
    set(&mut spec, "replicas", top.replicas);
    json!({ "apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet", "metadata": metadata, "spec": spec })
}

fn fill(into: &mut Value, field: &str, map: &Map<String, Value>) {
    if !map.is_empty() {
        into[field] = Value::Object(map.clone());
    }
}

fn is_constrained(template: &Value) -> bool {
    let lists = ["cliques", "podCliqueScalingGroups"].map(|list| template[list].as_array());
    let mut items = lists.into_iter().flatten().flatten().chain([template]);
    items.any(|item| item.get("topologyConstraint").is_some())
}

/// Sets at the limits of DECISIONS 46: 100 000 pods, gangs of 5 000; and sometimes one replica beyond them.
pub fn large_cases() -> BoxedStrategy<Case> {
    let which = (select(vec![Large::Replicas, Large::Group, Large::Minimum, Large::Clique]), any::<usize>());
    (constrained_cases(), which, prop::bool::weighted(0.15))
        .prop_map(|(mut case, (what, which), beyond)| {
            enlarge(&mut case.set["spec"], what, which, i64::from(beyond));
            case
        })
        .boxed()
}

/// Which count is brought to its limit.
#[derive(Clone, Copy, Debug)]
enum Large {
    Replicas,
    Group,
    Minimum,
    Clique,
}

const SET_PODS: i64 = 100_000;
const GANG_PODS: i64 = 5_000;

fn enlarge(spec: &mut Value, what: Large, which: usize, beyond: i64) {
    let count = |value: &Value| value.as_i64().unwrap_or(1).max(1);
    let most = |of: &Value, scaling: &str| count(&of["replicas"]).max(count(&of[scaling]["maxReplicas"]));
    let empty = Vec::new();
    let cliques = spec["template"]["cliques"].as_array().unwrap_or(&empty).clone();
    let groups = spec["template"]["podCliqueScalingGroups"].as_array().unwrap_or(&empty).clone();
    let is_member = |group: &Value, clique: &Value| {
        group["cliqueNames"].as_array().is_some_and(|names| names.contains(&clique["name"]))
    };
    let alone: Vec<usize> =
        (0..cliques.len()).filter(|&c| !groups.iter().any(|group| is_member(group, &cliques[c]))).collect();
    let replica = |group: &Value| -> i64 {
        cliques.iter().filter(|c| is_member(group, c)).map(|c| count(&c["spec"]["replicas"])).sum()
    };
    let standalone: i64 = alone.iter().map(|&c| most(&cliques[c]["spec"], "autoScalingConfig")).sum();
    let base: i64 = standalone + groups.iter().map(|g| replica(g) * count(&g["minAvailable"])).sum::<i64>();
    let all: i64 = standalone + groups.iter().map(|g| replica(g) * most(g, "scaleConfig")).sum::<i64>();
    let sets = count(&spec["replicas"]);
    let g = which % groups.len().max(1);
    match what {
        Large::Group if !groups.is_empty() => {
            spec["replicas"] = sets.into();
            let others = all - replica(&groups[g]) * most(&groups[g], "scaleConfig");
            let group = &mut spec["template"]["podCliqueScalingGroups"][g];
            group["replicas"] = ((SET_PODS / sets - others) / replica(&groups[g]) + beyond).into();
            remove(group, "scaleConfig");
        }
        Large::Minimum if !groups.is_empty() => {
            let others = base - replica(&groups[g]) * count(&groups[g]["minAvailable"]);
            let most = (GANG_PODS - others) / replica(&groups[g]) + beyond;
            let group = &mut spec["template"]["podCliqueScalingGroups"][g];
            group["minAvailable"] = most.into();
            group["replicas"] = (most + 2).into();
            remove(group, "scaleConfig");
        }
        Large::Clique if !alone.is_empty() => {
            let c = alone[which % alone.len()];
            let others = base - most(&cliques[c]["spec"], "autoScalingConfig");
            let clique = &mut spec["template"]["cliques"][c]["spec"];
            clique["replicas"] = (GANG_PODS - others + beyond).into();
            remove(clique, "autoScalingConfig");
        }
        _ => spec["replicas"] = (SET_PODS / all + beyond).into(),
    }
}

fn remove(from: &mut Value, field: &str) {
    if let Value::Object(fields) = from {
        fields.remove(field);
    }
}
