//! What is refused of security contexts.

use serde_json::Value;

use super::Findings;
use crate::builtin::inside;
use crate::builtin::reach::{list, truth};

/// The context of a pod as a whole.
pub fn of_pod(spec: &Value, found: &mut Findings) {
    let context = &spec["securityContext"];
    ids(context, "spec.securityContext", &["fsGroup", "runAsUser", "runAsGroup"], found);
    for (index, group) in list(context, "supplementalGroups").iter().enumerate() {
        id(group, &format!("spec.securityContext.supplementalGroups[{index}]"), found);
    }
    if truth(spec, "shareProcessNamespace") && truth(spec, "hostPID") {
        let detail = "ShareProcessNamespace and HostPID cannot both be enabled";
        found.invalid("spec.securityContext.shareProcessNamespace", true, detail);
    }
}

/// The context of a container.
pub fn of_container(context: &Value, path: &str, found: &mut Findings) {
    ids(context, path, &["runAsUser", "runAsGroup"], found);
    if context["allowPrivilegeEscalation"] != false {
        return;
    }
    if truth(context, "privileged") {
        let detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
        found.shown(path, &inside::compact("SecurityContext", context), detail);
    }
    for _ in list(context, "capabilities.add").iter().filter(|capability| *capability == "CAP_SYS_ADMIN") {
        let detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
        found.shown(path, &inside::compact("SecurityContext", context), detail);
    }
}

fn ids(context: &Value, path: &str, fields: &[&str], found: &mut Findings) {
    for field in fields {
        id(&context[*field], &format!("{path}.{field}"), found);
    }
}

fn id(value: &Value, field: &str, found: &mut Findings) {
    if let Some(number) = value.as_i64().filter(|number| !(0..=i64::from(i32::MAX)).contains(number)) {
        found.invalid(field, number, "must be between 0 and 2147483647, inclusive");
    }
}
