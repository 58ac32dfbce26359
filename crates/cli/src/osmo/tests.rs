//! Nothing that anybody can write into OSMO's files makes them panic, and whatever is wrong is told with a line and a path.

use super::{Reading, objects, render};
use crate::input;
use crate::objects::{Object, Role};
use crate::{validate, world};
use serde_json::Value;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use trellis_api::settings::Settings;
use trellis_testkit::mutate::{Dice, mutate};

/// With as many deployments of Dynamo's it is a hundred thousand; `TRELLIS_LONG=1` has ten times as many.
const FILES: usize = 50_000;
/// Used where `TRELLIS_SEED` names no other.
const SEED: u64 = 20_261_116;

const CONFIG: &str = "\
pools:
  p:
    backend: b
    topology_keys: [{key: zone, label: zone}, {key: rack, label: rack}]
    platforms: {gb: {default_variables: {USER_GPU: 1}}}
    default_platform: gb
    resources: {gpu: {guarantee: 8}}
    max_exec_timeout: 2d
backends:
  b: {scheduler_settings: {scheduler_type: trellis}, k8s_namespace: jobs}
";

const WORKFLOW: &str = "\
# A comment.
default-values:
  n: 2
  image: img
version: 2
workflow:
  name: train
  labels: {team: a}
  timeout: {exec_timeout: 2h, queue_timeout: 60}
  groups:
  - name: g
    ignoreNonleadStatus: false
    tasks:
    {%- for i in range(n) %}
    - name: shard-{{ i }}
      image: {{ image }}
      command: [train, \"{{host:shard-0}}\"]
      args: [1, true]
      environment: {A: x, B: 2}
      resource: shard
    {%- endfor %}
    - name: logger
      image: img
      command: [log]
      files: [{path: /a, contents: x}]
  - name: h
    tasks:
    - {name: judge, image: img, command: [c], inputs: [{task: shard-0}], exitActions: {FAIL: 1-3}}
resources:
  default: {cpu: 1, memory: 64Gi}
  shard:
    gpu: 4
    nodesExcluded: [n1]
    topology:
    - {key: rack, group: a}
    - {key: zone, group: b, requirementType: preferred}
";

const POOL: &str = "{\"name\": \"p\", \"topology_keys\": [{\"key\": \"zone\", \"label\": \"zone\"}]}\n";

/// What is put into lines of text.
const PIECES: [&str; 24] = [
    "{{",
    "}}",
    "{%",
    "%}",
    "{{ x }}",
    "{% raw %}",
    "{% endraw %}",
    "{#",
    "#}",
    "---\n",
    ":",
    "- ",
    "'",
    "\"",
    "\t",
    "&a ",
    "*a",
    "\u{E000}7\u{E001}",
    "{{host:zz}}",
    "{{ n * 3 }}",
    "é",
    "\u{0}",
    "workflow:\n",
    "default-values:\n",
];

fn spoilt(text: &str, dice: &mut Dice) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    for _ in 0..=dice.below(3) {
        let at = dice.below(lines.len().max(1));
        let Some(line) = lines.get(at).cloned() else { break };
        match dice.below(7) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, line),
            2 => lines[at] = format!("  {line}"),
            3 => lines[at] = line.trim_start_matches(' ').to_owned(),
            4 => {
                let other = dice.below(lines.len());
                lines.swap(at, other);
            }
            5 => {
                let places: Vec<usize> = line.char_indices().map(|(i, _)| i).collect();
                let place = places.get(dice.below(places.len().max(1))).copied().unwrap_or(0);
                lines[at].insert_str(place, PIECES[dice.below(PIECES.len())]);
            }
            _ => {
                let mut chars: Vec<char> = line.chars().collect();
                let place = dice.below(chars.len().max(1));
                if place < chars.len() {
                    chars.remove(place);
                }
                lines[at] = chars.into_iter().collect();
            }
        }
    }
    lines.concat()
}

/// Text, or values that were spoilt and written as YAML, where a workflow has no templates left.
fn file(dice: &mut Dice, plain: &[Value]) -> String {
    let other = &plain[dice.below(plain.len())];
    let mut text = String::new();
    for (i, original) in [CONFIG, WORKFLOW, POOL].into_iter().enumerate() {
        let document = match dice.below(4) {
            0 => original.to_owned(),
            1 => {
                let mut value = plain[i].clone();
                mutate(&mut value, other, dice);
                serde_saphyr::to_string(&value).unwrap_or_default()
            }
            _ => spoilt(original, dice),
        };
        write!(text, "{document}\n---\n").expect("a string");
    }
    text
}

/// Reads, judges and renders; every fault must say where it is.
fn go(text: &str) -> Result<(), String> {
    let lines = text.lines().count() + 1;
    let has_line = |place: &str| {
        let rest = place.strip_prefix("f:").unwrap_or_default();
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<usize>().is_ok_and(|line| (1..=lines).contains(&line))
    };
    let mut documents = Vec::new();
    let read = input::read_text("f", text, &mut documents).and_then(|()| objects(documents, &Reading::default()));
    let objects = match read {
        Ok(objects) => objects,
        Err(error) if has_line(&error.to_string()) => return Ok(()),
        Err(error) => return Err(format!("unreadable without a line: {error}")),
    };
    let settings = Settings::default();
    let view = world::view(&objects.iter().collect::<Vec<_>>(), &settings);
    let mut fit = true;
    for object in objects.iter().filter(|object| matches!(object.role, Role::Judged(_) | Role::Unknown)) {
        let verdict = validate::judge(object, None, &view, &settings).map_err(|error| error.to_string())?;
        fit &= verdict.allowed();
        for error in &verdict.errors {
            if error.field.is_empty() || !has_line(&object.document.place(&error.field)) {
                return Err(format!("{}: {error}", object.document.place(&error.field)));
            }
        }
    }
    let mut rendered = Vec::new();
    render(&objects, &view.pools, &mut rendered).map_err(|error| error.to_string())?;
    if fit { legal(&objects, &rendered) } else { Ok(()) }
}

/// What follows from what is admitted has legal names, each once.
fn legal(objects: &[Object], rendered: &[Value]) -> Result<(), String> {
    let mut names: Vec<String> = Vec::new();
    for object in rendered {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let is_fit = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        if name.is_empty() || name.len() > 63 || !is_fit || name.starts_with('-') || name.ends_with('-') {
            return Err(format!("{name:?} follows from {} objects", objects.len()));
        }
        names.push(format!("{} {} {name}", object["kind"], object["metadata"]["namespace"]));
    }
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        // Two versions of a pool or workflow were both admitted one by one; `validate` refuses the second.
        Some(pair)
            if !objects
                .iter()
                .enumerate()
                .any(|(i, a)| objects[..i].iter().any(|b| a.identity().is_some() && a.identity() == b.identity())) =>
        {
            Err(format!("{} twice", pair[0]))
        }
        _ => Ok(()),
    }
}

#[test]
fn mutated_files_are_told_about_with_a_line_and_a_path() {
    let seed = std::env::var("TRELLIS_SEED").ok().map_or(SEED, |text| text.parse().expect("TRELLIS_SEED is a number"));
    let plain = |text: &str| serde_saphyr::from_str::<Value>(text).expect("YAML");
    let values = trellis_api::osmo::template::Values::default();
    let workflow = trellis_api::osmo::template::render(WORKFLOW, &values).expect("a template");
    let plain = [plain(CONFIG), plain(&workflow.text), plain(POOL)];
    go(&format!("{CONFIG}---\n{WORKFLOW}")).expect("what is to be spoilt is fine");
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let files = if std::env::var_os("TRELLIS_LONG").is_some() { 10 * FILES } else { FILES };
    let part = |thread: usize| {
        for i in (0..files).skip(thread).step_by(threads) {
            let number = u64::try_from(i).unwrap_or_default();
            let text = file(&mut Dice::new(seed.wrapping_mul(0x0010_0000_01b3).wrapping_add(number)), &plain);
            let result = catch_unwind(AssertUnwindSafe(|| go(&text)));
            let result = result.unwrap_or_else(|_| Err("it panics".to_owned()));
            assert!(result.is_ok(), "file {i} of TRELLIS_SEED={seed}: {result:?}\n{text}");
        }
    };
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let part = &part;
            scope.spawn(move || part(thread));
        }
    });
}
