//! Every namespace that stays has a service account `default`, for pods that name none.

use serde_json::json;

use super::agenda::Agenda;
use super::follow::{Follow, each};
use super::objects;
use crate::api::Api;
use crate::status::Status;
use crate::store::Key;

/// The account that every namespace has.
const DEFAULT: &str = "default";

pub(super) async fn run(api: Api) {
    let mut namespaces = Follow::new(&api.store, objects::NAMESPACES);
    let mut accounts = Follow::new(&api.store, objects::ACCOUNTS);
    let mut agenda: Agenda<String> = Agenda::new();
    loop {
        tokio::select! {
            biased;
            due = agenda.due() => for namespace in due {
                let result = furnish(&api, &namespace).await;
                agenda.note(namespace, result);
            },
            news = namespaces.next() => each(news).into_iter().for_each(|(key, _)| agenda.now(key.name)),
            news = accounts.next() => {
                let gone = each(news).into_iter().filter(|(key, account)| account.is_none() && key.name == DEFAULT);
                gone.for_each(|(key, _)| agenda.now(key.namespace));
            }
        }
    }
}

/// Makes the account of a namespace, if it has to have one.
async fn furnish(api: &Api, namespace: &str) -> Result<(), Status> {
    let place = Key { namespace: String::new(), name: namespace.to_owned() };
    let stays = api.store.get(&objects::NAMESPACES.into(), &place).is_some_and(|object| !objects::is_going(&object));
    let key = Key { namespace: namespace.to_owned(), name: DEFAULT.to_owned() };
    if !stays || api.store.get(&objects::ACCOUNTS.into(), &key).is_some() {
        return Ok(());
    }
    let Some(call) = objects::call(api, "service-account-controller", objects::ACCOUNTS, &key) else { return Ok(()) };
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": DEFAULT, "namespace": namespace},
    });
    match call.create(account, Vec::new()).await {
        // Someone else made it, or the namespace goes after all.
        Err(status) if matches!(status.reason, "AlreadyExists" | "NotFound" | "Forbidden") => Ok(()),
        other => other.map(drop),
    }
}
