//! What is refused of roles and their bindings.

use serde_json::Value;

use super::Findings;
use crate::builtin::metadata::selector_faults;
use crate::builtin::names::{self, Rule};
use crate::builtin::reach::{list, text};

/// A role.
pub fn role(kind: &str, new: &Value, found: &mut Findings) {
    for (index, rule) in list(new, "rules").iter().enumerate() {
        let path = format!("rules[{index}]");
        if list(rule, "verbs").is_empty() {
            found.required(&format!("{path}.verbs"), "verbs must contain at least one value");
        }
        let urls = list(rule, "nonResourceURLs");
        let field = format!("{path}.nonResourceURLs");
        if !urls.is_empty() {
            if kind == "Role" {
                found.invalid(&field, urls, "namespaced rules cannot apply to non-resource URLs");
            }
            if ["apiGroups", "resources", "resourceNames"].iter().any(|part| !list(rule, part).is_empty()) {
                found.invalid(&field, urls, "rules cannot apply to both regular resources and non-resource URLs");
            }
            continue;
        }
        if list(rule, "apiGroups").is_empty() {
            found.required(&format!("{path}.apiGroups"), "resource rules must supply at least one api group");
        }
        if list(rule, "resources").is_empty() {
            found.required(&format!("{path}.resources"), "resource rules must supply at least one resource");
        }
    }
    if !new["aggregationRule"].is_null() {
        let selectors = list(new, "aggregationRule.clusterRoleSelectors");
        let path = "aggregationRule.clusterRoleSelectors";
        if selectors.is_empty() {
            found.required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil");
        }
        for (index, selector) in selectors.iter().enumerate() {
            selector_faults(selector, &format!("{path}[{index}]"), &mut found.faults);
        }
    }
}

const RBAC: &str = "rbac.authorization.k8s.io";

/// A binding of a role.
pub fn role_binding(kind: &str, new: &Value, old: Option<&Value>, found: &mut Findings) {
    let role = &new["roleRef"];
    let namespaced = kind == "RoleBinding";
    if text(role, "apiGroup") != RBAC {
        found.unsupported("roleRef.apiGroup", text(role, "apiGroup"), &[RBAC]);
    }
    let kinds: &[&str] = if namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    if !kinds.contains(&text(role, "kind")) {
        found.unsupported("roleRef.kind", text(role, "kind"), kinds);
    }
    let name = text(role, "name");
    if name.is_empty() {
        found.required("roleRef.name", "");
    } else {
        found.each("roleRef.name", name, names::faults(Rule::Segment, name, false));
    }
    for (index, subject) in list(new, "subjects").iter().enumerate() {
        self::subject(subject, namespaced, &format!("subjects[{index}]"), found);
    }
    if old.is_some_and(|old| old["roleRef"] != *role) {
        let shown =
            format!("{{\"APIGroup\":{},\"Kind\":{},\"Name\":{}}}", role["apiGroup"], role["kind"], role["name"]);
        found.shown("roleRef", &shown, "cannot change roleRef");
    }
}

fn subject(subject: &Value, namespaced: bool, path: &str, found: &mut Findings) {
    let (name, group) = (text(subject, "name"), text(subject, "apiGroup"));
    if name.is_empty() {
        found.required(&format!("{path}.name"), "");
    }
    match text(subject, "kind") {
        "ServiceAccount" => {
            found.subdomain(path, subject, "name");
            if !group.is_empty() {
                found.unsupported(&format!("{path}.apiGroup"), group, &[""]);
            }
            if !namespaced && text(subject, "namespace").is_empty() {
                found.required(&format!("{path}.namespace"), "");
            }
        }
        "User" | "Group" => {
            if group != RBAC {
                found.unsupported(&format!("{path}.apiGroup"), group, &[RBAC]);
            }
        }
        kind => found.unsupported(&format!("{path}.kind"), kind, &["ServiceAccount", "User", "Group"]),
    }
}
