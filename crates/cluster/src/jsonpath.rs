//! Paths into objects, as printer columns, scale subresources and selectable fields name them: `.spec.replicas`,
//! `.metadata.labels['app\.kubernetes\.io/name']`, `.status.conditions[?(@.type=="Ready")].status`, indices, slices and `[*]`.
//! What finds nothing and what cannot be followed look the same to those who ask.

use serde_json::Value;

/// A path.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Field(String),
    /// Every value of a map or list.
    Every,
    Slice(Slice),
    /// Members of a list for which something exists.
    Exists(Vec<Step>),
    /// Members of a list for which a comparison holds.
    Compare(Vec<Step>, Comparison, Operand),
}

/// Part of a list. Negative numbers count from its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slice {
    start: Option<i64>,
    end: Option<i64>,
    /// One member: the end follows from the start.
    single: bool,
    stride: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Less,
    Greater,
    Equal,
    NotEqual,
    LessOrEqual,
    GreaterOrEqual,
}

#[derive(Debug, Clone, PartialEq)]
enum Operand {
    Literal(Value),
    Path(Vec<Step>),
}

impl Path {
    /// Reads a path, with or without braces around it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(text);
        Ok(Self { steps: steps(inner)? })
    }

    /// The first value found.
    pub fn get<'a>(&self, object: &'a Value) -> Option<&'a Value> {
        self.all(object).into_iter().next()
    }

    /// All values found, in order.
    pub fn all<'a>(&self, object: &'a Value) -> Vec<&'a Value> {
        follow(vec![object], &self.steps).unwrap_or_default()
    }

    /// Puts a value at a path of plain fields, and makes the objects on the way to it. False, and nothing changes, if the path has
    /// other steps or leads through something that is no object.
    pub fn set(&self, object: &mut Value, value: Value) -> bool {
        let names: Option<Vec<&String>> =
            self.steps.iter().map(|step| if let Step::Field(name) = step { Some(name) } else { None }).collect();
        let Some(names) = names.filter(|names| !names.is_empty()) else { return false };
        let mut reached = Some(&*object);
        for name in &names {
            match reached {
                Some(Value::Object(fields)) => reached = fields.get(*name).filter(|value| !value.is_null()),
                Some(_) => return false,
                None => break,
            }
        }
        let mut place = object;
        for name in names {
            if place.is_null() {
                *place = Value::Object(serde_json::Map::new());
            }
            let Value::Object(fields) = place else { return false };
            place = fields.entry(name.clone()).or_insert(Value::Null);
        }
        *place = value;
        true
    }
}

/// `None` if a step meets a value that it cannot be taken from.
fn follow<'a>(mut values: Vec<&'a Value>, steps: &[Step]) -> Option<Vec<&'a Value>> {
    for step in steps {
        let mut next = Vec::new();
        for value in values {
            take(value, step, &mut next)?;
        }
        values = next;
    }
    Some(values)
}

fn take<'a>(value: &'a Value, step: &Step, found: &mut Vec<&'a Value>) -> Option<()> {
    match (step, value) {
        (Step::Exists(_) | Step::Compare(..), value) => {
            for member in value.as_array()? {
                if holds(member, step)? {
                    found.push(member);
                }
            }
        }
        (_, Value::Null) => {}
        (Step::Field(name), value) => found.extend(value.get(name)),
        (Step::Every, Value::Object(fields)) => found.extend(fields.values()),
        (Step::Every, Value::Array(members)) => found.extend(members),
        (Step::Every, _) => {}
        (Step::Slice(slice), value) => found.extend(slice.of(value.as_array()?)?),
    }
    Some(())
}

impl Slice {
    fn of<'a>(&self, members: &'a [Value]) -> Option<impl Iterator<Item = &'a Value> + use<'a>> {
        let length = i64::try_from(members.len()).ok()?;
        let from_end = |index: i64| if index < 0 { index.checked_add(length) } else { Some(index) };
        let start = from_end(self.start.unwrap_or(0))?;
        let end = if self.single { start.checked_add(1)? } else { from_end(self.end.unwrap_or(length))? };
        let part =
            if start == end { &[] } else { members.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)? };
        Some(part.iter().step_by(self.stride))
    }
}

fn holds(member: &Value, step: &Step) -> Option<bool> {
    match step {
        Step::Exists(steps) => Some(follow(vec![member], steps).is_some_and(|found| !found.is_empty())),
        Step::Compare(left, comparison, right) => {
            let left = match follow(vec![member], left)?[..] {
                [left] => left,
                [] => return Some(false),
                _ => return None,
            };
            let right = match right {
                Operand::Literal(value) => value,
                Operand::Path(steps) => match follow(vec![member], steps)?[..] {
                    [right] => right,
                    [] => return Some(false),
                    _ => return None,
                },
            };
            comparison.holds(left, right)
        }
        _ => None,
    }
}

impl Comparison {
    /// `None` for values that cannot be compared with each other.
    fn holds(self, left: &Value, right: &Value) -> Option<bool> {
        let order = match (left, right) {
            (Value::String(left), Value::String(right)) => left.cmp(right),
            (Value::Number(left), Value::Number(right)) if left.is_i64() == right.is_i64() => {
                match (left.as_i64(), right.as_i64()) {
                    (Some(left), Some(right)) => left.cmp(&right),
                    _ => left.as_f64()?.partial_cmp(&right.as_f64()?)?,
                }
            }
            (Value::Bool(left), Value::Bool(right)) if matches!(self, Self::Equal | Self::NotEqual) => left.cmp(right),
            _ => return None,
        };
        Some(match self {
            Self::Less => order.is_lt(),
            Self::Greater => order.is_gt(),
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::LessOrEqual => order.is_le(),
            Self::GreaterOrEqual => order.is_ge(),
        })
    }
}

fn steps(text: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if rest.starts_with("..") {
            return Err("recursive descent is not supported".to_owned());
        }
        match first {
            ' ' | '@' | '$' => rest = &rest[1..],
            '.' => {
                let (name, after) = field(&rest[1..]);
                steps.push(if name == "*" { Step::Every } else { Step::Field(name.replace('\\', "")) });
                rest = after;
            }
            '[' if rest.starts_with("[?(") => {
                let (inside, after) = filter_text(&rest[3..])?;
                steps.push(filter(inside)?);
                rest = after;
            }
            '[' => {
                let (inside, after) = rest[1..].split_once(']').ok_or("unterminated array")?;
                steps.extend(bracket(inside)?);
                rest = after;
            }
            other => return Err(format!("unrecognized character in action: {other:?}")),
        }
    }
    Ok(steps)
}

/// A name up to what ends it, unless a backslash stands before that.
fn field(text: &str) -> (&str, &str) {
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}' => return text.split_at(at),
            _ => {}
        }
    }
    (text, "")
}

fn bracket(inside: &str) -> Result<Vec<Step>, String> {
    if let Some(name) =
        inside.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')).filter(|name| !name.contains('\''))
    {
        // Dots inside of quotes part names too, unless they are escaped.
        return steps(&format!(".{name}"));
    }
    if inside == "*" {
        return Ok(vec![Step::Slice(Slice { start: None, end: None, single: false, stride: 1 })]);
    }
    let refuse = || format!("invalid array index {inside}");
    let number = |text: &str| match text {
        "" => Ok(None),
        text if text.starts_with('+') => Err(refuse()),
        text => text.parse::<i64>().map(Some).map_err(|_| refuse()),
    };
    let parts: Vec<&str> = inside.split(':').collect();
    let (start, end, stride) = match parts[..] {
        [start] => (start, "", ""),
        [start, end] => (start, end, ""),
        [start, end, stride] => (start, end, stride),
        _ => return Err(refuse()),
    };
    let stride = match number(stride)? {
        None => 1,
        Some(stride) => usize::try_from(stride).ok().filter(|stride| *stride > 0).ok_or("step must be > 0")?,
    };
    let slice = Slice { start: number(start)?, end: number(end)?, single: parts.len() == 1, stride };
    Ok(vec![Step::Slice(slice)])
}

/// What stands in a filter, up to `)]`; quotes may hold parentheses.
fn filter_text(text: &str) -> Result<(&str, &str), String> {
    let mut quote = None;
    let mut before = ' ';
    for (at, letter) in text.char_indices() {
        match (letter, quote) {
            ('"' | '\'', None) => quote = Some(letter),
            (letter, Some(open)) if letter == open && before != '\\' => quote = None,
            (')', None) => {
                let after = text[at + 1..].strip_prefix(']').ok_or("unclosed array expect ]")?;
                return Ok((&text[..at], after));
            }
            _ => {}
        }
        before = letter;
    }
    Err("unterminated filter".to_owned())
}

fn filter(inside: &str) -> Result<Step, String> {
    let signs = ['!', '<', '>', '='];
    let Some(at) = inside.find(signs).filter(|at| *at > 0) else { return Ok(Step::Exists(steps(inside)?)) };
    let (left, rest) = inside.split_at(at);
    let right = rest.trim_start_matches(signs);
    let comparison = match &rest[..rest.len() - right.len()] {
        "<" => Comparison::Less,
        ">" => Comparison::Greater,
        "==" => Comparison::Equal,
        "!=" => Comparison::NotEqual,
        "<=" => Comparison::LessOrEqual,
        ">=" => Comparison::GreaterOrEqual,
        other => return Err(format!("unrecognized filter operator {other}")),
    };
    Ok(Step::Compare(steps(left)?, comparison, operand(right.trim())?))
}

fn operand(text: &str) -> Result<Operand, String> {
    let quoted = ['"', '\''].into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote));
    if let Some(quoted) = quoted {
        return Ok(Operand::Literal(quoted.replace("\\\"", "\"").replace("\\'", "'").replace("\\\\", "\\").into()));
    }
    match text {
        "true" | "false" => Ok(Operand::Literal(Value::Bool(text == "true"))),
        text if text.starts_with(|first: char| first.is_ascii_digit() || first == '-' || first == '+') => {
            let whole = text.parse::<i64>().map(Value::from);
            let number = whole.or_else(|_| text.parse::<f64>().map(Value::from));
            number.map(Operand::Literal).map_err(|_| format!("cannot parse number {text}"))
        }
        text => Ok(Operand::Path(steps(text)?)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Path;

    fn object() -> Value {
        json!({
            "metadata": {"labels": {"a.b/c": "lab", "plain": "p"}, "": "nameless"},
            "spec": {
                "replicas": 3, "n": null, "list": ["a", "b", "c"], "none": [],
                "objs": [{"x": 1, "on": true}, {"x": 2}, {"y": "(z)"}],
            },
            "status": {"conditions": [
                {"type": "X", "status": "no"}, {"type": "Ready", "status": "True"}, {"type": "Ready", "status": "Again"},
            ]},
        })
    }

    fn check(path: &str, expected: &Value) {
        let object = object();
        let path = Path::parse(path).unwrap_or_else(|why| panic!("{path}: {why}"));
        assert_eq!(json!(path.all(&object)), *expected, "{path:?}");
        assert_eq!(path.get(&object), expected.get(0), "{path:?}");
    }

    #[test]
    fn finds() {
        check(".spec.replicas", &json!([3]));
        check("{.spec.replicas}", &json!([3]));
        check(".spec.n", &json!([null]));
        check(".spec.n.x", &json!([]));
        check(".spec.nope.x", &json!([]));
        check(".spec.replicas.x", &json!([]));
        check(r".metadata.labels['a\.b/c']", &json!(["lab"]));
        check(r".metadata.labels.a\.b/c", &json!(["lab"]));
        check(".metadata.labels['a.b/c']", &json!([]));
        check(".metadata['labels'].plain", &json!(["p"]));
        check(".metadata['labels.plain']", &json!(["p"]));
        check(".spec.list[*]", &json!(["a", "b", "c"]));
        check(".spec.list[0]", &json!(["a"]));
        check(".spec.list[-1]", &json!(["c"]));
        check(".spec.list[-3]", &json!(["a"]));
        check(".spec.list[3]", &json!([]));
        check(".spec.list[0:2]", &json!(["a", "b"]));
        check(".spec.list[::2]", &json!(["a", "c"]));
        check(".spec.list[-2:]", &json!(["b", "c"]));
        check(".spec.list[2:1]", &json!([]));
        check(".spec.none[*]", &json!([]));
        check(".spec.replicas[0]", &json!([]));
        check(".spec.objs[*].x", &json!([1, 2]));
        check(".spec.objs.*.x", &json!([1, 2]));
        check(".metadata.labels.*", &json!(["lab", "p"]));
    }

    #[test]
    fn filters() {
        check(".status.conditions[?(@.type==\"Ready\")].status", &json!(["True", "Again"]));
        check(".status.conditions[?(@.type=='X')].status", &json!(["no"]));
        check(".status.conditions[?(@.type!='Ready')].type", &json!(["X"]));
        check(".spec.objs[?(@.x>1)].x", &json!([2]));
        check(".spec.objs[?(@.x <= 1)].x", &json!([1]));
        check(".spec.objs[?(@.x==1.0)].x", &json!([]));
        check(".spec.objs[?(@.x=='1')].x", &json!([]));
        check(".spec.objs[?(@.on==true)].x", &json!([1]));
        check(".spec.objs[?(@.y)].y", &json!(["(z)"]));
        check(".spec.objs[?(@.y=='(z)')].y", &json!(["(z)"]));
        check(".spec.objs[?(@.x==@.x)].x", &json!([1, 2]));
        check(".spec[?(@.x==1)].x", &json!([]));
    }

    #[test]
    fn refuses() {
        for path in [
            "..x",
            ".a[",
            ".a[x]",
            ".a[\"x\"]",
            ".a[1:2:0]",
            ".a[?(@.x==1)",
            ".a[?(@.x=1)]",
            ".a[?(@.x==)]b",
            "x",
            ".a[1,2]",
        ] {
            assert!(Path::parse(path).is_err(), "{path}");
        }
    }

    fn check_set(path: &str, expected: Option<Value>) {
        let mut object = json!({"spec": {"n": 1, "m": null, "list": []}});
        let before = object.clone();
        let done = Path::parse(path).expect(path).set(&mut object, json!(7));
        assert_eq!(done, expected.is_some(), "{path}");
        assert_eq!(object, expected.unwrap_or(before), "{path}");
    }

    #[test]
    fn sets() {
        check_set(".spec.n", Some(json!({"spec": {"n": 7, "m": null, "list": []}})));
        check_set(".spec.m.k", Some(json!({"spec": {"n": 1, "m": {"k": 7}, "list": []}})));
        check_set(".status.a.b", Some(json!({"spec": {"n": 1, "m": null, "list": []}, "status": {"a": {"b": 7}}})));
        check_set(".spec.n.k", None);
        check_set(".spec.list.k", None);
        check_set(".spec.list[0]", None);
        check_set("", None);
    }
}
