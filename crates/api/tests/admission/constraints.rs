//! Topology constraints: rules 1 and 2 of 000, "Validation Webhook" of 002, sections 4.3 and 5.6 of the Grove reference,
//! decisions 3, 4, 15, 18 and 43.

use crate::harness::{DOMAINS, SUPPORTED_DOMAINS, set, written};
use trellis_api::admission::object::Kind;

/// The three places of a constraint in the base set.
const PLACES: [&str; 3] = [
    "spec.template.topologyConstraint",
    "spec.template.podCliqueScalingGroups[0].topologyConstraint",
    "spec.template.cliques[1].topologyConstraint",
];

fn no_level(path: &str, domain: &str, topology: &str) -> String {
    format!(
        "{path}: Invalid value: \"{domain}\": topology domain '{domain}' does not exist in cluster topology {topology}"
    )
}

#[test]
fn s000_rule1_domain_must_exist_in_the_topology() {
    let h100 = "'h100' [zone rack host]";
    for place in PLACES {
        let check = |constraint: &str, errors: &[&str]| {
            set(&["clusterTopologyName: h100", &format!("{place}: {constraint}")]).gives(errors);
        };
        for there in ["zone", "rack", "host"] {
            check(&format!("{{packDomain: {there}}}"), &[]);
            check(&format!("{{pack: {{required: {there}}}}}"), &[]);
            check(&format!("{{pack: {{preferred: {there}}}}}"), &[]);
        }
        for missing in ["region", "datacenter", "block", "numa"] {
            let at = |field: &str| no_level(&format!("{place}.{field}"), missing, h100);
            check(&format!("{{packDomain: {missing}}}"), &[&at("packDomain")]);
            check(&format!("{{pack: {{required: {missing}}}}}"), &[&at("pack.required")]);
            check(&format!("{{pack: {{preferred: {missing}}}}}"), &[&at("pack.preferred")]);
        }
    }
}

#[test]
fn s000_rule1_default_topology_is_meant_without_a_name() {
    set(&["topologyConstraint: {packDomain: block}"]).gives(&[]);
    let default = "'grove-topology' [zone block rack host numa]";
    set(&["topologyConstraint: {packDomain: region}", "cliques[0].topologyConstraint: {packDomain: datacenter}"])
        .gives(&[
            &no_level("spec.template.topologyConstraint.packDomain", "region", default),
            &no_level("spec.template.cliques[0].topologyConstraint.packDomain", "datacenter", default),
        ]);
}

/// A name of no level at all is refused by its form, at every place and in both spellings.
#[test]
fn d4_domains_are_seven() {
    for domain in DOMAINS {
        set(&["clusterTopologyName: full", &format!("topologyConstraint: {{packDomain: {domain}}}")]).gives(&[]);
    }
    for place in PLACES {
        for (constraint, field) in [
            ("{packDomain: X}", "packDomain"),
            ("{pack: {required: X}}", "pack.required"),
            ("{pack: {preferred: X}}", "pack.preferred"),
        ] {
            set(&[&format!("{place}: {}", constraint.replace('X', "shelf"))])
                .gives(&[&format!("{place}.{field}: Unsupported value: \"shelf\": {SUPPORTED_DOMAINS}")]);
        }
    }
}

#[test]
fn s000_rule2_child_not_wider_than_parent() {
    let set_path = "topologyConstraint";
    let group = "podCliqueScalingGroups[0].topologyConstraint";
    let pairs = [
        (set_path, "PodCliqueSet", group, "PodCliqueScalingGroup 'workers'"),
        (set_path, "PodCliqueSet", "cliques[0].topologyConstraint", "PodClique 'router'"),
        // Also past a group that has no constraint of its own.
        (set_path, "PodCliqueSet", "cliques[2].topologyConstraint", "PodClique 'worker'"),
        (group, "PodCliqueScalingGroup 'workers'", "cliques[1].topologyConstraint", "PodClique 'leader'"),
    ];
    for (parent, parent_name, child, child_name) in pairs {
        for (i, wide) in DOMAINS.into_iter().enumerate() {
            for (j, narrow) in DOMAINS.into_iter().enumerate() {
                let wider_child = format!(
                    "spec.template.{parent}: Invalid value: \"{wide}\": {parent_name} topology constraint domain '{wide}' is \
                     narrower than {child_name} topology constraint domain '{narrow}'"
                );
                let errors: &[&str] = if j < i { &[&wider_child] } else { &[] };
                let written = |place: &str, domain: &str| format!("{place}: {{packDomain: {domain}}}");
                set(&["clusterTopologyName: full", &written(parent, wide), &written(child, narrow)]).gives(errors);
            }
        }
    }
}

#[test]
fn s000_rule2_every_pair_is_told() {
    set(&[
        "topologyConstraint: {packDomain: host}",
        "podCliqueScalingGroups[0].topologyConstraint: {packDomain: rack}",
        "cliques[1].topologyConstraint: {packDomain: zone}",
    ])
    .gives(&[
        "spec.template.topologyConstraint: Invalid value: \"host\": PodCliqueSet topology constraint domain 'host' is \
         narrower than PodCliqueScalingGroup 'workers' topology constraint domain 'rack'",
        "spec.template.topologyConstraint: Invalid value: \"host\": PodCliqueSet topology constraint domain 'host' is \
         narrower than PodClique 'leader' topology constraint domain 'zone'",
        "spec.template.podCliqueScalingGroups[0].topologyConstraint: Invalid value: \"rack\": PodCliqueScalingGroup \
         'workers' topology constraint domain 'rack' is narrower than PodClique 'leader' topology constraint domain \
         'zone'",
    ]);
}

#[test]
fn s000_rule2_only_parents_count() {
    // A clique outside the group owes it nothing, and siblings owe each other nothing.
    set(&[
        "podCliqueScalingGroups[0].topologyConstraint: {packDomain: host}",
        "cliques[0].topologyConstraint: {packDomain: zone}",
        "cliques[1].topologyConstraint: {packDomain: numa}",
        "cliques[2].topologyConstraint: {packDomain: host}",
    ])
    .gives(&[]);
}

/// 002: "Validation applies on both CREATE and UPDATE operations".
#[test]
fn s002_hierarchy_holds_on_update() {
    let host = "topologyConstraint: {packDomain: host}";
    let rack = "cliques[0].topologyConstraint: {packDomain: rack}";
    let fault = "spec.template.topologyConstraint: Invalid value: \"host\": PodCliqueSet topology constraint domain 'host' \
                 is narrower than PodClique 'router' topology constraint domain 'rack'";
    set(&[host, rack, "spec.replicas: 2"]).old(&[host, rack]).gives(&[fault]);
}

#[test]
fn grove5_6_preferred_against_preferred_required_against_required() {
    let set_place = ("topologyConstraint", "PodCliqueSet");
    let group = ("podCliqueScalingGroups[0].topologyConstraint", "PodCliqueScalingGroup 'workers'");
    let clique = ("cliques[1].topologyConstraint", "PodClique 'leader'");
    for ((parent, parent_name), (child, child_name)) in [(set_place, group), (set_place, clique), (group, clique)] {
        let check = |above: &str, below: &str, errors: &[&str]| {
            let place = |place: &str, pack: &str| format!("{place}: {{pack: {{{pack}}}}}");
            set(&[&place(parent, above), &place(child, below)]).gives(errors);
        };
        check("preferred: rack", "preferred: host", &[]);
        check("preferred: rack", "preferred: rack", &[]);
        let wider = format!(
            "spec.template.{parent}.pack.preferred: Invalid value: \"host\": {parent_name} preferred topology domain 'host' is \
             narrower than {child_name} preferred topology domain 'rack'"
        );
        check("preferred: host", "preferred: rack", &[&wider]);
        // A child's required level is not compared with its parent's preferred one, nor the other way round.
        check("preferred: host", "required: zone", &[]);
        check("required: host", "preferred: zone", &[]);
        check("required: zone, preferred: rack", "required: rack, preferred: host", &[]);
    }
}

#[test]
fn grove5_6_preferred_should_be_narrower_than_required() {
    let check = |pack: &str, warnings: &[&str]| {
        set(&[&format!("topologyConstraint: {{pack: {{{pack}}}}}")]).warns(warnings).gives(&[]);
    };
    check("required: rack, preferred: host", &[]);
    check("required: rack", &[]);
    check("preferred: zone", &[]);
    check(
        "required: rack, preferred: zone",
        &["spec.template.topologyConstraint.pack.preferred: 'zone' is not narrower \
        than the required 'rack' and is redundant; it is left out"],
    );
    // 18: one that is not narrower is left out, so an equal one is redundant too.
    check(
        "required: rack, preferred: rack",
        &["spec.template.topologyConstraint.pack.preferred: 'rack' is not narrower \
        than the required 'rack' and is redundant; it is left out"],
    );
}

#[test]
fn d3_two_spellings_and_never_both() {
    for place in PLACES {
        let check = |constraint: &str, errors: &[&str]| set(&[&format!("{place}: {{{constraint}}}")]).gives(errors);
        check("packDomain: rack", &[]);
        check("pack: {required: rack}", &[]);
        check("pack: {required: rack, preferred: host}", &[]);
        check("topologyName: h100, pack: {required: rack}", &[]);
        let both = format!("{place}.pack: Forbidden: must not set both packDomain and pack");
        check("packDomain: rack, pack: {required: rack}", &[&both]);
        check("packDomain: rack, pack: {preferred: host}", &[&both]);
        let neither = format!("{place}: Required value: must specify packDomain or pack");
        check("", &[&neither]);
        check("topologyName: h100", &[&neither]);
        check("packDomain: null", &[&neither]);
        check(
            "pack: {}",
            &[&format!("{place}.pack: Required value: must specify at least one of required or preferred")],
        );
    }
}

/// "Objects are stored as written."
#[test]
fn d3_objects_are_stored_as_written() {
    for constraint in ["{packDomain: rack}", "{pack: {required: rack}}", "{topologyName: h100, packDomain: rack}"] {
        let edit = format!("topologyConstraint: {constraint}");
        set(&[&edit]).stores(&[&edit, "-clusterTopologyName"]);
    }
}

#[test]
fn s000_rule1_domains_cannot_be_changed() {
    let check = |place: &str, what: &str, old: Option<&str>, new: Option<&str>, outcome: Option<&str>| {
        let edit = |constraint: Option<&str>| {
            constraint.map_or(format!("-{place}"), |constraint| format!("{place}: {{{constraint}}}"))
        };
        // Another change keeps the case from being an update that leaves the spec alone.
        let case = set(&[&edit(new), "spec.replicas: 2"]).old(&[&edit(old)]);
        let error = outcome.map(|outcome| format!("{place}: Forbidden: {what} topology constraint {outcome}"));
        case.gives(&error.iter().map(String::as_str).collect::<Vec<_>>());
    };
    let names = ["PodCliqueSet", "PodCliqueScalingGroup 'workers'", "PodClique 'leader'"];
    let (rack, host) = (Some("packDomain: rack"), Some("packDomain: host"));
    for (place, what) in PLACES.into_iter().zip(names) {
        check(place, what, rack, rack, None);
        check(place, what, rack, host, Some("cannot be changed from 'rack' to 'host'"));
        check(place, what, host, rack, Some("cannot be changed from 'host' to 'rack'"));
        check(place, what, rack, None, Some("cannot be removed after creation"));
        check(place, what, None, rack, Some("cannot be added after creation"));
        let both = Some("pack: {required: rack, preferred: host}");
        check(place, what, rack, both, Some("cannot be changed from 'rack' to 'required=rack preferred=host'"));
        check(place, what, both, rack, Some("cannot be changed from 'required=rack preferred=host' to 'rack'"));
    }
}

/// "The same value in the other spelling is no change", also while pods have nodes.
#[test]
fn d43_other_spelling_is_no_change() {
    for place in PLACES {
        let old = format!("{place}: {{packDomain: rack}}");
        let new = format!("{place}: {{pack: {{required: rack}}}}");
        set(&[&new]).old(&[&old]).scheduled("default", "demo").gives(&[]);
        set(&[&old]).old(&[&new]).scheduled("default", "demo").gives(&[]);
    }
}

/// The example of 000, "Topology Constraints in PodCliqueSet", with pods.
#[test]
fn s000_example_is_admitted() {
    let clique = |name: &str, domain: &str, role: &str, replicas: u32| {
        format!(
            "      - {{name: {name}, topologyConstraint: {{packDomain: {domain}}}, spec: {{roleName: {role}, replicas: \
             {replicas}, podSpec: {{containers: [{{name: main, image: busybox}}]}}}}}}\n"
        )
    };
    let group = |name: &str, domain: &str, short: &str| {
        format!(
            "      - {{name: {name}, topologyConstraint: {{packDomain: {domain}}}, replicas: 2, minAvailable: 1, \
             cliqueNames: [{short}-worker, {short}-leader]}}\n"
        )
    };
    let text = [
        "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: disaggregated-inference}\nspec:\n  replicas: 1\n",
        "  template:\n    topologyConstraint: {packDomain: zone}\n    cliques:\n",
        &clique("router", "block", "router", 1),
        &clique("p-leader", "rack", "prefill-leader", 1),
        &clique("p-worker", "rack", "prefill-worker", 4),
        &clique("d-leader", "rack", "decode-leader", 1),
        &clique("d-worker", "rack", "decode-worker", 2),
        "    podCliqueScalingGroups:\n",
        &group("prefill", "block", "p"),
        &group("decode", "rack", "d"),
    ]
    .concat();
    written(Kind::PodCliqueSet, &text, &[]).gives(&[]);
    written(Kind::PodCliqueSet, &text, &["podCliqueScalingGroups[1].topologyConstraint: {packDomain: host}"]).gives(&[
        "spec.template.podCliqueScalingGroups[1].topologyConstraint: Invalid value: \"host\": …'decode'…'d-leader'…",
        "spec.template.podCliqueScalingGroups[1].topologyConstraint: Invalid value: \"host\": …'decode'…'d-worker'…",
    ]);
}
