//! OperatorConfiguration: "Validation" in 000, section 1.8 of the Grove reference, decisions 5, 40, 47, 48.

use crate::harness::{DOMAINS, SUPPORTED_DOMAINS, config};

const LEVELS: &str = "topologyAwareScheduling.levels";

#[test]
fn s000_config_at_least_one_level_when_enabled() {
    let required = "topologyAwareScheduling.levels: Required value: levels are required when topology is enabled";
    config(&[]).gives(&[]);
    config(&["topologyAwareScheduling.levels: []"]).gives(&[required]);
    config(&["-topologyAwareScheduling.levels"]).gives(&[required]);
    config(&["topologyAwareScheduling.levels: null"]).gives(&[required]);
    config(&["topologyAwareScheduling: {enabled: true}"]).gives(&[required]);
    config(&["topologyAwareScheduling: {enabled: false}"]).gives(&[]);
    config(&["topologyAwareScheduling: {enabled: false, levels: []}"]).gives(&[]);
    config(&["topologyAwareScheduling: {}"]).gives(&[]);
    config(&["-topologyAwareScheduling"]).gives(&[]);
}

#[test]
fn s000_config_domain_is_one_of_the_seven() {
    for domain in DOMAINS.into_iter().filter(|domain| *domain != "host") {
        config(&[&format!("{LEVELS}: [{{domain: {domain}, key: example.com/{domain}}}]")]).gives(&[]);
    }
    config(&[&format!("{LEVELS}: [{{domain: host, key: kubernetes.io/hostname}}]")]).gives(&[]);
    for wrong in ["shelf", "Zone", "data-center", ""] {
        config(&[&format!("{LEVELS}[1].domain: {wrong:?}")])
            .gives(&[&format!("{LEVELS}[1].domain: Unsupported value: {wrong:?}: {SUPPORTED_DOMAINS}")]);
    }
    config(&[&format!("-{LEVELS}[1].domain")]).gives(&["topologyAwareScheduling.levels[1].domain: Required value"]);
    config(&[&format!("-{LEVELS}[1].key")]).gives(&["topologyAwareScheduling.levels[1].key: Required value"]);
}

/// "All create errors are collected" (4.1): one unknown domain does not hide the other faults.
#[test]
fn grove4_1_config_unknown_domain_hides_no_other_fault() {
    config(&[&format!("{LEVELS}[0].domain: shelf"), "controllers.podGang.concurrentSyncs: 0"]).gives(&[
        &format!("{LEVELS}[0].domain: Unsupported value: \"shelf\": {SUPPORTED_DOMAINS}"),
        "controllers.podGang.concurrentSyncs: Invalid value: 0: must be greater than 0",
    ]);
}

#[test]
fn s000_config_levels_unique() {
    let level = |domain: &str, key: &str| format!("{LEVELS}[3]: {{domain: {domain}, key: {key}}}");
    config(&[&level("numa", "example.com/numa")]).gives(&[]);
    config(&[&level("rack", "example.com/other")])
        .gives(&["topologyAwareScheduling.levels[3].domain: Duplicate value: \"rack\""]);
    config(&[&level("numa", "example.com/rack")])
        .gives(&["topologyAwareScheduling.levels[3].key: Duplicate value: \"example.com/rack\""]);
    config(&[&level("rack", "example.com/rack")]).gives(&[
        "topologyAwareScheduling.levels[3].domain: Duplicate value: \"rack\"",
        "topologyAwareScheduling.levels[3].key: Duplicate value: \"example.com/rack\"",
    ]);
    // Checked only "if TopologyAwareScheduling.Enabled is true".
    config(&[&level("rack", "example.com/rack"), "topologyAwareScheduling.enabled: false"]).gives(&[]);
}

#[test]
fn s000_config_keys_are_free_but_the_hosts() {
    config(&[&format!("{LEVELS}[0].key: oci.example/Weird_zone.name")]).gives(&[]);
    config(&[&format!("{LEVELS}[0].key: zone")]).gives(&[]);
    config(&[&format!("{LEVELS}[2].key: example.com/host")])
        .warns(&["topologyAwareScheduling.levels[2].key: \"example.com/host\" on level 'host'; the kubelet sets kubernetes.io/hostname"])
        .gives(&[]);
    config(&[&format!("{LEVELS}: [{{domain: rack, key: kubernetes.io/hostname}}]")])
        .warns(&[
            "topologyAwareScheduling.levels[0].key: kubernetes.io/hostname tells hosts apart, and this level is 'rack'",
        ])
        .gives(&[]);
}

#[test]
fn d48_config_keys_are_label_keys() {
    config(&[&format!("{LEVELS}[0].key: ''")])
        .gives(&["topologyAwareScheduling.levels[0].key: Required value: a node label key is needed"]);
    config(&[&format!("{LEVELS}[0].key: a b")])
        .gives(&["topologyAwareScheduling.levels[0].key: Invalid value: \"a b\": must be a valid label key: …"]);
    let longest = format!("{}/{}", "a".repeat(252), "b".repeat(63));
    config(&[&format!("{LEVELS}[0].key: {longest}")]).gives(&[]);
    config(&[&format!("{LEVELS}[0].key: a{longest}")])
        .gives(&["topologyAwareScheduling.levels[0].key: Too long: may not be more than 316 characters"]);
}

#[test]
fn d5_config_unknown_fields_are_errors() {
    config(&["shoes: 2"]).gives(&["shoes: Invalid value: 2: unknown field"]);
    config(&["loglevel: info"]).gives(&["loglevel: Invalid value: \"info\": unknown field; did you mean `logLevel`?"]);
    config(&["topologyAwareScheduling.level: []"])
        .gives(&["topologyAwareScheduling.level: Invalid value: []: unknown field; did you mean `levels`?"]);
    config(&[&format!("{LEVELS}[1].keys: x")])
        .gives(&["topologyAwareScheduling.levels[1].keys: Invalid value: \"x\": unknown field; did you mean `key`?"]);
    config(&["topology: {enabled: true}"]).gives(&["topology: Invalid value: {\"enabled\":true}: unknown field"]);
    // The same holds for the options of a profile.
    config(&["scheduler.profiles: [{name: kai-scheduler, config: {createTopologyResource: false}}]"]).gives(&[
        "scheduler.profiles[0].config.createTopologyResource: Invalid value: false: unknown field; did you mean \
         `createTopologyResources`?",
    ]);
    config(&["scheduler.profiles: [{name: trellis, config: {createTopologyResources: true}}]"])
        .gives(&["scheduler.profiles[0].config.createTopologyResources: Invalid value: true: unknown field"]);
}

#[test]
fn d5_config_default_profile_named_in_two_ways() {
    let profiles = "scheduler.profiles: [{name: trellis}, {name: kai-scheduler, default: true}]";
    config(&[profiles]).gives(&[]);
    config(&[profiles, "scheduler.defaultProfileName: kai-scheduler"]).gives(&[]);
    config(&[profiles, "scheduler.defaultProfileName: ''"]).gives(&[]);
    config(&[profiles, "scheduler.defaultProfileName: trellis"])
        .gives(&["scheduler.defaultProfileName: Invalid value: \"trellis\": disagrees with scheduler.profiles[1], \
         \"kai-scheduler\", which is marked as the default"]);
    config(&[profiles, "scheduler.profiles[0].default: true"])
        .gives(&["scheduler.profiles[1].default: Invalid value: true: only one profile can be the default"]);
}

#[test]
fn grove1_8_config_scheduler_profiles() {
    let profiles = |items: &str| format!("scheduler.profiles: [{items}]");
    let supported = "supported values: \"trellis\", \"kai-scheduler\", \"default-scheduler\"";
    let unlisted = "default profile must be one of the configured profiles";
    config(&[&profiles("")]).gives(&[]);
    config(&[&profiles("{name: trellis}, {name: kai-scheduler}, {name: default-scheduler}")]).gives(&[]);
    config(&[&profiles("{name: ''}")])
        .gives(&["scheduler.profiles[0].name: Required value: scheduler profile name is required"]);
    config(&[&profiles("{name: volcano}")])
        .gives(&[&format!("scheduler.profiles[0].name: Unsupported value: \"volcano\": {supported}")]);
    config(&[&profiles("{name: trellis}, {name: trellis}")])
        .gives(&["scheduler.profiles[1].name: Duplicate value: \"trellis\""]);
    config(&[&profiles("{name: trellis}"), "scheduler.defaultProfileName: kai-scheduler"])
        .gives(&[&format!("scheduler.defaultProfileName: Invalid value: \"kai-scheduler\": {unlisted}")]);
    // `trellis` stands in for an empty list, `default-scheduler` is always there (40).
    config(&["scheduler.defaultProfileName: trellis"]).gives(&[]);
    config(&["scheduler.defaultProfileName: default-scheduler"]).gives(&[]);
    config(&[&profiles("{name: kai-scheduler}"), "scheduler.defaultProfileName: trellis"])
        .gives(&[&format!("scheduler.defaultProfileName: Invalid value: \"trellis\": {unlisted}")]);
}

#[test]
fn grove1_8_config_profile_options() {
    let trellis = |options: &str| format!("scheduler.profiles: [{{name: trellis, config: {{{options}}}}}]");
    let kai = |value: &str| {
        format!("scheduler.profiles: [{{name: kai-scheduler, config: {{createTopologyResources: {value}}}}}]")
    };
    for good in [kai("true"), kai("false"), kai("null"), trellis("holdSeconds: 0"), trellis("reserveAfter: 0")] {
        config(&[&good]).gives(&[]);
    }
    for good in [trellis("reserveAfter: 10m"), trellis("reserveAfter: '0'"), trellis("reserveAfter: 1h30m")] {
        config(&[&good]).gives(&[]);
    }
    config(&["scheduler.profiles: [{name: default-scheduler, config: {gangScheduling: true}}]"]).gives(&[]);
    let path = "scheduler.profiles[0].config";
    config(&[&kai("maybe")])
        .gives(&[&format!("{path}.createTopologyResources: Invalid value: \"maybe\": must be of type boolean")]);
    config(&[&trellis("holdSeconds: -1")])
        .gives(&[&format!("{path}.holdSeconds: Invalid value: -1: must be greater than or equal to 0")]);
    config(&[&trellis("reserveAfter: soon")])
        .gives(&[&format!("{path}.reserveAfter: Invalid value: \"soon\": must be a duration …")]);
    config(&[&trellis("reserveAfter: 10")])
        .gives(&[&format!("{path}.reserveAfter: Invalid value: 10: must be a duration with a unit …")]);
}

#[test]
fn grove1_8_config_numbers() {
    config(&["runtimeClientConnection: {qps: 0.5, burst: 0}"]).gives(&[]);
    config(&["runtimeClientConnection.burst: -1"])
        .gives(&["runtimeClientConnection.burst: Invalid value: -1: must be non-negative"]);
    for controller in ["podCliqueSet", "podClique", "podCliqueScalingGroup", "podGang"] {
        config(&[&format!("controllers.{controller}.concurrentSyncs: 1")]).gives(&[]);
        for wrong in [0, -3] {
            config(&[&format!("controllers.{controller}.concurrentSyncs: {wrong}")]).gives(&[&format!(
                "controllers.{controller}.concurrentSyncs: Invalid value: {wrong}: must be greater than 0"
            )]);
        }
    }
    config(&["server.webhooks.port: 65536"])
        .gives(&["server.webhooks.port: Invalid value: 65536: must be less than or equal to 65535"]);
    config(&["server: {webhooks: {port: 2750}, healthProbes: {enable: true, port: 2751}, metrics: {port: 2752}}"])
        .gives(&[]);
}

#[test]
fn grove1_8_config_words() {
    for good in ["logLevel: debug", "logLevel: info", "logLevel: error", "logFormat: json", "logFormat: text"] {
        config(&[good]).gives(&[]);
    }
    config(&["logLevel: verbose", "logFormat: xml", "server.webhooks.certProvisionMode: acme"]).gives(&[
        "logFormat: Unsupported value: \"xml\": supported values: \"json\", \"text\"",
        "logLevel: Unsupported value: \"verbose\": supported values: \"debug\", \"info\", \"error\"",
        "server.webhooks.certProvisionMode: Unsupported value: \"acme\": supported values: \"auto\", \"manual\"",
    ]);
    config(&["authorizer: {enabled: true, exemptServiceAccountUserNames: ['system:kube-controller-manager']}"])
        .gives(&[]);
    // Not built, so it is refused rather than ignored.
    config(&["network.autoMNNVLEnabled: false"]).gives(&[]);
    config(&["network.autoMNNVLEnabled: true"])
        .gives(&["network.autoMNNVLEnabled: Unsupported value: true: supported values: \"false\""]);
}

#[test]
fn grove1_8_config_leader_election() {
    let election = |fields: &str| format!("leaderElection: {{enabled: true, {fields}}}");
    config(&[&election("leaseDuration: 15s, renewDeadline: 10s, retryPeriod: 2s")]).gives(&[]);
    config(&["leaderElection: {enabled: true}"]).gives(&[]);
    for field in ["leaseDuration", "renewDeadline", "retryPeriod"] {
        for wrong in ["0s", "-1s"] {
            config(&[&election(&format!("{field}: {wrong}"))])
                .gives(&[&format!("leaderElection.{field}: Invalid value: \"{wrong}\": must be greater than 0")]);
        }
        config(&[&election(&format!("{field}: ages"))])
            .gives(&[&format!("leaderElection.{field}: Invalid value: \"ages\": must be a duration such as \"15s\"")]);
    }
    for lease in ["10s", "9s"] {
        config(&[&election(&format!("leaseDuration: {lease}"))]).gives(&[&format!(
            "leaderElection.leaseDuration: Invalid value: \"{lease}\": LeaseDuration must be greater than RenewDeadline"
        )]);
    }
    config(&[&election("retryPeriod: 10s")]).gives(&[
        "leaderElection.renewDeadline: Invalid value: \"10s\": RenewDeadline must be greater than RetryPeriod",
    ]);
    config(&[&election("resourceLock: '', resourceName: ''")]).gives(&[
        "leaderElection.resourceLock: Required value: resourceLock is required",
        "leaderElection.resourceName: Required value: resourceName is required",
    ]);
    config(&[&election("resourceLock: configmaps")])
        .gives(&["leaderElection.resourceLock: Unsupported value: \"configmaps\": supported values: \"leases\""]);
    // The rules "apply when true".
    config(&["leaderElection: {enabled: false, leaseDuration: 0s, resourceName: ''}"]).gives(&[]);
}

#[test]
fn d40_config_profiles_and_default() {
    let check = |scheduler: &str, profiles: &[&str], default: &str| {
        let settings = config(&[&format!("scheduler: {scheduler}")]).settings_of();
        assert_eq!(settings.profiles, profiles, "{scheduler}");
        assert_eq!(settings.default_profile, default, "{scheduler}");
    };
    check("{}", &["trellis", "default-scheduler"], "trellis");
    check("{profiles: []}", &["trellis", "default-scheduler"], "trellis");
    check("{defaultProfileName: default-scheduler}", &["trellis", "default-scheduler"], "default-scheduler");
    check("{profiles: [{name: kai-scheduler}]}", &["kai-scheduler", "default-scheduler"], "kai-scheduler");
    check("{profiles: [{name: default-scheduler}]}", &["default-scheduler"], "default-scheduler");
    let both = ["kai-scheduler", "trellis", "default-scheduler"];
    check("{profiles: [{name: kai-scheduler}, {name: trellis}]}", &both, "kai-scheduler");
    check("{profiles: [{name: kai-scheduler}, {name: trellis, default: true}]}", &both, "trellis");
    check("{profiles: [{name: kai-scheduler}, {name: trellis}], defaultProfileName: trellis}", &both, "trellis");
    let none = trellis_api::settings::Settings::default();
    assert_eq!(none.profiles, ["trellis", "kai-scheduler", "default-scheduler"]);
    assert_eq!((none.default_profile.as_str(), none.topology_enabled), ("trellis", true));
}

#[test]
fn s000_config_kai_topologies_are_made_unless_refused() {
    let check = |profiles: &str, made: bool| {
        let settings = config(&[&format!("scheduler.profiles: [{profiles}]")]).settings_of();
        assert_eq!(settings.create_kai_topologies, made, "{profiles}");
    };
    check("{name: kai-scheduler}", true);
    check("{name: kai-scheduler, config: {}}", true);
    check("{name: kai-scheduler, config: {createTopologyResources: true}, default: true}", true);
    check("{name: kai-scheduler, config: {createTopologyResources: false}}", false);
}

/// 000: made from the levels, labelled, and only while topology is on; 7: with the finalizer.
#[test]
fn s000_config_makes_the_default_topology() {
    let unsorted = "[{domain: host, key: kubernetes.io/hostname}, {domain: zone, key: z}]";
    let settings = config(&[&format!("{LEVELS}: {unsorted}")]).settings_of();
    let made = serde_json::to_value(settings.default_topology().expect("topology is on")).expect("JSON");
    let expected = serde_json::json!({
        "apiVersion": "grove.io/v1alpha1",
        "kind": "ClusterTopology",
        "metadata": {
            "name": "grove-topology",
            "labels": {"app.kubernetes.io/managed-by": "grove-operator"},
            "finalizers": ["grove.io/clustertopology"],
        },
        "spec": {"levels": [{"domain": "zone", "key": "z"}, {"domain": "host", "key": "kubernetes.io/hostname"}]},
    });
    assert_eq!(made, expected);
    assert_eq!(config(&["topologyAwareScheduling.enabled: false"]).settings_of().default_topology(), None);
}
