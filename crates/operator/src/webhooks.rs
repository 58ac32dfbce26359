//! Webhooks: what an API server asks before it stores a set, a deployment, a topology, a pool or a workflow, answered by the same rules that the
//! command line applies.
//!
//! [`Handler`] answers reviews, [`configurations`] and [`install`] tell API servers where to ask, and [`Certificates`] keeps what the
//! socket shows. The socket itself is the caller's.

mod authorizer;
mod certificates;
mod configurations;
mod conversion;
mod defaulting;
mod live;
mod review;
mod validating;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use kube::Client;
use serde_json::json;
use trellis_api::kinds::config::Authorizer;
use trellis_api::settings::Settings;

pub use certificates::{CertificateError, Certificates, Options as CertificateOptions, Source, names};
pub use configurations::{Configurations, Reach, configurations, install, uninstall};
pub use conversion::install_conversion;

use live::Live;
use review::{Request, Response};

/// Where each webhook is asked.
pub mod path {
    /// Fills in what a PodCliqueSet leaves out.
    pub const DEFAULT_SET: &str = "/webhooks/default-podcliqueset";
    /// Judges a PodCliqueSet, and a new number of its replicas.
    pub const VALIDATE_SET: &str = "/webhooks/validate-podcliqueset";
    /// Brings the levels of a ClusterTopology into order.
    pub const DEFAULT_TOPOLOGY: &str = "/webhooks/default-clustertopology";
    /// Judges a ClusterTopology.
    pub const VALIDATE_TOPOLOGY: &str = "/webhooks/validate-clustertopology";
    /// Fills in what a DynamoGraphDeployment leaves out.
    pub const DEFAULT_DEPLOYMENT: &str = "/webhooks/default-dynamographdeployment";
    /// Judges a DynamoGraphDeployment.
    pub const VALIDATE_DEPLOYMENT: &str = "/webhooks/validate-dynamographdeployment";
    /// Turns DynamoGraphDeployments into another version.
    pub const CONVERT_DEPLOYMENT: &str = "/webhooks/convert-dynamographdeployment";
    /// Judges a pool.
    pub const VALIDATE_POOL: &str = "/webhooks/validate-pool";
    /// Judges a workflow.
    pub const VALIDATE_WORKFLOW: &str = "/webhooks/validate-workflow";
    /// Keeps others away from what the operator manages.
    pub const AUTHORIZE: &str = "/webhooks/authorizer-webhook";
}

/// What goes back over the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// HTTP status code.
    pub code: u16,
    /// JSON.
    pub body: Vec<u8>,
}

impl Answer {
    /// Of what these bytes are, for the header.
    pub const CONTENT_TYPE: &'static str = "application/json";

    fn refusal(code: u16, message: &str) -> Self {
        let status =
            json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": code});
        Self { code, body: status.to_string().into_bytes() }
    }
}

impl From<Answer> for http::Response<Bytes> {
    fn from(answer: Answer) -> Self {
        let mut response = Self::new(answer.body.into());
        *response.status_mut() = http::StatusCode::from_u16(answer.code).unwrap_or_default();
        response.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static(Answer::CONTENT_TYPE));
        response
    }
}

/// Answers admission reviews. Cheap to clone; all clones are the same one.
#[derive(Clone)]
pub struct Handler {
    shared: Arc<Shared>,
}

/// What the answers rest on.
struct Shared {
    live: Live,
    settings: Arc<Settings>,
    authorizer: Authorizer,
    /// The operator's own user name: who alone may write the default topology.
    operator_user: String,
}

impl fmt::Debug for Handler {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Handler").field("operator_user", &self.shared.operator_user).finish_non_exhaustive()
    }
}

impl Handler {
    /// Answers by these settings, with what `client` shows of the cluster.
    pub fn new(client: Client, settings: Arc<Settings>, authorizer: Authorizer, operator_user: String) -> Self {
        Self { shared: Arc::new(Shared { live: Live::new(client), settings, authorizer, operator_user }) }
    }

    /// Answers what was posted to a path. Whatever is in the body, there is an answer.
    pub async fn answer(&self, path: &str, body: &[u8]) -> Answer {
        if path == path::CONVERT_DEPLOYMENT {
            return conversion::answer(body);
        }
        let known = [
            path::DEFAULT_SET,
            path::VALIDATE_SET,
            path::DEFAULT_TOPOLOGY,
            path::VALIDATE_TOPOLOGY,
            path::DEFAULT_DEPLOYMENT,
            path::VALIDATE_DEPLOYMENT,
            path::VALIDATE_POOL,
            path::VALIDATE_WORKFLOW,
            path::AUTHORIZE,
        ];
        let Some(path) = known.into_iter().find(|known| *known == path) else {
            return Answer::refusal(404, &format!("no webhook at {path:?}"));
        };
        let request = match Request::read(body) {
            Ok(request) => request,
            Err(why) => return Answer::refusal(400, &why),
        };
        let response = self.respond(path, &request).await;
        if let Some(message) = response.refusal() {
            tracing::info!(
                webhook = path,
                operation = request.operation,
                namespace = request.namespace,
                name = request.name,
                user = request.user,
                message,
                "refused"
            );
        }
        Answer { code: 200, body: response.into_review(&request).to_string().into_bytes() }
    }

    async fn respond(&self, path: &str, request: &Request) -> Response {
        let Shared { live, settings, authorizer, operator_user } = &*self.shared;
        let by_operator = request.user == *operator_user;
        match path {
            path::DEFAULT_SET => defaulting::set(request, settings),
            path::VALIDATE_SET if request.sub_resource == "scale" => validating::scale(request, live, settings).await,
            path::VALIDATE_SET => validating::set(request, live, settings).await,
            path::DEFAULT_TOPOLOGY => defaulting::topology(request),
            path::DEFAULT_DEPLOYMENT => defaulting::deployment(request),
            path::VALIDATE_DEPLOYMENT => validating::deployment(request, live, settings).await,
            path::VALIDATE_TOPOLOGY => validating::topology(request, by_operator, live, settings).await,
            path::VALIDATE_POOL => validating::pool(request),
            path::VALIDATE_WORKFLOW => validating::workflow(request, live).await,
            _ if by_operator => Response::allowed(),
            _ => authorizer::judge(request, live, authorizer).await,
        }
    }
}
