//! What is done before anything is served: our definitions, who we are, the default topology and the backend's object for it.
//!
//! Nothing here rests on a cache, and every change is good only for the version that it was decided on: two operators that start at the
//! same time end with the same objects. No call waits longer than [`PATIENCE`].

mod definitions;
mod topology;

pub use definitions::{install_crds, leaves_dynamo, served};
pub use topology::synchronise;

use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use kube::api::PostParams;
use kube::{Api, Client};
use std::time::Duration;

/// How long one call, or the wait for one object, may take.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Why an operator cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A call was refused, or did not get through.
    #[error("cannot {what}: {}", words(error))]
    Call {
        /// What was tried.
        what: String,
        /// What came of it.
        error: Box<kube::Error>,
    },
    /// What was waited for did not happen.
    #[error("cannot {what}: not done within {} s{more}", PATIENCE.as_secs())]
    Late {
        /// What was tried.
        what: String,
        /// What is known about it: empty, or a clause that begins with its own separator.
        more: String,
    },
    /// Others changed the object each time before we could.
    #[error("cannot {what}: others changed it {tries} times in a row; hint: look who else writes it")]
    Contended {
        /// What was tried.
        what: String,
        /// How often.
        tries: usize,
    },
    /// Our definitions are not in the cluster.
    #[error("cannot {what}: the cluster does not serve the kind; hint: start with --install-crds")]
    NotServed {
        /// What was tried.
        what: String,
    },
    /// The object that is to be written belongs to somebody else.
    #[error("{0}")]
    Foreign(String),
}

impl StartError {
    /// The HTTP status of an answer.
    fn code(&self) -> Option<u16> {
        match self {
            Self::Call { error, .. } => code(error),
            Self::Late { .. } | Self::Contended { .. } | Self::NotServed { .. } | Self::Foreign(_) => None,
        }
    }
}

fn code(error: &kube::Error) -> Option<u16> {
    match error {
        kube::Error::Api(status) => Some(status.code),
        _ => None,
    }
}

/// What the server said, without the wrapping that programs need.
fn words(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}

/// Makes a call, within bounds. `what` completes the sentence "cannot …".
async fn call<T>(what: &str, request: impl Future<Output = kube::Result<T>>) -> Result<T, StartError> {
    match tokio::time::timeout(PATIENCE, request).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(StartError::Call { what: what.to_owned(), error: Box::new(error) }),
        Err(_) => Err(StartError::Late { what: what.to_owned(), more: String::new() }),
    }
}

/// The user that the cluster takes us for.
pub async fn own_user(client: &Client) -> Result<String, StartError> {
    let what = "learn who we are (SelfSubjectReview)";
    let reviews: Api<SelfSubjectReview> = Api::all(client.clone());
    let review = call(what, reviews.create(&PostParams::default(), &SelfSubjectReview::default())).await?;
    let name = review.status.and_then(|status| status.user_info).and_then(|user| user.username);
    name.filter(|name| !name.is_empty())
        .ok_or_else(|| StartError::Foreign(format!("cannot {what}: the answer names no user")))
}
