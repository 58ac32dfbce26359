//! The manifests of `deploy/` agree with the code: what they name is what the operator uses.

use std::collections::BTreeSet;

use serde_json::Value;
use trellis_api::admission::object::{Decoded, Kind, decode};
use trellis_api::admission::review::rules;
use trellis_api::admission::validate_operator_configuration;
use trellis_api::kinds::config::OperatorConfiguration;
use trellis_api::settings::{Certificate, Process, Settings, default_init_image};
use trellis_api::{crd, names};
use trellis_operator::webhooks::{Reach, configurations};

fn documents(file: &str) -> Vec<Value> {
    let path = format!("{}/../../deploy/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the file");
    text.split("\n---\n").map(|document| serde_saphyr::from_str(document).expect("YAML")).collect()
}

/// The one object of a kind.
fn one<'a>(documents: &'a [Value], kind: &str) -> &'a Value {
    let mut found = documents.iter().filter(|document| document["kind"] == kind);
    let one = found.next().unwrap_or_else(|| panic!("no {kind}"));
    assert!(found.next().is_none(), "more than one {kind}");
    one
}

fn configuration(documents: &[Value]) -> OperatorConfiguration {
    let text = one(documents, "ConfigMap")["data"]["config.yaml"].as_str().expect("a configuration").to_owned();
    let decoded: Decoded<OperatorConfiguration> =
        decode(Kind::OperatorConfiguration, serde_saphyr::from_str(&text).expect("YAML"));
    let config = decoded.object.clone().expect("a configuration");
    let verdict = rules(decoded, validate_operator_configuration);
    assert!(verdict.allowed() && verdict.warnings.is_empty(), "{verdict:?}");
    config
}

/// The names that a role allows a verb on a resource for; none if it is not restricted by name.
fn allowed(role: &Value, resource: &str, verb: &str) -> BTreeSet<String> {
    let has =
        |rule: &Value, list: &str, word: &str| rule[list].as_array().is_some_and(|all| all.contains(&word.into()));
    let rules = role["rules"].as_array().expect("rules");
    let rules = rules.iter().filter(|rule| has(rule, "resources", resource) && has(rule, "verbs", verb));
    let listed = rules.flat_map(|rule| rule["resourceNames"].as_array().into_iter().flatten());
    listed.map(|name| name.as_str().expect("a name").to_owned()).collect()
}

fn set<'a>(names: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    names.into_iter().map(str::to_owned).collect()
}

#[test]
fn the_configuration_is_admitted_and_runs_with_what_the_deployment_gives_it() {
    let documents = documents("operator.yaml");
    let config = configuration(&documents);
    let (settings, process) = (Settings::of(&config), Process::of(&config));
    assert_eq!(settings.init_image, default_init_image());
    let pod = &one(&documents, "Deployment")["spec"]["template"]["spec"];
    assert_eq!(pod["containers"][0]["image"], settings.init_image.as_str());
    let port = |name: &str| {
        let ports = pod["containers"][0]["ports"].as_array().expect("ports");
        ports.iter().find(|port| port["name"] == name).and_then(|port| port["containerPort"].as_u64())
    };
    assert_eq!(port("webhooks"), Some(process.webhooks.port.into()));
    assert_eq!(port("health"), process.health.map(|address| address.port.into()));
    assert_eq!(port("metrics"), Some(process.metrics.port.into()));
    for kind in ["Service", "ServiceAccount", "Deployment"] {
        assert_eq!(one(&documents, kind)["metadata"]["name"], names::OPERATOR, "{kind}");
    }
    assert_eq!(pod["serviceAccountName"], names::OPERATOR);
    assert_eq!(one(&documents, "Service")["spec"]["ports"][0]["port"], 443);
}

#[test]
fn rights_that_are_given_by_name_name_what_the_operator_uses() {
    let documents = documents("operator.yaml");
    let process = Process::of(&configuration(&documents));
    let role = one(&documents, "Role");
    let lease = process.election.expect("replicas elect a leader").name;
    let Certificate::Made(secret) = process.certificate else { panic!("the certificate is made") };
    for verb in ["get", "update"] {
        assert_eq!(allowed(role, "leases", verb), set([lease.as_str()]));
        assert_eq!(allowed(role, "secrets", verb), set([secret.as_str()]));
    }
    let role = one(&documents, "ClusterRole");
    let reach = Reach::Url("https://127.0.0.1:1".to_owned());
    let hooks = configurations(&reach, None, "operator", true, true);
    for verb in ["get", "patch"] {
        let mutating = hooks.mutating.iter().filter_map(|one| one.metadata.name.as_deref());
        assert_eq!(allowed(role, "mutatingwebhookconfigurations", verb), set(mutating));
        let validating = hooks.validating.iter().filter_map(|one| one.metadata.name.as_deref());
        assert_eq!(allowed(role, "validatingwebhookconfigurations", verb), set(validating));
    }
    assert_eq!(allowed(role, "clustertopologies", "delete"), set([names::DEFAULT_TOPOLOGY]));
    let definitions = crd::served();
    let definitions = definitions.iter().filter_map(|one| one.metadata.name.as_deref());
    let documents = self::documents("install-crds.yaml");
    assert_eq!(allowed(one(&documents, "ClusterRole"), "customresourcedefinitions", "patch"), set(definitions));
}

#[test]
fn the_scheduler_runs_with_what_its_deployment_gives_it() {
    let documents = documents("scheduler.yaml");
    let config = configuration(&documents);
    let settings = trellis_scheduler::Settings::of(Some(&config), [names::profile::TRELLIS.to_owned()]);
    assert_eq!(settings, trellis_scheduler::Settings::default(), "the file shows the defaults");
    let pod = &one(&documents, "Deployment")["spec"]["template"]["spec"];
    assert_eq!(pod["serviceAccountName"], names::SCHEDULER);
    assert_eq!(pod["containers"][0]["image"], default_init_image());
    assert_eq!(pod["containers"][0]["ports"][0]["containerPort"], 2761);
    let role = one(&documents, "Role");
    for verb in ["get", "update"] {
        assert_eq!(allowed(role, "leases", verb), set([names::SCHEDULER]));
    }
}
