//! Watches that suffer.

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::Response;
use http_body_util::BodyExt;
use tokio::sync::watch;

use super::Fault;
use crate::http::body::{self, Body};

/// A watch under way: the API's events, and what becomes of them.
struct Disturbed {
    events: body::Body,
    fault: Fault,
    left: Option<usize>,
    again: Option<Bytes>,
    cut: watch::Receiver<(u64, bool)>,
}

/// A watch that suffers the fault, and ends when it is cut.
pub(super) fn disturbed(response: Response<Body>, fault: Fault, cut: watch::Receiver<(u64, bool)>) -> Response<Body> {
    let (head, events) = response.into_parts();
    let left = if let Fault::BreakWatch(events) = fault { Some(events) } else { None };
    let state = Disturbed { events, fault, left, again: None, cut };
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
        let piece = tokio::select! {
            biased;
            _ = self.cut.changed() => return None,
            frame = self.events.frame() => match frame? {
                Ok(frame) => frame.into_data().ok()?,
            },
        };
        self.left = self.left.map(|left| left - 1);
        match self.fault {
            Fault::DelayWatch(time) => tokio::time::sleep(time).await,
            Fault::RepeatWatch => self.again = Some(piece.clone()),
            _ => {}
        }
        Some(piece)
    }
}
