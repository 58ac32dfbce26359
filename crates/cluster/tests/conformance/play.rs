//! A case, played on one server: its requests in order, and what came back, ready to be compared.

use std::collections::BTreeMap;
use std::time::Duration;

use http::{HeaderMap, Request, Response};
use http_body_util::BodyExt as _;
use kube::client::Body;
use serde_json::Value;
use tokio::time::timeout;

use crate::case::{Case, Step};
use crate::compare::flat;
use crate::fill::Book;
use crate::normal::Normal;
use crate::target::Target;

/// An event that did not come within this does not come.
const EVENT_LIMIT: Duration = Duration::from_secs(20);
const TICK: Duration = Duration::from_millis(25);
const TICKS: usize = 800;

/// What a server answered to one step.
#[derive(Debug)]
pub struct Answer {
    /// The step.
    pub step: String,
    /// The parts of the answer by their place in it; `failure` if there was none.
    pub lines: BTreeMap<String, String>,
    /// What is wrong with the case, if this is the real server.
    pub broken: Option<String>,
}

/// An open watch.
struct Stream {
    body: Body,
    /// Bytes after the last whole event.
    rest: Vec<u8>,
    /// Whether the last event was a bookmark. How many come in a row is a matter of time, so they count as one.
    bookmarked: bool,
}

struct Player<'a> {
    target: &'a Target,
    book: Book,
    normal: Normal,
    streams: BTreeMap<String, Stream>,
}

/// Plays the steps one after the other; a step that fails is told and does not end the case.
pub async fn play(case: &Case, target: &Target) -> Vec<Answer> {
    let book = Book::new(&case.names, &case.namespace);
    let mut player = Player { target, book, normal: Normal::default(), streams: BTreeMap::new() };
    let mut answers = Vec::new();
    if let Err(failure) = target.make_namespace(&case.namespace).await {
        answers.push(failed("0. the namespace of the case".to_owned(), failure));
    }
    for (index, step) in case.steps.iter().enumerate() {
        player.normal.begin(index + 1);
        let answer = player.step(step).await;
        answers.push(match answer {
            Ok((lines, broken)) => Answer { step: step.title(index), lines, broken },
            Err(failure) => failed(step.title(index), failure),
        });
    }
    answers
}

fn failed(step: String, failure: String) -> Answer {
    Answer { step, lines: BTreeMap::from([("failure".to_owned(), failure.clone())]), broken: Some(failure) }
}

type Lines = BTreeMap<String, String>;

impl Player<'_> {
    async fn step(&mut self, step: &Step) -> Result<(Lines, Option<String>), String> {
        if let Some(request) = &step.request {
            self.request(step, request).await
        } else if let Some(path) = &step.watch {
            self.watch(step, path).await
        } else if let Some(name) = &step.events {
            self.events(step, name).await.map(|lines| (lines, None))
        } else {
            self.target.expire();
            Ok((Lines::new(), None))
        }
    }

    async fn request(&mut self, step: &Step, line: &str) -> Result<(Lines, Option<String>), String> {
        let mut ticks = tokio::time::interval(TICK);
        let mut tick = 0;
        let (answer, broken) = loop {
            ticks.tick().await;
            let answer = {
                let request = self.build(step, line)?;
                self.target.ask(step.token, request).await?
            };
            let broken = broken(step, &answer);
            tick += 1;
            if broken.is_none() || !step.eventually || tick == TICKS {
                break (answer, broken);
            }
        };
        let mut lines = head(answer.status().as_u16(), answer.headers());
        match serde_json::from_slice::<Value>(answer.body()) {
            Ok(mut body) => {
                if let Some(name) = &step.name {
                    self.book.keep(name, body.clone());
                }
                self.normal.clean(&mut body);
                flat("", &part(step, body), &mut lines);
            }
            Err(_) => {
                lines.insert("text".to_owned(), self.normal.text(&String::from_utf8_lossy(answer.body())));
            }
        }
        Ok((lines, broken))
    }

    async fn watch(&mut self, step: &Step, path: &str) -> Result<(Lines, Option<String>), String> {
        let request = self.build(step, &format!("GET {path}"))?;
        let (parts, body) = self.target.send(step.token, request).await?.into_parts();
        let name = step.name.clone().unwrap_or_else(|| "watch".to_owned());
        let expected = step.expect.unwrap_or(200);
        let code = parts.status.as_u16();
        let broken = (code != expected).then(|| format!("the watch was answered with {code}, not {expected}"));
        self.streams.insert(name, Stream { body, rest: Vec::new(), bookmarked: false });
        Ok((head(code, &parts.headers), broken))
    }

    async fn events(&mut self, step: &Step, name: &str) -> Result<Lines, String> {
        let stream = self.streams.get_mut(name).ok_or_else(|| format!("no watch is called {name}"))?;
        let mut lines = Lines::new();
        for index in 0..step.count.unwrap_or(usize::MAX) {
            let next = timeout(EVENT_LIMIT, stream.next()).await;
            let next = next.map_err(|_| format!("only {index} events came: {lines:#?}"))??;
            let Some(mut event) = next else {
                let text = if step.end { String::new() } else { format!("the stream ended after {index} events") };
                lines.insert("end".to_owned(), text);
                break;
            };
            self.book.keep(name, event.clone());
            self.normal.clean(&mut event);
            flat(&format!("[{index}]"), &event, &mut lines);
        }
        Ok(lines)
    }

    fn build(&mut self, step: &Step, line: &str) -> Result<Request<Body>, String> {
        let line = self.book.text(line)?;
        let (word, path) = line.split_once(' ').ok_or("a request has a method and a path")?;
        let (method, kind) = match word {
            "MERGE" => ("PATCH", "application/merge-patch+json"),
            "JSON" => ("PATCH", "application/json-patch+json"),
            "STRATEGIC" => ("PATCH", "application/strategic-merge-patch+json"),
            "APPLY" => ("PATCH", "application/apply-patch+yaml"),
            other => (other, "application/json"),
        };
        let body = match (&step.raw, &step.body) {
            (Some(raw), _) => self.book.text(raw)?.into_bytes(),
            (None, Some(body)) => {
                let mut body = self.book.value(body)?;
                if let Some(with) = &step.with {
                    merge(&mut body, &self.book.value(with)?);
                }
                self.normal.asked(&body);
                body.to_string().into_bytes()
            }
            (None, None) => Vec::new(),
        };
        let mut headers =
            BTreeMap::from([("accept", "application/json".to_owned()), ("user-agent", "suite/1".to_owned())]);
        if !body.is_empty() {
            headers.insert("content-type", kind.to_owned());
        }
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in &step.headers {
            headers.remove(name.to_lowercase().as_str());
            request = request.header(name, self.book.text(value)?);
        }
        for (name, value) in headers {
            request = request.header(name, value);
        }
        request.body(Body::from(body)).map_err(|error| format!("{path}: {error}"))
    }
}

impl Stream {
    /// The next event, or none when the stream has ended.
    async fn next(&mut self) -> Result<Option<Value>, String> {
        loop {
            let event = self.next_line().await?;
            let bookmark = event.as_ref().is_some_and(|event| event["type"] == "BOOKMARK");
            let again = bookmark && self.bookmarked;
            self.bookmarked = bookmark;
            if !again {
                return Ok(event);
            }
        }
    }

    async fn next_line(&mut self) -> Result<Option<Value>, String> {
        loop {
            if let Some(end) = self.rest.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                let event = serde_json::from_slice(&line);
                return event.map(Some).map_err(|error| format!("{error} in {}", String::from_utf8_lossy(&line)));
            }
            match self.body.frame().await {
                None if self.rest.is_empty() => return Ok(None),
                None => return Err(format!("half an event: {}", String::from_utf8_lossy(&self.rest))),
                Some(Err(error)) => return Err(error.to_string()),
                Some(Ok(frame)) => self.rest.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data)),
            }
        }
    }
}

/// Status and headers.
fn head(code: u16, headers: &HeaderMap) -> Lines {
    let mut lines = Lines::from([("status".to_owned(), code.to_string())]);
    for name in ["content-type", "location", "retry-after"] {
        if let Some(value) = headers.get(name) {
            lines.insert(format!("header {name}"), String::from_utf8_lossy(value.as_bytes()).into_owned());
        }
    }
    for (index, value) in headers.get_all("warning").iter().enumerate() {
        lines.insert(format!("header warning {index}"), String::from_utf8_lossy(value.as_bytes()).into_owned());
    }
    lines
}

/// The part of a body that the step compares.
fn part(step: &Step, mut body: Value) -> Value {
    if let Some(pointer) = &step.at {
        body = body.pointer(pointer).cloned().unwrap_or(Value::Null);
    }
    for (field, values) in &step.keep {
        if let Some(items) = body.as_array_mut() {
            let pointer = format!("/{}", field.replace('.', "/"));
            let text = |item: &Value| item.pointer(&pointer).and_then(Value::as_str).map(str::to_owned);
            items.retain(|item| text(item).is_some_and(|text| values.contains(&text)));
        }
    }
    body
}

fn broken(step: &Step, answer: &Response<Vec<u8>>) -> Option<String> {
    let body = String::from_utf8_lossy(answer.body());
    let code = answer.status().as_u16();
    match (step.expect, &step.has) {
        (Some(expected), _) if expected != code => Some(format!("answered with {code}, not {expected}: {body}")),
        (_, Some(text)) if !body.contains(text) => Some(format!("`{text}` is not in the answer: {body}")),
        _ => None,
    }
}

/// RFC 7386, for `with`.
fn merge(value: &mut Value, patch: &Value) {
    let Some(patch) = patch.as_object() else {
        *value = patch.clone();
        return;
    };
    if !value.is_object() {
        *value = Value::Object(serde_json::Map::new());
    }
    let Some(fields) = value.as_object_mut() else { return };
    for (key, patch) in patch {
        if patch.is_null() {
            fields.remove(key);
        } else {
            merge(fields.entry(key).or_insert(Value::Null), patch);
        }
    }
}
