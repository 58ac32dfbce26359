//! Topology constraints of DynamoGraphDeployments on creation: "Validation (Webhook), On CREATE" in document 003, decisions 17 and 26.

use crate::dynamo::{SHAPES, check};
use crate::harness::{DOMAINS, SUPPORTED_DOMAINS};

const SPEC: &str = "spec.topologyConstraint";
const WORK: &str = "WORK.topologyConstraint";

#[test]
fn s003_struct_domains_are_the_seven() {
    for domain in DOMAINS {
        let named = |path: &str| format!("{path}: {{clusterTopologyName: full, packDomain: {domain}}}");
        check(&[&named(SPEC)], &[]);
        check(
            &["spec.topologyConstraint: {clusterTopologyName: full}", &format!("{WORK}: {{packDomain: {domain}}}")],
            &[],
        );
    }
    for path in [SPEC, WORK] {
        for domain in ["node", "Rack", ""] {
            let error = format!("{path}.packDomain: Unsupported value: \"{domain}\": {SUPPORTED_DOMAINS}");
            let mut edits = vec![format!("{path}: {{packDomain: '{domain}'}}")];
            if path == SPEC {
                edits.push("spec.topologyConstraint.clusterTopologyName: full".to_owned());
            }
            check(&crate::edit::texts(&edits), &[&error]);
        }
    }
    check(&[&format!("{WORK}: {{}}")], &["WORK.topologyConstraint.packDomain: Required value"]);
}

#[test]
fn s003_hierarchy_every_pair() {
    for (i, wide) in DOMAINS.iter().enumerate() {
        for (j, narrow) in DOMAINS.iter().enumerate() {
            let edits = [
                format!("{SPEC}: {{clusterTopologyName: full, packDomain: {wide}}}"),
                format!("{WORK}: {{packDomain: {narrow}}}"),
            ];
            let broader = format!(
                "{WORK}.packDomain: Invalid value: \"{narrow}\": must be equal to or narrower than the deployment-level domain \"{wide}\""
            );
            let errors: &[&str] = if j < i { &[&broader] } else { &[] };
            check(&crate::edit::texts(&edits), errors);
        }
    }
}

#[test]
fn s003_req3_constraints_are_independent() {
    check(&[&format!("{SPEC}: {{packDomain: zone}}")], &[]);
    check(&[&format!("{WORK}: {{packDomain: rack}}")], &[]);
    check(&["FRONT.topologyConstraint: {packDomain: rack}"], &[]);
    check(&[&format!("{SPEC}: {{packDomain: zone}}"), &format!("{WORK}: {{packDomain: rack}}")], &[]);
}

#[test]
fn s003_topology_crd_levels() {
    // `grove-topology` has zone, block, rack, host and numa.
    let missing = |path: &str, domain: &str| {
        format!(
            "{path}.packDomain: Invalid value: \"{domain}\": does not exist in ClusterTopology \"grove-topology\"; its domains are: zone, \
             block, rack, host, numa"
        )
    };
    check(&[&format!("{SPEC}: {{packDomain: region}}")], &[&missing(SPEC, "region")]);
    check(&[&format!("{WORK}: {{packDomain: datacenter}}")], &[&missing(WORK, "datacenter")]);
    check(
        &[&format!("{SPEC}: {{packDomain: region}}"), &format!("{WORK}: {{packDomain: datacenter}}")],
        &[&missing(SPEC, "region"), &missing(WORK, "datacenter")],
    );
}

#[test]
fn s003_topology_crd_not_there() {
    for shape in SHAPES {
        let case = shape.case(&[&format!("{SPEC}: {{packDomain: rack}}")]);
        shape.gives(&case.without_topologies(), &[
            "spec.topologyConstraint: Not found: \"grove-topology\": there is no such ClusterTopology, so topology constraints cannot be \
             enforced",
        ]);
        let case =
            shape.case(&[&format!("{WORK}: {{packDomain: rack}}")]).without_topologies().topology("h100", "rack");
        shape.gives(&case, &[
            "WORK.topologyConstraint: Not found: \"grove-topology\": there is no such ClusterTopology; there are: h100",
        ]);
        // Nobody looks for it where nothing is asked of it.
        shape.gives(&shape.case(&[]).without_topologies(), &[]);
        let case = shape.case(&[&format!("{SPEC}: {{packDomain: rack}}")]);
        shape.gives(
            &case.deleted_topology("grove-topology", "rack"),
            &["spec.topologyConstraint: Forbidden: ClusterTopology \"grove-topology\" is being deleted"],
        );
    }
}

#[test]
fn s003_topology_crd_that_cannot_be_read() {
    let rows = [
        (
            404,
            true,
            "Not found: \"h100\": there is no such ClusterTopology, so topology constraints cannot be enforced",
        ),
        (
            404,
            false,
            "Invalid value: \"h100\": the ClusterTopology cannot be read, because the cluster does not serve clustertopologies.grove.io: \
             it is not installed; hint: apply what `trellis crds` prints",
        ),
        (
            403,
            true,
            "Invalid value: \"h100\": the ClusterTopology cannot be read, because the operator is not allowed to: its words; hint: let it \
             `get` clustertopologies.grove.io",
        ),
        (500, false, "Invalid value: \"h100\": the ClusterTopology cannot be read: its words"),
    ];
    for shape in SHAPES {
        for (code, has_name, error) in rows {
            let case = shape.case(&["spec.topologyConstraint: {clusterTopologyName: h100, packDomain: rack}"]);
            let error = format!("spec.topologyConstraint.clusterTopologyName: {error}");
            case.unreadable(code, has_name, "its words").gives(&[&error]);
            shape.case(&[]).unreadable(code, has_name, "its words").gives(&[]);
        }
    }
}

#[test]
fn d26_topology_by_name() {
    check(&["spec.topologyConstraint: {clusterTopologyName: h100, packDomain: rack}"], &[]);
    check(&["spec.topologyConstraint: {topologyProfile: h100, packDomain: rack}"], &[]);
    check(&["spec.topologyConstraint: {topologyProfile: h100, clusterTopologyName: h100, packDomain: rack}"], &[]);
    check(
        &["spec.topologyConstraint: {topologyProfile: a, clusterTopologyName: h100, packDomain: rack}"],
        &[
            "spec.topologyConstraint.topologyProfile: Invalid value: \"a\": must be equal to clusterTopologyName, which is \"h100\", or be \
         left out",
        ],
    );
    check(
        &["spec.topologyConstraint: {topologyProfile: h100, packDomain: block}"],
        &[
            "spec.topologyConstraint.packDomain: Invalid value: \"block\": does not exist in ClusterTopology \"h100\"; its domains are: zone, \
         rack, host",
        ],
    );
    check(
        &["spec.topologyConstraint: {topologyProfile: gone, packDomain: rack}"],
        &[
            "spec.topologyConstraint.topologyProfile: Not found: \"gone\": there is no such ClusterTopology; there are: full, \
         grove-topology, h100",
        ],
    );
    // With a name there, the domain may stand on services alone.
    check(
        &["spec.topologyConstraint: {clusterTopologyName: h100}", "WORK.topologyConstraint: {packDomain: rack}"],
        &[],
    );
    check(
        &["spec.topologyConstraint: {clusterTopologyName: h100}", "WORK.topologyConstraint: {packDomain: block}"],
        &[
            "WORK.topologyConstraint.packDomain: Invalid value: \"block\": does not exist in ClusterTopology \"h100\"; its domains are: zone, \
         rack, host",
        ],
    );
    for shape in SHAPES {
        let what = shape.all.trim_start_matches("spec.");
        let required = format!(
            "spec.topologyConstraint.packDomain: Required value: is required when none of the {what} has a topologyConstraint"
        );
        shape.case(&["spec.topologyConstraint: {clusterTopologyName: h100}"]).gives(&[&required]);
        shape.case(&["spec.topologyConstraint: {}"]).gives(&[&required]);
    }
    check(
        &["spec.topologyConstraint: {}", "WORK.topologyConstraint: {packDomain: rack}"],
        &["spec.topologyConstraint.packDomain: Required value: a constraint without a topology's name needs a domain"],
    );
    let long = "a".repeat(64);
    let verdict = SHAPES[2]
        .case(&[&format!("spec.topologyConstraint: {{clusterTopologyName: {long}, packDomain: rack}}")])
        .verdict();
    assert_eq!(
        verdict.errors[0].to_string(),
        "spec.topologyConstraint.clusterTopologyName: Too long: may not be more than 63 characters"
    );
}

#[test]
fn d17_topology_off() {
    let off = "topology support is not enabled in the operator";
    for shape in SHAPES {
        let case =
            shape.case(&["spec.topologyConstraint: {packDomain: zone}", "WORK.topologyConstraint: {packDomain: rack}"]);
        shape.gives(
            &case.topology_off(),
            &[
                &format!("spec.topologyConstraint: Invalid value: \"zone\": {off}"),
                &format!("WORK.topologyConstraint: Invalid value: \"rack\": {off}"),
            ],
        );
        shape.gives(&shape.case(&[]).topology_off(), &[]);
    }
}
