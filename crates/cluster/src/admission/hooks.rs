//! Which webhooks a request concerns.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use super::Operation;
use super::review;
use crate::schema::rules::Condition;
use crate::selector::Labels;
use crate::status::Status;
use crate::store::Shelf;
use crate::verbs::Call;

/// A webhook that does not say how long it may take has this long.
const TIMEOUT_SECONDS: u64 = 10;

/// One webhook of a configuration.
#[derive(Debug)]
pub(crate) struct Hook {
    pub(crate) name: String,
    /// `clientConfig`
    pub(crate) client: Value,
    pub(crate) timeout: Duration,
    pub(crate) reinvoked: bool,
    pub(crate) tolerates_dry_run: bool,
    ignored_when_failing: bool,
    rules: Vec<Value>,
    namespaces: Option<Labels>,
    objects: Option<Labels>,
    /// Each with its text, or why it does not compile.
    conditions: Vec<(String, Result<Condition, String>)>,
}

/// Hooks that were read before, with the revisions of the configurations that they come from.
#[derive(Debug, Default)]
pub(crate) struct Known(Mutex<Vec<Remembered>>);

type Remembered = (Shelf, Vec<u64>, Arc<Vec<Hook>>);

/// All webhooks of a kind of configuration, in order.
pub(crate) fn all(call: &Call, plural: &str) -> Arc<Vec<Hook>> {
    const GROUP: &str = "admissionregistration.k8s.io";
    // Configurations are not subject to what they configure, or a bad one could not be removed.
    if call.resource.group == GROUP {
        return Arc::default();
    }
    let shelf: Shelf = format!("{plural}.{GROUP}").into();
    if call.api.store.count(&shelf) == 0 {
        return Arc::default();
    }
    let listed = call.api.store.list(&shelf, None).objects;
    let revisions: Vec<u64> = listed.iter().map(|(_, object)| object.revision).collect();
    let mut known = call.api.services.known.0.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, _, hooks)) = known.iter().find(|(of, at, _)| *of == shelf && *at == revisions) {
        return hooks.clone();
    }
    let read = |(_, object): &(_, Arc<crate::store::Object>)| {
        object.value("", "")["webhooks"].as_array().cloned().unwrap_or_default()
    };
    let hooks = Arc::new(listed.iter().flat_map(read).map(|hook| Hook::read(&hook)).collect::<Vec<_>>());
    known.retain(|(of, _, _)| *of != shelf);
    known.push((shelf, revisions, hooks.clone()));
    hooks
}

impl Hook {
    fn read(hook: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let selector = |value: &Value| Labels::from_object(value).ok().filter(|_| value.is_object());
        let condition = |condition: &Value| {
            let expression = text(&condition["expression"]);
            let compiled = Condition::compile(&expression);
            (expression, compiled)
        };
        Self {
            name: text(&hook["name"]),
            client: hook["clientConfig"].clone(),
            timeout: Duration::from_secs(hook["timeoutSeconds"].as_u64().unwrap_or(TIMEOUT_SECONDS)),
            reinvoked: hook["reinvocationPolicy"] == "IfNeeded",
            tolerates_dry_run: matches!(hook["sideEffects"].as_str(), Some("None" | "NoneOnDryRun")),
            ignored_when_failing: hook["failurePolicy"] == "Ignore",
            rules: hook["rules"].as_array().cloned().unwrap_or_default(),
            namespaces: selector(&hook["namespaceSelector"]),
            objects: selector(&hook["objectSelector"]),
            conditions: hook["matchConditions"].as_array().into_iter().flatten().map(condition).collect(),
        }
    }

    /// Whether the webhook is to be asked.
    pub(crate) fn wants(
        &self,
        call: &Call,
        operation: Operation,
        object: Option<&Value>,
        old: Option<&Value>,
    ) -> Result<bool, Status> {
        if !self.rules.iter().any(|rule| rule_holds(rule, call, operation)) {
            return Ok(false);
        }
        let labelled = |object: Option<&Value>, labels: &Labels| {
            object.is_some_and(|object| labels.matches(|key| object["metadata"]["labels"][key].as_str()))
        };
        if let Some(labels) = &self.objects
            && !labelled(object, labels)
            && !labelled(old, labels)
        {
            return Ok(false);
        }
        if let Some(labels) = &self.namespaces
            && !Self::in_namespace(call, object.or(old), labels)
        {
            return Ok(false);
        }
        self.conditions_hold(call, operation, object, old)
    }

    fn in_namespace(call: &Call, object: Option<&Value>, labels: &Labels) -> bool {
        let is_namespace = call.resource.kind == "Namespace" && call.resource.group.is_empty();
        let namespace = match (&call.namespace, is_namespace) {
            (_, true) => object.cloned(),
            (Some(namespace), false) => call.one("", "namespaces", "", namespace),
            // Cluster-wide objects are never left out by a selector of namespaces.
            (None, false) => return true,
        };
        namespace.is_some_and(|namespace| labels.matches(|key| namespace["metadata"]["labels"][key].as_str()))
    }

    fn conditions_hold(
        &self,
        call: &Call,
        operation: Operation,
        object: Option<&Value>,
        old: Option<&Value>,
    ) -> Result<bool, Status> {
        if self.conditions.is_empty() {
            return Ok(true);
        }
        let request = review::attributes(call, operation, object, old);
        let null = Value::Null;
        let variables =
            [("object", object.unwrap_or(&null)), ("oldObject", old.unwrap_or(&null)), ("request", &request)];
        let mut failed = None;
        for (text, condition) in &self.conditions {
            match condition.as_ref().map_err(Clone::clone).and_then(|condition| condition.holds(&variables)) {
                Ok(false) => return Ok(false),
                Err(why) if failed.is_none() => failed = Some(format!("expression '{text}' resulted in error: {why}")),
                Ok(true) | Err(_) => {}
            }
        }
        match failed {
            None => Ok(true),
            Some(_) if self.ignored_when_failing => Ok(false),
            Some(why) => {
                let name = request["name"].as_str().unwrap_or_default();
                Err(Status::forbidden(call.resource.about(name), &why))
            }
        }
    }

    /// The webhook could not be asked.
    pub(crate) fn failure(&self, why: &str) -> Status {
        Status::internal(format!("failed calling webhook {:?}: {why}", self.name))
    }

    /// The webhook's answer is none.
    pub(crate) fn invalid(&self, why: &str) -> Status {
        self.failure(&format!("received invalid webhook response: {why}"))
    }

    /// What follows when the webhook could not be asked.
    pub(crate) fn failed(&self, status: Status) -> Result<(), Status> {
        if self.ignored_when_failing && status.code == 500 {
            tracing::warn!(webhook = self.name, %status, "ignored");
            return Ok(());
        }
        Err(status)
    }
}

fn rule_holds(rule: &Value, call: &Call, operation: Operation) -> bool {
    let listed = |field: &str, value: &str| {
        rule[field].as_array().is_some_and(|list| list.iter().any(|entry| *entry == json!(value) || entry == "*"))
    };
    let scope = match rule["scope"].as_str() {
        Some("Namespaced") => call.namespace.is_some(),
        Some("Cluster") => call.namespace.is_none(),
        _ => true,
    };
    // All served versions of a kind are equivalent: what is meant is the kind.
    let version = call.resource.versions.iter().any(|version| listed("apiVersions", &version.name));
    let resource = rule["resources"].as_array().is_some_and(|list| {
        list.iter().filter_map(Value::as_str).any(|entry| {
            let (plural, sub) = entry.split_once('/').unwrap_or((entry, ""));
            let plural = plural == "*" || plural == call.resource.plural;
            plural && (sub == call.subresource || sub == "*")
        })
    });
    scope && version && resource && listed("operations", operation.word()) && listed("apiGroups", &call.resource.group)
}
