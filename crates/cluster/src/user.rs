//! Who asks. Rights are not enforced here; admission sees the user, and so does `auth whoami`.

use serde_json::{Value, json};

/// The user of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// `system:serviceaccount:…`, `system:node:…`, or a person's name.
    pub name: String,
    /// The groups of the user.
    pub groups: Vec<String>,
}

impl User {
    /// The one whose token is in the kubeconfig.
    pub fn admin() -> Self {
        Self::with_groups("admin", &["system:masters", "system:authenticated"])
    }

    /// A service account.
    pub fn service_account(namespace: &str, name: &str) -> Self {
        let groups = ["system:serviceaccounts", &format!("system:serviceaccounts:{namespace}"), "system:authenticated"];
        Self::with_groups(&format!("system:serviceaccount:{namespace}:{name}"), &groups)
    }

    /// A node's kubelet.
    pub fn node(name: &str) -> Self {
        Self::with_groups(&format!("system:node:{name}"), &["system:nodes", "system:authenticated"])
    }

    /// A part of the cluster itself.
    pub fn system(name: &str) -> Self {
        Self::with_groups(&format!("system:{name}"), &["system:masters", "system:authenticated"])
    }

    fn with_groups(name: &str, groups: &[&str]) -> Self {
        Self { name: name.to_owned(), groups: groups.iter().map(|&group| group.to_owned()).collect() }
    }

    /// As in `AdmissionReview` and `SelfSubjectReview`.
    pub fn to_json(&self) -> Value {
        json!({"username": self.name, "groups": self.groups})
    }
}
