//! Watches that suffer.

use std::sync::Arc;

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::Response;
use http_body_util::BodyExt;

use super::{Fault, Way};
use crate::http::body::{self, Body};

/// A watch under way: the API's events, and what becomes of them.
struct Disturbed {
    events: body::Body,
    fault: Fault,
    left: Option<usize>,
    again: Option<Bytes>,
    way: Arc<Way>,
    /// How often watches had been cut when this one began.
    cuts: u64,
}

/// A watch that suffers the fault, and ends when it is cut.
pub(super) fn disturbed(response: Response<Body>, fault: Fault, way: Arc<Way>, cuts: u64) -> Response<Body> {
    let (head, events) = response.into_parts();
    let left = if let Fault::BreakWatch(events) = fault { Some(events) } else { None };
    let state = Disturbed { events, fault, left, again: None, way, cuts };
    let pieces = stream::unfold(state, |mut state| async { state.next().await.map(|piece| (piece, state)) });
    Response::from_parts(head, body::stream(pieces.boxed()))
}

impl Disturbed {
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(again) = self.again.take() {
            return Some(again);
        }
        if self.left == Some(0) {
            return None;
        }
        let delay = if let Fault::DelayWatch(time) = self.fault { Some(time) } else { None };
        let piece = async {
            let piece = self.events.frame().await?.ok()?.into_data().ok()?;
            if let Some(time) = delay {
                tokio::time::sleep(time).await;
            }
            Some(piece)
        };
        let piece = tokio::select! {
            biased;
            () = self.way.cut(self.cuts) => return None,
            piece = piece => piece?,
        };
        self.left = self.left.map(|left| left - 1);
        if self.fault == Fault::RepeatWatch {
            self.again = Some(piece.clone());
        }
        Some(piece)
    }
}
