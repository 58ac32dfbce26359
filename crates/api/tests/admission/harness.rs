//! One request to admission, and the cluster it meets: decode, default, validate, judge, as the command line does it.

use crate::edit::{at, edited, matches, parsed, yaml};
use serde_json::Value;
use trellis_api::admission::dynamo::{self, DynamoReview, TopologyRead};
use trellis_api::admission::object::{Decoded, Kind, decode};
use trellis_api::admission::{
    ClusterView, Verdict, default_cluster_topology, default_pod_clique_set, validate_cluster_topology,
    validate_operator_configuration, validate_pod_clique_set,
};
use trellis_api::kinds::config::OperatorConfiguration;
use trellis_api::kinds::{ClusterTopology, PodCliqueSet};
use trellis_api::settings::Settings;

/// All domains, widest first, as 000 lists them.
pub const DOMAINS: [&str; 7] = ["region", "zone", "datacenter", "block", "rack", "host", "numa"];

/// The domains as they stand in an error.
pub const SUPPORTED_DOMAINS: &str =
    r#"supported values: "region", "zone", "datacenter", "block", "rack", "host", "numa""#;

/// A clique alone and two in a scaling group; nothing in it is odd, so nothing is warned of.
const SET: &str = "
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: demo, namespace: default}
spec:
  replicas: 1
  template:
    cliques:
      - {name: router, spec: {roleName: router, replicas: 2, podSpec: {containers: [{name: main, image: busybox}]}}}
      - {name: leader, spec: {roleName: leader, replicas: 1, podSpec: {containers: [{name: main, image: busybox}]}}}
      - {name: worker, spec: {roleName: worker, replicas: 4, podSpec: {containers: [{name: main, image: busybox}]}}}
    podCliqueScalingGroups:
      - {name: workers, replicas: 2, minAvailable: 1, cliqueNames: [leader, worker]}
";

const TOPOLOGY: &str = "
apiVersion: grove.io/v1alpha1
kind: ClusterTopology
metadata: {name: h100}
spec:
  levels:
    - {domain: zone, key: topology.kubernetes.io/zone}
    - {domain: rack, key: example.com/rack}
    - {domain: host, key: kubernetes.io/hostname}
";

const CONFIG: &str = "
apiVersion: operator.config.grove.io/v1alpha1
kind: OperatorConfiguration
topologyAwareScheduling:
  enabled: true
  levels:
    - {domain: zone, key: topology.kubernetes.io/zone}
    - {domain: rack, key: example.com/rack}
    - {domain: host, key: kubernetes.io/hostname}
";

/// A request, the cluster it meets, and the warnings it should earn.
#[derive(Clone, Debug)]
pub struct Case {
    kind: Kind,
    base: Value,
    object: Value,
    old: Option<Value>,
    view: ClusterView,
    settings: Settings,
    by_operator: bool,
    /// What a server answers to whoever looks for a topology, instead of the one in the view.
    refusal: Option<(u16, bool, String)>,
    warnings: Vec<String>,
}

/// The set above, edited, in a cluster with three topologies: `grove-topology` (zone, block, rack, host, numa), `h100`
/// (zone, rack, host) and `full` (all domains).
pub fn set(edits: &[&str]) -> Case {
    written(Kind::PodCliqueSet, SET, edits)
}

/// The topology above, edited.
pub fn topology(edits: &[&str]) -> Case {
    written(Kind::ClusterTopology, TOPOLOGY, edits)
}

/// The configuration above, edited.
pub fn config(edits: &[&str]) -> Case {
    written(Kind::OperatorConfiguration, CONFIG, edits)
}

/// Any object.
pub fn written(kind: Kind, text: &str, edits: &[&str]) -> Case {
    let base = yaml(text);
    let case = Case {
        kind,
        object: edited(kind, &base, edits),
        base,
        old: None,
        view: ClusterView::default(),
        settings: Settings::default(),
        by_operator: false,
        refusal: None,
        warnings: Vec::new(),
    };
    case.topology("grove-topology", "zone block rack host numa")
        .topology("h100", "zone rack host")
        .topology("full", &DOMAINS.join(" "))
}

impl Case {
    /// The stored version that the request replaces, by edits of the same base.
    pub fn old(mut self, edits: &[&str]) -> Self {
        self.old = Some(edited(self.kind, &self.base, edits));
        self
    }

    /// Another topology in the cluster, or another version of one.
    pub fn topology(mut self, name: &str, domains: &str) -> Self {
        let key = |domain: &str| match domain {
            "host" => "kubernetes.io/hostname".to_owned(),
            other => format!("example.com/{other}"),
        };
        let levels: Vec<String> =
            domains.split_whitespace().map(|domain| format!("{{domain: {domain}, key: {}}}", key(domain))).collect();
        let text = format!("{{metadata: {{name: {name}}}, spec: {{levels: [{}]}}}}", levels.join(", "));
        let decoded: Decoded<ClusterTopology> = decode(Kind::ClusterTopology, yaml(&text));
        self.view.topologies.insert(name.to_owned(), decoded.object.expect("a topology"));
        self
    }

    /// A topology that is being deleted.
    pub fn deleted_topology(mut self, name: &str, domains: &str) -> Self {
        self = self.topology(name, domains);
        let time = serde_json::from_value("2026-01-01T00:00:00Z".into()).expect("a time");
        self.view.topologies.get_mut(name).expect("the topology").metadata.deletion_timestamp = Some(time);
        self
    }

    /// A cluster without any topology.
    pub fn without_topologies(mut self) -> Self {
        self.view.topologies.clear();
        self
    }

    /// A set that is in the cluster.
    pub fn beside(mut self, edits: &[&str]) -> Self {
        let value = edited(Kind::PodCliqueSet, &yaml(SET), edits);
        self.view.sets.extend(decode::<PodCliqueSet>(Kind::PodCliqueSet, value).object);
        self
    }

    /// A live pod of that set has a node.
    pub fn scheduled(mut self, namespace: &str, name: &str) -> Self {
        self.view.scheduled.insert((namespace.to_owned(), name.to_owned()));
        self
    }

    /// The operator's configuration: that of [`config`], edited.
    pub fn config(mut self, edits: &[&str]) -> Self {
        self.settings = config(edits).settings_of();
        self.view.topologies.remove("grove-topology");
        self.view.topologies.extend(self.settings.default_topology().map(|t| ("grove-topology".to_owned(), t)));
        self
    }

    /// Topology-aware scheduling is switched off.
    pub fn topology_off(self) -> Self {
        self.config(&["topologyAwareScheduling: {enabled: false}"])
    }

    /// The operator itself asks.
    pub fn by_operator(mut self) -> Self {
        self.by_operator = true;
        self
    }

    /// Topologies cannot be read: the code of the server's answer, whether it names what was asked for, and its words.
    pub fn unreadable(mut self, code: u16, has_name: bool, message: &str) -> Self {
        self.refusal = Some((code, has_name, message.to_owned()));
        self
    }

    /// Warnings that the request should earn.
    pub fn warns(mut self, warnings: &[&str]) -> Self {
        self.warnings = warnings.iter().map(|text| (*text).to_owned()).collect();
        self
    }

    /// What a configuration comes to.
    pub fn settings_of(&self) -> Settings {
        let decoded: Decoded<OperatorConfiguration> = decode(self.kind, self.object.clone());
        Settings::of(&decoded.object.expect("a configuration that can be read"))
    }

    /// Checks all errors and warnings; no errors means admitted.
    #[track_caller]
    pub fn gives(&self, errors: &[&str]) {
        let verdict = self.verdict();
        let actual: Vec<String> = verdict.errors.iter().map(ToString::to_string).collect();
        let report = difference("errors", errors, &actual) + &difference("warnings", &self.warnings, &verdict.warnings);
        assert!(report.is_empty(), "{report}object: {:#}", self.object);
        assert_eq!(verdict.allowed(), errors.is_empty());
    }

    /// Checks fields of the object after defaulting, written as in edits.
    #[track_caller]
    pub fn stores(&self, fields: &[&str]) {
        let stored = self.stored();
        for field in fields {
            let (path, wanted) = parsed(self.kind, field);
            assert_eq!(at(&stored, &path), wanted.as_ref(), "{field} in {stored:#}");
        }
    }

    /// The object after defaulting.
    #[track_caller]
    pub fn stored(&self) -> Value {
        let stored = match self.kind {
            Kind::PodCliqueSet => self.defaulted_set().0.object.map(|set| serde_json::to_value(set).expect("JSON")),
            Kind::ClusterTopology => self.defaulted_topology().object.map(|t| serde_json::to_value(t).expect("JSON")),
            Kind::DynamoGraphDeployment => {
                let mut object = self.object.clone();
                dynamo::default(&mut object);
                Some(object)
            }
            _ => None,
        };
        stored.expect("an object that can be read")
    }

    /// What admission says.
    pub fn verdict(&self) -> Verdict {
        match self.kind {
            Kind::PodCliqueSet => {
                let (decoded, mut warnings) = self.defaulted_set();
                let old = self.old_set();
                let mut verdict =
                    judged(decoded, |set| validate_pod_clique_set(set, old.as_ref(), &self.view, &self.settings));
                warnings.append(&mut verdict.warnings);
                Verdict { warnings, ..verdict }
            }
            Kind::ClusterTopology => {
                let old: Option<ClusterTopology> = self.old.clone().and_then(|old| decode(self.kind, old).object);
                // As the user wrote it: sorted levels would put faults on other lines.
                judged(decode(self.kind, self.object.clone()), |topology| {
                    validate_cluster_topology(topology, old.as_ref(), self.by_operator, &self.view, &self.settings)
                })
            }
            Kind::OperatorConfiguration => {
                judged(decode(self.kind, self.object.clone()), validate_operator_configuration)
            }
            Kind::DynamoGraphDeployment => {
                let review = DynamoReview::of(&self.object, self.old.as_ref());
                let found = |name: &str| match &self.refusal {
                    Some((code, has_name, message)) => TopologyRead::refused(*code, *has_name, message),
                    None => TopologyRead::in_view(&self.view, name),
                };
                let topology = review.wants_topology(&self.settings).map_or(TopologyRead::Unread, found);
                // What is made of it is judged where it is made.
                review.judge(&topology, &self.settings, |_, _, _| Verdict::default())
            }
            other => panic!("nothing to judge in a {}", other.as_str()),
        }
    }

    /// The stored version had its defaults; its labels are taken as given, if they are.
    fn old_set(&self) -> Option<PodCliqueSet> {
        let value = self.old.clone()?;
        let mut old: PodCliqueSet = decode(Kind::PodCliqueSet, value).object.expect("a stored set can be read");
        let labels = old.metadata.labels.clone();
        default_pod_clique_set(&mut old, None, &self.settings);
        old.metadata.labels = labels.or(old.metadata.labels);
        Some(old)
    }

    fn defaulted_set(&self) -> (Decoded<PodCliqueSet>, Vec<String>) {
        let mut decoded: Decoded<PodCliqueSet> = decode(self.kind, self.object.clone());
        let old = self.old_set();
        let mut warnings = Vec::new();
        if let Some(set) = &mut decoded.object {
            warnings = default_pod_clique_set(set, old.as_ref(), &self.settings);
        }
        (decoded, warnings)
    }

    fn defaulted_topology(&self) -> Decoded<ClusterTopology> {
        let mut decoded: Decoded<ClusterTopology> = decode(self.kind, self.object.clone());
        if let Some(topology) = &mut decoded.object {
            default_cluster_topology(topology);
        }
        decoded
    }
}

fn judged<T>(decoded: Decoded<T>, rules: impl FnOnce(&T) -> Verdict) -> Verdict {
    let verdict = decoded.object.as_ref().map(rules).unwrap_or_default();
    decoded.judged(verdict)
}

/// What differs, in words; nothing if nothing does.
fn difference(what: &str, expected: &[impl AsRef<str>], actual: &[String]) -> String {
    let same = expected.len() == actual.len() && expected.iter().zip(actual).all(|(e, a)| matches(e.as_ref(), a));
    if same {
        return String::new();
    }
    let expected: Vec<&str> = expected.iter().map(AsRef::as_ref).collect();
    let (expected, actual) = (expected.join("\n  "), actual.join("\n  "));
    format!("\nexpected {what}:\n  {expected}\nactual {what}:\n  {actual}\n")
}
