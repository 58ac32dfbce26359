//! Definitions of kinds: our own are applied and waited for, others' are looked for.

use super::{PATIENCE, StartError, call, code};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ListParams, Patch, PatchParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, ResourceExt as _};
use trellis_api::crd;

/// Who owns the fields of our definitions, whichever program applies them.
const DEFINITIONS_MANAGER: &str = "trellis";

/// Whether DynamoGraphDeployments are another operator's: their definition is there, and it is not ours. Two operators would fight over
/// every one of them.
pub async fn leaves_dynamo(client: &Client) -> Result<bool, StartError> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let name = crd::DYNAMO;
    let found = call(&format!("read CustomResourceDefinition `{name}`"), api.get_opt(name)).await?;
    let is_anothers = found.is_some_and(|found| !crd::is_ours(&found));
    if is_anothers {
        tracing::warn!(name, "left to the operator that defined it");
    }
    Ok(is_anothers)
}

/// Applies the definitions of what we serve, and waits until the cluster serves them. Equal ones are not written.
pub async fn install_crds(client: &Client) -> Result<(), StartError> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let params = PatchParams::apply(DEFINITIONS_MANAGER).force();
    let mut definitions = crd::own();
    if !leaves_dynamo(client).await? {
        definitions.push(crd::dynamo());
    }
    for definition in &definitions {
        let name = definition.name_any();
        let what = format!("apply CustomResourceDefinition `{name}`");
        call(&what, api.patch(&name, &params, &Patch::Apply(definition))).await?;
    }
    for definition in &definitions {
        established(&api, &definition.name_any()).await?;
    }
    tracing::info!(count = definitions.len(), "definitions are in place");
    Ok(())
}

async fn established(api: &Api<CustomResourceDefinition>, name: &str) -> Result<(), StartError> {
    let what = format!("have CustomResourceDefinition `{name}` established");
    let wait = await_condition(api.clone(), name, conditions::is_crd_established());
    match tokio::time::timeout(PATIENCE, wait).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(StartError::Foreign(format!("cannot {what}: {error}"))),
        Err(_) => {
            // Read as it was waited for, so that no other right is needed.
            let only = ListParams::default().fields(&format!("metadata.name={name}"));
            let seen = call(&what, api.list(&only)).await?;
            Err(StartError::Late { what, more: seen.items.first().map(objections).unwrap_or_default() })
        }
    }
}

/// What the cluster has against a definition, such as a short name that another one has taken.
fn objections(definition: &CustomResourceDefinition) -> String {
    let conditions = definition.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let refused = conditions.filter(|condition| condition.status != "True");
    let messages = refused.filter_map(|condition| condition.message.as_deref());
    messages.fold(String::new(), |told, message| told + "; " + message)
}

/// Whether the cluster serves a resource: backends are optional, and so are their kinds.
pub async fn served(client: &Client, group: &str, version: &str, plural: &str) -> Result<bool, StartError> {
    let what = format!("ask whether `{plural}` of {group}/{version} is served");
    let list = async {
        let answer = match group {
            "" => client.list_core_api_resources(version).await,
            _ => client.list_api_group_resources(&format!("{group}/{version}")).await,
        };
        match answer {
            Err(error) if code(&error) == Some(404) => Ok(Vec::new()),
            answer => answer.map(|list| list.resources),
        }
    };
    Ok(call(&what, list).await?.iter().any(|resource| resource.name == plural))
}
