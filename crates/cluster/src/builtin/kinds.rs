//! Which built-in kinds there are, with the names, scopes, subresources and selectable fields that a real server gives them.

use k8s_openapi::api::admissionregistration::v1::{MutatingWebhookConfiguration, ValidatingWebhookConfiguration};
use k8s_openapi::api::authentication::v1::{SelfSubjectReview, TokenRequest, TokenReview};
use k8s_openapi::api::authorization::v1::{
    LocalSubjectAccessReview, SelfSubjectAccessReview, SelfSubjectRulesReview, SubjectAccessReview,
};
use k8s_openapi::api::autoscaling::v1::Scale;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{
    Binding, ConfigMap, Event, Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, Secret, Service,
    ServiceAccount,
};
use k8s_openapi::api::events::v1::Event as NewEvent;
use k8s_openapi::api::node::v1::RuntimeClass;
use k8s_openapi::api::policy::v1::{Eviction, PodDisruptionBudget};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use k8s_openapi::api::resource::v1::{DeviceClass, ResourceClaim, ResourceClaimTemplate};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::api::storage::v1::StorageClass;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{DeleteOptions, Status};
use schemars::{JsonSchema, Schema, SchemaGenerator};

/// One kind as the table has it.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// The one version that is served.
    pub version: &'static str,
    /// As in objects: `Pod`.
    pub kind: &'static str,
    /// As in paths: `pods`.
    pub plural: &'static str,
    /// `po`
    pub short: &'static [&'static str],
    /// `all`
    pub categories: &'static [&'static str],
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// Whether there is `/status`.
    pub status: bool,
    /// Other subresources.
    pub others: &'static [&'static str],
    /// Fields that selectors may name.
    pub selectable: &'static [&'static str],
    /// Whether objects are answers, never stored.
    pub answer: bool,
    /// Makes the schema of its type.
    pub schema: Of,
}

/// Makes the schema of a type.
pub type Of = fn(&mut SchemaGenerator) -> Schema;

fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// What most kinds have.
const PLAIN: Entry = Entry {
    group: "",
    version: "v1",
    kind: "",
    plural: "",
    short: &[],
    categories: &[],
    namespaced: true,
    status: false,
    others: &[],
    selectable: &[],
    answer: false,
    schema: of::<Status>,
};

const AUTHORIZATION: Entry = Entry { group: "authorization.k8s.io", namespaced: false, answer: true, ..PLAIN };
const AUTHENTICATION: Entry = Entry { group: "authentication.k8s.io", namespaced: false, answer: true, ..PLAIN };
const RBAC: Entry = Entry { group: "rbac.authorization.k8s.io", ..PLAIN };
const WEBHOOKS: Entry =
    Entry { group: "admissionregistration.k8s.io", namespaced: false, categories: &["api-extensions"], ..PLAIN };
const DEVICES: Entry = Entry { group: "resource.k8s.io", ..PLAIN };

/// Types that are no kinds of their own but stand in requests and answers.
pub const PARAMETERS: &[Of] = &[of::<Scale>, of::<Eviction>, of::<TokenRequest>, of::<DeleteOptions>, of::<Status>];

/// All kinds, in the order in which a real server lists their groups.
pub const ALL: &[Entry] = &[
    Entry { kind: "Binding", plural: "bindings", answer: true, schema: of::<Binding>, ..PLAIN },
    Entry { kind: "ConfigMap", plural: "configmaps", short: &["cm"], schema: of::<ConfigMap>, ..PLAIN },
    Entry {
        kind: "Event",
        plural: "events",
        short: &["ev"],
        selectable: &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        schema: of::<Event>,
        ..PLAIN
    },
    Entry {
        kind: "Namespace",
        plural: "namespaces",
        short: &["ns"],
        namespaced: false,
        status: true,
        others: &["finalize"],
        selectable: &["status.phase"],
        schema: of::<Namespace>,
        ..PLAIN
    },
    Entry {
        kind: "Node",
        plural: "nodes",
        short: &["no"],
        namespaced: false,
        status: true,
        selectable: &["spec.unschedulable"],
        schema: of::<Node>,
        ..PLAIN
    },
    Entry {
        kind: "PersistentVolumeClaim",
        plural: "persistentvolumeclaims",
        short: &["pvc"],
        status: true,
        schema: of::<PersistentVolumeClaim>,
        ..PLAIN
    },
    Entry {
        kind: "PersistentVolume",
        plural: "persistentvolumes",
        short: &["pv"],
        namespaced: false,
        status: true,
        schema: of::<PersistentVolume>,
        ..PLAIN
    },
    Entry {
        kind: "Pod",
        plural: "pods",
        short: &["po"],
        categories: &["all"],
        status: true,
        others: &["binding", "eviction"],
        selectable: &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.podIPs",
            "status.nominatedNodeName",
        ],
        schema: of::<Pod>,
        ..PLAIN
    },
    Entry { kind: "Secret", plural: "secrets", selectable: &["type"], schema: of::<Secret>, ..PLAIN },
    Entry {
        kind: "ServiceAccount",
        plural: "serviceaccounts",
        short: &["sa"],
        others: &["token"],
        schema: of::<ServiceAccount>,
        ..PLAIN
    },
    Entry {
        kind: "Service",
        plural: "services",
        short: &["svc"],
        categories: &["all"],
        status: true,
        selectable: &["spec.clusterIP", "spec.type"],
        schema: of::<Service>,
        ..PLAIN
    },
    Entry {
        group: "events.k8s.io",
        kind: "Event",
        plural: "events",
        short: &["ev"],
        selectable: &[
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "regarding.apiVersion",
            "regarding.resourceVersion",
            "regarding.fieldPath",
            "reason",
            "reportingController",
            "type",
        ],
        schema: of::<NewEvent>,
        ..PLAIN
    },
    Entry {
        kind: "SelfSubjectReview",
        plural: "selfsubjectreviews",
        schema: of::<SelfSubjectReview>,
        ..AUTHENTICATION
    },
    Entry { kind: "TokenReview", plural: "tokenreviews", schema: of::<TokenReview>, ..AUTHENTICATION },
    Entry {
        kind: "LocalSubjectAccessReview",
        plural: "localsubjectaccessreviews",
        namespaced: true,
        schema: of::<LocalSubjectAccessReview>,
        ..AUTHORIZATION
    },
    Entry {
        kind: "SelfSubjectAccessReview",
        plural: "selfsubjectaccessreviews",
        schema: of::<SelfSubjectAccessReview>,
        ..AUTHORIZATION
    },
    Entry {
        kind: "SelfSubjectRulesReview",
        plural: "selfsubjectrulesreviews",
        schema: of::<SelfSubjectRulesReview>,
        ..AUTHORIZATION
    },
    Entry {
        kind: "SubjectAccessReview",
        plural: "subjectaccessreviews",
        schema: of::<SubjectAccessReview>,
        ..AUTHORIZATION
    },
    Entry {
        group: "autoscaling",
        version: "v2",
        kind: "HorizontalPodAutoscaler",
        plural: "horizontalpodautoscalers",
        short: &["hpa"],
        categories: &["all"],
        status: true,
        schema: of::<HorizontalPodAutoscaler>,
        ..PLAIN
    },
    Entry {
        group: "policy",
        kind: "PodDisruptionBudget",
        plural: "poddisruptionbudgets",
        short: &["pdb"],
        status: true,
        schema: of::<PodDisruptionBudget>,
        ..PLAIN
    },
    Entry {
        kind: "ClusterRoleBinding",
        plural: "clusterrolebindings",
        namespaced: false,
        schema: of::<ClusterRoleBinding>,
        ..RBAC
    },
    Entry { kind: "ClusterRole", plural: "clusterroles", namespaced: false, schema: of::<ClusterRole>, ..RBAC },
    Entry { kind: "RoleBinding", plural: "rolebindings", schema: of::<RoleBinding>, ..RBAC },
    Entry { kind: "Role", plural: "roles", schema: of::<Role>, ..RBAC },
    Entry {
        group: "storage.k8s.io",
        kind: "StorageClass",
        plural: "storageclasses",
        short: &["sc"],
        namespaced: false,
        schema: of::<StorageClass>,
        ..PLAIN
    },
    Entry {
        kind: "MutatingWebhookConfiguration",
        plural: "mutatingwebhookconfigurations",
        schema: of::<MutatingWebhookConfiguration>,
        ..WEBHOOKS
    },
    Entry {
        kind: "ValidatingWebhookConfiguration",
        plural: "validatingwebhookconfigurations",
        schema: of::<ValidatingWebhookConfiguration>,
        ..WEBHOOKS
    },
    Entry {
        group: "apiextensions.k8s.io",
        kind: "CustomResourceDefinition",
        plural: "customresourcedefinitions",
        short: &["crd", "crds"],
        categories: &["api-extensions"],
        namespaced: false,
        status: true,
        schema: of::<CustomResourceDefinition>,
        ..PLAIN
    },
    Entry {
        group: "scheduling.k8s.io",
        kind: "PriorityClass",
        plural: "priorityclasses",
        short: &["pc"],
        namespaced: false,
        schema: of::<PriorityClass>,
        ..PLAIN
    },
    Entry { group: "coordination.k8s.io", kind: "Lease", plural: "leases", schema: of::<Lease>, ..PLAIN },
    Entry {
        group: "node.k8s.io",
        kind: "RuntimeClass",
        plural: "runtimeclasses",
        namespaced: false,
        schema: of::<RuntimeClass>,
        ..PLAIN
    },
    Entry { kind: "DeviceClass", plural: "deviceclasses", namespaced: false, schema: of::<DeviceClass>, ..DEVICES },
    Entry { kind: "ResourceClaim", plural: "resourceclaims", status: true, schema: of::<ResourceClaim>, ..DEVICES },
    Entry {
        kind: "ResourceClaimTemplate",
        plural: "resourceclaimtemplates",
        schema: of::<ResourceClaimTemplate>,
        ..DEVICES
    },
];
