//! The generated CustomResourceDefinitions: kinds and fields of section 1 of the Grove reference.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::Value;
use trellis_api::crd;

/// Every CRD that we print, by kind.
pub fn all() -> Vec<(String, CustomResourceDefinition)> {
    crd::own().into_iter().chain(crd::kai()).map(|crd| (crd.spec.names.kind.clone(), crd)).collect()
}

/// The schema of a kind.
pub fn schema(kind: &str) -> Value {
    let (_, crd) = all().into_iter().find(|(name, _)| name == kind).expect("a kind");
    let value = serde_json::to_value(&crd).expect("JSON");
    value["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
}

/// What is at a path of fields, lists entered by themselves.
pub fn at<'a>(schema: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(schema, |schema, field| {
        let object = if schema["items"].is_object() { &schema["items"] } else { schema };
        &object["properties"][field]
    })
}

/// Visits a schema and all schemas in it, with their paths.
pub fn walk(schema: &Value, path: &str, visit: &mut dyn FnMut(&Value, &str)) {
    visit(schema, path);
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        walk(field, &format!("{path}.{name}"), visit);
    }
    for inner in ["items", "additionalProperties"] {
        if schema[inner].is_object() {
            walk(&schema[inner], &format!("{path}[]"), visit);
        }
    }
}

/// Names, subresources and columns as text, for comparison.
fn summary(crd: &CustomResourceDefinition) -> String {
    let (names, spec) = (&crd.spec.names, &crd.spec);
    assert_eq!(spec.versions.len(), 1);
    let version = &spec.versions[0];
    assert!(version.served && version.storage);
    assert_eq!(crd.metadata.name, Some(format!("{}.{}", names.plural, spec.group)));
    let subresources = version.subresources.clone().unwrap_or_default();
    let mut lines = vec![format!(
        "{} {}/{} {} {} {} {}{}",
        names.kind,
        spec.group,
        version.name,
        names.plural,
        names.singular.as_deref().unwrap_or_default(),
        names.short_names.clone().unwrap_or_default().join(","),
        spec.scope,
        if subresources.status.is_some() { " status" } else { "" },
    )];
    if let Some(scale) = subresources.scale {
        let selector = scale.label_selector_path.unwrap_or_default();
        lines.push(format!("scale {} {} {selector}", scale.spec_replicas_path, scale.status_replicas_path));
    }
    for column in version.additional_printer_columns.iter().flatten() {
        let priority = column.priority.filter(|priority| *priority != 0).map_or(String::new(), |p| format!(" p{p}"));
        lines.push(format!("{} {} {}{priority}", column.name, column.type_, column.json_path));
    }
    lines.join("\n")
}

#[test]
fn grove1_kinds_subresources_and_columns() {
    let breached = ".status.conditions[?(@.type==\"MinAvailableBreached\")].status p1";
    let expected = [
        "PodCliqueSet grove.io/v1alpha1 podcliquesets podcliqueset pcs Namespaced status
scale .spec.replicas .status.replicas .status.hpaPodSelector
Replicas integer .spec.replicas
Available integer .status.availableReplicas
Updated integer .status.updatedReplicas
PCLQs-Updated integer .status.updateProgress.updatedPodCliquesCount
PCLQs-Total integer .status.updateProgress.totalPodCliquesCount
PCSGs-Updated integer .status.updateProgress.updatedPodCliqueScalingGroupsCount
PCSGs-Total integer .status.updateProgress.totalPodCliqueScalingGroupsCount
Age date .metadata.creationTimestamp",
        &format!(
            "PodCliqueScalingGroup grove.io/v1alpha1 podcliquescalinggroups podcliquescalinggroup pcsg Namespaced status
scale .spec.replicas .status.replicas .status.selector
MinAvail integer .spec.minAvailable
Replicas integer .spec.replicas
Available integer .status.availableReplicas
Scheduled integer .status.scheduledReplicas
Updated integer .status.updatedReplicas
PCLQs-Updated integer .status.updateProgress.updatedPodCliquesCount
PCLQs-Total integer .status.updateProgress.totalPodCliquesCount
MinBreached string {breached}
Age date .metadata.creationTimestamp"
        ),
        &format!(
            "PodClique grove.io/v1alpha1 podcliques podclique pclq Namespaced status
scale .spec.replicas .status.replicas .status.hpaPodSelector
MinAvail integer .spec.minAvailable
Replicas integer .spec.replicas
Ready integer .status.readyReplicas
Scheduled integer .status.scheduledReplicas
Updated integer .status.updatedReplicas
Gated integer .status.scheduleGatedReplicas p1
MinBreached string {breached}
Age date .metadata.creationTimestamp"
        ),
        // The status is ours (12), and so are the columns of nodes.
        "ClusterTopology grove.io/v1alpha1 clustertopologies clustertopology ct Cluster status
Domains string .spec.levels[*].domain
Nodes integer .status.labelledNodes
Partial integer .status.partiallyLabelledNodes p1
Age date .metadata.creationTimestamp",
        // What the scheduler found is ours to show (50).
        "PodGang scheduler.grove.io/v1alpha1 podgangs podgang pg Namespaced status
Phase string .status.phase
Scheduled string .status.conditions[?(@.type==\"Scheduled\")].status
Score number .status.placementScore p1
Age date .metadata.creationTimestamp",
        // Ours alone (27).
        "Pool trellis.dev/v1alpha1 pools pool  Cluster status
Keys string .spec.topology_keys[*].key
Scheduler string .spec.scheduler_settings.scheduler_type
Nodes integer .status.nodes
Age date .metadata.creationTimestamp",
        "Workflow trellis.dev/v1alpha1 workflows workflow  Namespaced status
Status string .status.state
Pool string .status.pool
Priority string .spec.priority p1
Age date .metadata.creationTimestamp",
        "Topology kai.scheduler/v1alpha1 topologies topology  Cluster",
        "PodGroup scheduling.run.ai/v2alpha2 podgroups podgroup  Namespaced status",
        "Queue scheduling.run.ai/v2 queues queue  Cluster",
    ];
    let actual: Vec<String> = all().iter().map(|(_, crd)| summary(crd)).collect();
    assert_eq!(actual, expected);
}

#[test]
fn grove1_fields() {
    let check = |kind: &str, path: &str, fields: &str| {
        let schema = schema(kind);
        let found = at(&schema, path);
        let found = if found["items"].is_object() { &found["items"] } else { found };
        let mut found: Vec<&str> = found["properties"].as_object().expect(path).keys().map(String::as_str).collect();
        let mut fields: Vec<&str> = fields.split_whitespace().collect();
        found.sort_unstable();
        fields.sort_unstable();
        assert_eq!(found, fields, "{kind} {path}");
    };
    let set = |path: &str, fields: &str| check("PodCliqueSet", path, fields);
    set("spec", "replicas updateStrategy template");
    set(
        "spec.template",
        "cliques cliqueStartupType priorityClassName headlessServiceConfig clusterTopologyName \
        topologyConstraint terminationDelay podCliqueScalingGroups resourceClaimTemplates resourceSharing",
    );
    set("spec.template.cliques", "name labels annotations topologyConstraint resourceSharing spec");
    let clique = "roleName podSpec replicas minAvailable startsAfter autoScalingConfig";
    set("spec.template.cliques.spec", clique);
    set("spec.template.cliques.spec.autoScalingConfig", "minReplicas maxReplicas metrics");
    set(
        "spec.template.podCliqueScalingGroups",
        "name cliqueNames annotations replicas minAvailable scaleConfig resourceSharing \
        topologyConstraint",
    );
    set("spec.template.podCliqueScalingGroups.scaleConfig", "minReplicas maxReplicas metrics");
    set("spec.template.resourceSharing", "name namespace scope filter");
    set("spec.template.resourceSharing.filter", "childCliqueNames childScalingGroupNames");
    set("spec.template.resourceClaimTemplates", "name templateSpec");
    set(
        "status",
        "observedGeneration conditions lastErrors replicas updatedReplicas availableReplicas hpaPodSelector \
        podGangStatuses currentGenerationHash updateProgress",
    );
    set("status.lastErrors", "code description observedAt");
    set("status.podGangStatuses", "name phase conditions");
    set(
        "status.updateProgress",
        "updateStartedAt updateEndedAt updatedPodCliquesCount totalPodCliquesCount \
        updatedPodCliqueScalingGroupsCount totalPodCliqueScalingGroupsCount currentlyUpdating",
    );
    set("status.updateProgress.currentlyUpdating", "replicaIndex updateStartedAt updateEndedAt");

    let group = |path: &str, fields: &str| check("PodCliqueScalingGroup", path, fields);
    group("spec", "replicas minAvailable cliqueNames");
    group(
        "status",
        "observedGeneration lastErrors conditions replicas scheduledReplicas availableReplicas updatedReplicas \
        selector currentPodCliqueSetGenerationHash updateProgress",
    );
    group(
        "status.updateProgress",
        "updateStartedAt updateEndedAt podCliqueSetGenerationHash updatedPodCliquesCount \
        totalPodCliquesCount readyReplicaIndicesSelectedToUpdate",
    );
    group("status.updateProgress.readyReplicaIndicesSelectedToUpdate", "current completed");

    check("PodClique", "spec", clique);
    check(
        "PodClique",
        "status",
        "observedGeneration lastErrors replicas readyReplicas updatedReplicas scheduleGatedReplicas \
        scheduledReplicas hpaPodSelector conditions currentPodCliqueSetGenerationHash currentPodTemplateHash updateProgress",
    );
    check(
        "PodClique",
        "status.updateProgress",
        "updateStartedAt updateEndedAt podCliqueSetGenerationHash podTemplateHash \
        readyPodsSelectedToUpdate",
    );

    let gang = |path: &str, fields: &str| check("PodGang", path, fields);
    gang("spec", "podgroups topologyConstraint topologyConstraintGroupConfigs priorityClassName reuseReservationRef");
    gang("spec.podgroups", "name podReferences minReplicas topologyConstraint");
    gang("spec.podgroups.podReferences", "namespace name");
    gang("spec.topologyConstraintGroupConfigs", "name podGroupNames topologyConstraint");
    gang("spec.topologyConstraint.packConstraint", "required preferred");
    gang("status", "phase conditions placementScore");
    check("ClusterTopology", "spec.levels", "domain key");
}
