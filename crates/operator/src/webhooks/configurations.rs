//! The objects that tell API servers which requests to ask us about, and where.
//!
//! They are written only where something of ours differs, so that keeping them current costs reads alone.

use std::fmt::Debug;

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MatchCondition, MutatingWebhook, MutatingWebhookConfiguration, RuleWithOperations, ServiceReference,
    ValidatingWebhook, ValidatingWebhookConfiguration, WebhookClientConfig,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use kube::{Api, Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use trellis_api::names::{self, group, label};

use super::path;

/// Under which name the operator owns fields.
const FIELD_MANAGER: &str = "trellis-operator";
/// How long an API server waits for an answer.
const TIMEOUT_SECONDS: i32 = 10;

/// How API servers reach the webhooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// By a Service inside the cluster.
    Service {
        /// Namespace of the Service.
        namespace: String,
        /// Name of the Service.
        name: String,
        /// Port of the Service.
        port: u16,
    },
    /// By an address, `https://host:port`, to which the path of each webhook is added.
    Url(String),
}

impl Reach {
    pub(super) fn client(&self, path: &str, ca_bundle: Option<&[u8]>) -> WebhookClientConfig {
        let ca_bundle = ca_bundle.map(|bundle| ByteString(bundle.to_vec()));
        match self {
            Self::Service { namespace, name, port } => {
                let service = ServiceReference {
                    namespace: namespace.clone(),
                    name: name.clone(),
                    path: Some(path.to_owned()),
                    port: Some(i32::from(*port)),
                };
                WebhookClientConfig { ca_bundle, service: Some(service), url: None }
            }
            Self::Url(base) => {
                let url = format!("{}{path}", base.trim_end_matches('/'));
                WebhookClientConfig { ca_bundle, service: None, url: Some(url) }
            }
        }
    }
}

/// All configurations of our webhooks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Configurations {
    /// Those that change objects.
    pub mutating: Vec<MutatingWebhookConfiguration>,
    /// Those that judge objects.
    pub validating: Vec<ValidatingWebhookConfiguration>,
}

/// A webhook, before it is known which kind of configuration holds it.
struct Hook {
    configuration: &'static str,
    name: &'static str,
    path: &'static str,
    rules: Vec<RuleWithOperations>,
    conditions: Vec<MatchCondition>,
    objects: Option<LabelSelector>,
}

const AUTHORIZER: &str = "authorizer-webhook";
const MUTATING: [&str; 3] = [
    "podcliqueset-defaulting-webhook",
    "clustertopology-defaulting-webhook",
    "dynamographdeployment-defaulting-webhook",
];
const VALIDATING: [&str; 6] = [
    "podcliqueset-validating-webhook",
    "clustertopology-validating-webhook",
    "dynamographdeployment-validating-webhook",
    "pool-validating-webhook",
    "workflow-validating-webhook",
    AUTHORIZER,
];

/// The configurations, for webhooks that are reached in this way and vouched for by this bundle of authorities.
///
/// Without a bundle the field is left to whoever injects it. `operator_user` is never asked about topologies, so that its write of
/// the default one does not depend on its own webhook, nor about what it manages itself. DynamoGraphDeployments are asked about if they
/// are ours.
pub fn configurations(
    reach: &Reach,
    ca_bundle: Option<&[u8]>,
    operator_user: &str,
    authorizer: bool,
    dynamo: bool,
) -> Configurations {
    let not_operator = condition("not-the-operator", format!("request.userInfo.username != {}", quoted(operator_user)));
    // Nothing is held against a set that is being deleted, so its end need not wait for us.
    let not_deleted = condition("not-being-deleted", "!has(object.metadata.deletionTimestamp)".to_owned());
    let sets = |resources: &[&str], operations: &[&str]| rule(group::GROVE, &[group::V1ALPHA1], resources, operations);
    let both = ["CREATE", "UPDATE"];
    let topologies = || vec![rule(group::GROVE, &[group::V1ALPHA1], &["clustertopologies"], &both)];
    // In both versions, so that they come as they were written, and faults name the fields that were written.
    let deployments =
        || vec![rule(group::NVIDIA, &[group::V1ALPHA1, group::V1BETA1], &["dynamographdeployments"], &both)];
    let mut mutating = vec![
        Hook {
            configuration: MUTATING[0],
            name: "pcs.defaulting.webhooks.grove.io",
            path: path::DEFAULT_SET,
            rules: vec![sets(&["podcliquesets"], &both)],
            conditions: vec![not_deleted.clone()],
            objects: None,
        },
        Hook {
            configuration: MUTATING[1],
            name: "clustertopology.defaulting.webhooks.grove.io",
            path: path::DEFAULT_TOPOLOGY,
            rules: topologies(),
            conditions: vec![not_operator.clone()],
            objects: None,
        },
    ];
    let mut validating = vec![
        Hook {
            configuration: VALIDATING[0],
            name: "pcs.validating.webhooks.grove.io",
            path: path::VALIDATE_SET,
            rules: vec![sets(&["podcliquesets"], &both), sets(&["podcliquesets/scale"], &["UPDATE"])],
            conditions: vec![not_deleted.clone()],
            objects: None,
        },
        Hook {
            configuration: VALIDATING[1],
            name: "clustertopology.validating.webhooks.grove.io",
            path: path::VALIDATE_TOPOLOGY,
            rules: topologies(),
            conditions: vec![not_operator.clone()],
            objects: None,
        },
        Hook {
            configuration: VALIDATING[3],
            name: "pool.validating.webhooks.trellis.dev",
            path: path::VALIDATE_POOL,
            rules: vec![rule(group::TRELLIS, &[group::V1ALPHA1], &["pools"], &both)],
            conditions: vec![not_deleted.clone()],
            objects: None,
        },
        Hook {
            configuration: VALIDATING[4],
            name: "workflow.validating.webhooks.trellis.dev",
            path: path::VALIDATE_WORKFLOW,
            rules: vec![rule(group::TRELLIS, &[group::V1ALPHA1], &["workflows"], &both)],
            conditions: vec![not_deleted.clone()],
            objects: None,
        },
    ];
    if dynamo {
        mutating.push(Hook {
            configuration: MUTATING[2],
            name: "dynamographdeployment.defaulting.webhooks.trellis.dev",
            path: path::DEFAULT_DEPLOYMENT,
            rules: deployments(),
            conditions: vec![not_deleted.clone()],
            objects: None,
        });
        validating.push(Hook {
            configuration: VALIDATING[2],
            name: "dynamographdeployment.validating.webhooks.trellis.dev",
            path: path::VALIDATE_DEPLOYMENT,
            rules: deployments(),
            conditions: vec![not_deleted],
            objects: None,
        });
    }
    if authorizer {
        validating.push(Hook {
            configuration: AUTHORIZER,
            name: "authorizer.webhooks.grove.io",
            path: path::AUTHORIZE,
            rules: managed(),
            conditions: vec![not_operator],
            objects: Some(LabelSelector {
                match_labels: Some([(label::MANAGED_BY.to_owned(), names::MANAGED_BY.to_owned())].into()),
                ..LabelSelector::default()
            }),
        });
    }
    Configurations {
        mutating: mutating.into_iter().map(|hook| hook.mutating(reach, ca_bundle)).collect(),
        validating: validating.into_iter().map(|hook| hook.validating(reach, ca_bundle)).collect(),
    }
}

impl Hook {
    fn mutating(self, reach: &Reach, ca_bundle: Option<&[u8]>) -> MutatingWebhookConfiguration {
        let webhook = MutatingWebhook {
            name: self.name.to_owned(),
            client_config: reach.client(self.path, ca_bundle),
            rules: Some(self.rules),
            match_conditions: Some(self.conditions),
            object_selector: self.objects,
            admission_review_versions: vec!["v1".to_owned()],
            failure_policy: Some("Fail".to_owned()),
            match_policy: Some("Equivalent".to_owned()),
            reinvocation_policy: Some("Never".to_owned()),
            side_effects: "None".to_owned(),
            timeout_seconds: Some(TIMEOUT_SECONDS),
            namespace_selector: None,
        };
        MutatingWebhookConfiguration { metadata: metadata(self.configuration), webhooks: Some(vec![webhook]) }
    }

    fn validating(self, reach: &Reach, ca_bundle: Option<&[u8]>) -> ValidatingWebhookConfiguration {
        let webhook = ValidatingWebhook {
            name: self.name.to_owned(),
            client_config: reach.client(self.path, ca_bundle),
            rules: Some(self.rules),
            match_conditions: Some(self.conditions),
            object_selector: self.objects,
            admission_review_versions: vec!["v1".to_owned()],
            failure_policy: Some("Fail".to_owned()),
            match_policy: Some("Equivalent".to_owned()),
            side_effects: "None".to_owned(),
            timeout_seconds: Some(TIMEOUT_SECONDS),
            namespace_selector: None,
        };
        ValidatingWebhookConfiguration { metadata: metadata(self.configuration), webhooks: Some(vec![webhook]) }
    }
}

fn metadata(name: &str) -> ObjectMeta {
    let labels = [(label::MANAGED_BY.to_owned(), names::MANAGED_BY.to_owned())].into();
    ObjectMeta { name: Some(name.to_owned()), labels: Some(labels), ..ObjectMeta::default() }
}

fn rule(group: &str, versions: &[&str], resources: &[&str], operations: &[&str]) -> RuleWithOperations {
    let list = |words: &[&str]| Some(words.iter().map(|&word| word.to_owned()).collect());
    RuleWithOperations {
        api_groups: list(&[group]),
        api_versions: list(versions),
        resources: list(resources),
        operations: list(operations),
        scope: Some("*".to_owned()),
    }
}

/// What the operator manages, and what may not be done to it. Scaling goes by a subresource and is not among it.
fn managed() -> Vec<RuleWithOperations> {
    let (changes, all) = (["UPDATE", "DELETE"], ["CREATE", "UPDATE", "DELETE"]);
    vec![
        rule("", &["v1"], &["secrets", "serviceaccounts", "services"], &changes),
        rule("", &["v1"], &["pods"], &["UPDATE"]),
        rule("rbac.authorization.k8s.io", &["v1"], &["roles", "rolebindings"], &changes),
        rule("autoscaling", &["v2"], &["horizontalpodautoscalers"], &changes),
        rule(group::GROVE, &[group::V1ALPHA1], &["podcliques", "podcliquescalinggroups"], &all),
        rule(group::SCHEDULER, &[group::V1ALPHA1], &["podgangs"], &all),
    ]
}

fn condition(name: &str, expression: String) -> MatchCondition {
    MatchCondition { name: name.to_owned(), expression }
}

/// Text as a literal of the expression language, which quotes as JSON does.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Brings the configurations on the server to what is wanted, and takes away the authorizer's if it is not wanted. Returns whether
/// anything was written.
pub async fn install(client: &Client, wanted: &Configurations) -> Result<bool, kube::Error> {
    let (mutating, validating) = (Api::all(client.clone()), Api::all(client.clone()));
    let mut wrote = false;
    for one in &wanted.mutating {
        wrote |= keep(&mutating, one).await?;
    }
    for one in &wanted.validating {
        wrote |= keep(&validating, one).await?;
    }
    if !wanted.validating.iter().any(|one| one.metadata.name.as_deref() == Some(AUTHORIZER)) {
        wrote |= remove(&validating, AUTHORIZER).await?;
    }
    Ok(wrote)
}

/// Takes all configurations away, so that nothing waits for webhooks that nobody answers. Returns whether anything was there.
pub async fn uninstall(client: &Client) -> Result<bool, kube::Error> {
    let mutating: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
    let validating: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    let mut wrote = false;
    for name in MUTATING {
        wrote |= remove(&mutating, name).await?;
    }
    for name in VALIDATING {
        wrote |= remove(&validating, name).await?;
    }
    wrote |= super::conversion::uninstall(client).await?;
    Ok(wrote)
}

async fn keep<K>(api: &Api<K>, wanted: &K) -> Result<bool, kube::Error>
where
    K: Resource + Clone + Debug + Serialize + DeserializeOwned,
{
    let name = wanted.name_any();
    if let Some(live) = api.get_opt(&name).await?
        && is_kept(&json_of(&live), &json_of(wanted))
    {
        return Ok(false);
    }
    let params = PatchParams::apply(FIELD_MANAGER).force();
    api.patch(&name, &params, &Patch::Apply(wanted)).await?;
    tracing::info!(name, "webhook configuration written");
    Ok(true)
}

async fn remove<K>(api: &Api<K>, name: &str) -> Result<bool, kube::Error>
where
    K: Resource + Clone + Debug + DeserializeOwned,
{
    let Some(live) = api.get_metadata_opt(name).await? else { return Ok(false) };
    let preconditions = Preconditions { uid: live.metadata.uid, resource_version: None };
    match api.delete(name, &DeleteParams::default().preconditions(preconditions)).await {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => Ok(false),
        Err(error) => Err(error),
    }
}

fn json_of(object: &impl Serialize) -> Value {
    serde_json::to_value(object).unwrap_or_default()
}

/// Whether a live configuration says what the wanted one says.
fn is_kept(live: &Value, wanted: &Value) -> bool {
    let labels = |object: &Value| object["metadata"]["labels"].as_object().cloned().unwrap_or_default();
    let live_labels = labels(live);
    let list = |object: &Value| object["webhooks"].as_array().cloned().unwrap_or_default();
    let live_hooks = list(live);
    labels(wanted).iter().all(|(key, value)| live_labels.get(key) == Some(value))
        && list(wanted)
            .iter()
            .all(|wanted| live_hooks.iter().any(|live| live["name"] == wanted["name"] && same_hook(live, wanted)))
}

/// Whether two webhooks are the same, but for what the server fills in and what others may add where we say nothing.
fn same_hook(live: &Value, wanted: &Value) -> bool {
    let mut live = live.clone();
    if let Some(fields) = live.as_object_mut() {
        for others in ["namespaceSelector", "objectSelector"] {
            if wanted.get(others).is_none() {
                fields.remove(others);
            }
        }
    }
    if wanted.pointer("/clientConfig/caBundle").is_none()
        && let Some(client) = live.get_mut("clientConfig").and_then(Value::as_object_mut)
    {
        client.remove("caBundle");
    }
    live == *wanted
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn wanted(ca_bundle: Option<&[u8]>) -> Configurations {
        let reach = Reach::Service { namespace: "trellis".to_owned(), name: "operator".to_owned(), port: 443 };
        configurations(&reach, ca_bundle, "system:serviceaccount:trellis:operator", true, true)
    }

    #[test]
    fn what_a_server_fills_in_and_others_inject_is_no_difference() {
        let check = |ca_bundle: Option<&[u8]>, field: &str, value: Value, kept: bool| {
            let wanted = json_of(&wanted(ca_bundle).validating[0]);
            let mut live = wanted.clone();
            live["metadata"]["uid"] = "u".into();
            live["webhooks"][0]["namespaceSelector"] = json!({});
            live["webhooks"][0]["objectSelector"] = json!({});
            assert!(is_kept(&live, &wanted));
            match field.split_once('/') {
                Some((outer, inner)) => live["webhooks"][0][outer][inner] = value,
                None => live["webhooks"][0][field] = value,
            }
            assert_eq!(is_kept(&live, &wanted), kept, "{field}");
        };
        check(None, "clientConfig/caBundle", json!("aW5qZWN0ZWQ="), true);
        check(Some(b"ours"), "clientConfig/caBundle", json!("aW5qZWN0ZWQ="), false);
        check(None, "namespaceSelector", json!({"matchLabels": {"a": "b"}}), true);
        check(None, "failurePolicy", json!("Ignore"), false);
        check(None, "matchConditions", json!([]), false);
        check(None, "rules", json!([]), false);
        check(None, "clientConfig/url", json!("https://elsewhere"), false);
    }

    #[test]
    fn the_operators_name_is_quoted() {
        let odd = configurations(&Reach::Url("https://127.0.0.1:9443/".to_owned()), None, "a \"b\"", false, true);
        let hook = &odd.validating[1].webhooks.as_ref().expect("webhooks")[0];
        assert_eq!(
            hook.match_conditions.as_ref().expect("conditions")[0].expression,
            r#"request.userInfo.username != "a \"b\"""#
        );
        assert_eq!(hook.client_config.url.as_deref(), Some("https://127.0.0.1:9443/webhooks/validate-clustertopology"));
        assert_eq!(odd.validating.len(), 5);
    }
}
