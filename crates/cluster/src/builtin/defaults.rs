//! What is filled in when an object is read, by the type of each of its parts.

mod pod;
mod rest;
mod service;

use serde_json::{Map, Value};

/// Type (below `io.k8s.api.`), field, and the value that stands there when nothing is given. Defaults that published schemas tell are
/// with the marks.
pub const BY_TYPE: &[(&str, &str, &str)] = &[
    ("core.v1.PodSpec", "dnsPolicy", r#""ClusterFirst""#),
    ("core.v1.PodSpec", "restartPolicy", r#""Always""#),
    ("core.v1.PodSpec", "schedulerName", r#""default-scheduler""#),
    ("core.v1.PodSpec", "securityContext", "{}"),
    ("core.v1.PodSpec", "terminationGracePeriodSeconds", "30"),
    ("core.v1.Container", "terminationMessagePath", r#""/dev/termination-log""#),
    ("core.v1.Container", "terminationMessagePolicy", r#""File""#),
    ("core.v1.EphemeralContainer", "terminationMessagePath", r#""/dev/termination-log""#),
    ("core.v1.EphemeralContainer", "terminationMessagePolicy", r#""File""#),
    ("core.v1.Probe", "timeoutSeconds", "1"),
    ("core.v1.Probe", "periodSeconds", "10"),
    ("core.v1.Probe", "successThreshold", "1"),
    ("core.v1.Probe", "failureThreshold", "3"),
    ("core.v1.HTTPGetAction", "path", r#""/""#),
    ("core.v1.HTTPGetAction", "scheme", r#""HTTP""#),
    ("core.v1.ObjectFieldSelector", "apiVersion", r#""v1""#),
    ("core.v1.ConfigMapVolumeSource", "defaultMode", "420"),
    ("core.v1.SecretVolumeSource", "defaultMode", "420"),
    ("core.v1.DownwardAPIVolumeSource", "defaultMode", "420"),
    ("core.v1.ProjectedVolumeSource", "defaultMode", "420"),
    ("core.v1.ServiceAccountTokenProjection", "expirationSeconds", "3600"),
    ("core.v1.HostPathVolumeSource", "type", r#""""#),
    ("core.v1.Secret", "type", r#""Opaque""#),
    ("core.v1.NamespaceStatus", "phase", r#""Active""#),
    ("core.v1.PersistentVolumeStatus", "phase", r#""Pending""#),
    ("core.v1.PersistentVolumeSpec", "persistentVolumeReclaimPolicy", r#""Retain""#),
    ("core.v1.PersistentVolumeSpec", "volumeMode", r#""Filesystem""#),
    ("core.v1.PersistentVolumeClaimStatus", "phase", r#""Pending""#),
    ("core.v1.PersistentVolumeClaimSpec", "volumeMode", r#""Filesystem""#),
    ("rbac.v1.RoleRef", "apiGroup", r#""rbac.authorization.k8s.io""#),
    ("scheduling.v1.PriorityClass", "preemptionPolicy", r#""PreemptLowerPriority""#),
    ("storage.v1.StorageClass", "reclaimPolicy", r#""Delete""#),
    ("storage.v1.StorageClass", "volumeBindingMode", r#""Immediate""#),
    ("authentication.v1.TokenRequestSpec", "expirationSeconds", "3600"),
    ("autoscaling.v2.HorizontalPodAutoscalerSpec", "minReplicas", "1"),
    ("admissionregistration.v1.ValidatingWebhook", "failurePolicy", r#""Fail""#),
    ("admissionregistration.v1.ValidatingWebhook", "matchPolicy", r#""Equivalent""#),
    ("admissionregistration.v1.ValidatingWebhook", "namespaceSelector", "{}"),
    ("admissionregistration.v1.ValidatingWebhook", "objectSelector", "{}"),
    ("admissionregistration.v1.ValidatingWebhook", "timeoutSeconds", "10"),
    ("admissionregistration.v1.MutatingWebhook", "failurePolicy", r#""Fail""#),
    ("admissionregistration.v1.MutatingWebhook", "matchPolicy", r#""Equivalent""#),
    ("admissionregistration.v1.MutatingWebhook", "namespaceSelector", "{}"),
    ("admissionregistration.v1.MutatingWebhook", "objectSelector", "{}"),
    ("admissionregistration.v1.MutatingWebhook", "timeoutSeconds", "10"),
    ("admissionregistration.v1.MutatingWebhook", "reinvocationPolicy", r#""Never""#),
    ("admissionregistration.v1.RuleWithOperations", "scope", r#""*""#),
    ("admissionregistration.v1.ServiceReference", "port", "443"),
];

/// Fills in a struct what depends on its other fields; its parts are done already.
pub fn complete(name: &str, object: &mut Map<String, Value>) {
    match name {
        "io.k8s.api.core.v1.Pod" => pod::complete(object),
        "io.k8s.api.core.v1.PodSpec" => pod::complete_spec(object),
        "io.k8s.api.core.v1.PodStatus" => pod::complete_status(object),
        "io.k8s.api.core.v1.Container" | "io.k8s.api.core.v1.EphemeralContainer" => pod::complete_container(object),
        "io.k8s.api.core.v1.Volume" => pod::complete_volume(object),
        "io.k8s.api.core.v1.Service" => service::complete(object),
        "io.k8s.api.core.v1.Namespace" => rest::complete_namespace(object),
        "io.k8s.api.core.v1.NodeSpec" => rest::complete_node_spec(object),
        "io.k8s.api.core.v1.NodeStatus" => rest::complete_node_status(object),
        "io.k8s.api.core.v1.Secret" => rest::complete_secret(object),
        "io.k8s.api.rbac.v1.Subject" => rest::complete_subject(object),
        "io.k8s.api.resource.v1.ExactDeviceRequest" | "io.k8s.api.resource.v1.DeviceSubRequest" => {
            rest::complete_device_request(object);
        }
        "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerSpec" => rest::complete_autoscaler(object),
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition" => {
            rest::complete_definition(object);
        }
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.ServiceReference" => {
            super::reach::fill(object, "port", 443);
        }
        _ => {}
    }
}
