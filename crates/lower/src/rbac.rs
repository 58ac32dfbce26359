//! What pods that wait for others need: an account that may read pods.

use crate::startup;
use crate::{child_metadata, name, namespace};
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{PolicyRule, Role, RoleBinding, RoleRef, Subject};
use std::collections::BTreeSet;
use trellis_api::kinds::PodCliqueSet;
use trellis_api::names::{self, component};

/// The three objects, or none of them for a set without a startup order.
#[derive(Debug, Default)]
pub struct Rbac {
    /// Account of pods that wait for others and name none.
    pub service_account: Option<ServiceAccount>,
    /// What pods that wait for others may read.
    pub role: Option<Role>,
    /// Who may read it.
    pub role_binding: Option<RoleBinding>,
}

/// The binding lists the accounts of the cliques that wait; those that name none share the set's own.
pub fn rbac(set: &PodCliqueSet) -> Rbac {
    let waiting = set.spec.template.cliques.iter().filter(|clique| startup::waits(set, &clique.name));
    let accounts: BTreeSet<&str> =
        waiting.map(|clique| clique.spec.pod_spec.service_account().unwrap_or_else(|| name(set))).collect();
    if accounts.is_empty() {
        return Rbac::default();
    }
    let role_name = names::pod_role(name(set));
    let named_by_nobody = set
        .spec
        .template
        .cliques
        .iter()
        .any(|clique| startup::waits(set, &clique.name) && clique.spec.pod_spec.service_account().is_none());
    let subject = |account: &str| Subject {
        kind: "ServiceAccount".to_owned(),
        name: account.to_owned(),
        namespace: Some(namespace(set).to_owned()),
        api_group: None,
    };
    Rbac {
        service_account: named_by_nobody.then(|| ServiceAccount {
            metadata: child_metadata(set, name(set), component::POD_SERVICE_ACCOUNT),
            ..ServiceAccount::default()
        }),
        role: Some(Role {
            metadata: child_metadata(set, &role_name, component::POD_ROLE),
            rules: Some(vec![PolicyRule {
                api_groups: Some(vec![String::new()]),
                resources: Some(vec!["pods".to_owned()]),
                verbs: ["get", "list", "watch"].map(str::to_owned).to_vec(),
                ..PolicyRule::default()
            }]),
        }),
        role_binding: Some(RoleBinding {
            metadata: child_metadata(set, &role_name, component::POD_ROLE_BINDING),
            role_ref: RoleRef {
                api_group: "rbac.authorization.k8s.io".to_owned(),
                kind: "Role".to_owned(),
                name: role_name,
            },
            subjects: Some(accounts.into_iter().map(subject).collect()),
        }),
    }
}
