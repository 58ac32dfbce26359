//! The operator in the process of `trellis up`: an ordinary client of the API, whose webhooks are asked in process.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use futures::FutureExt as _;
use kube::Client;
use tokio::task::JoinHandle;
use trellis_api::settings::Settings;
use trellis_cluster::api::Api;
use trellis_cluster::user::User;
use trellis_operator::webhooks::{Handler, Reach};
use trellis_operator::{Operator, Options, RunError, Webhooks};

/// Where the operator would live in a cluster, and what it would be called.
const NAMESPACE: &str = "trellis-system";
const NAME: &str = "trellis-operator";

/// Starts the operator; it runs until `stop` resolves.
pub async fn start(
    api: &Api,
    settings: Settings,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<JoinHandle<Result<(), RunError>>> {
    let client = Client::new(api.service(User::service_account(NAMESPACE, NAME)), NAMESPACE);
    let reach = Reach::Service { namespace: NAMESPACE.to_owned(), name: NAME.to_owned(), port: 443 };
    let options = Options { webhooks: Webhooks::On(reach, None), ..Options::new(settings) };
    let operator = Operator::start(client, options).await.context("cannot start the operator")?;
    if let Some(handler) = operator.handler() {
        api.services().register(NAMESPACE, NAME, Arc::new(move |request| answer(handler.clone(), request).boxed()));
    }
    let serving = operator.serving();
    let running = tokio::spawn(operator.run(stop));
    serving.await;
    Ok(running)
}

async fn answer(handler: Handler, request: http::Request<Bytes>) -> http::Response<Bytes> {
    handler.answer(request.uri().path(), request.body()).await.into()
}
