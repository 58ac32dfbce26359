//! Workflow text before it is YAML: sections, `default-values`, Jinja. Every line that comes out knows the line that it
//! was written on.

use super::markers::{self, Marked};
use super::tokens;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use minijinja_contrib::pycompat;
use serde_json::{Map, Value};

/// Steps that a template may take: far more than a workflow of the largest size needs.
const FUEL: u64 = 20_000_000;
/// The section with values for the rest.
const DEFAULT_VALUES: &str = "default-values";

/// Values that replace those of the file, in the order given.
#[derive(Clone, Debug, Default)]
pub struct Values {
    /// `key=value`, read as an integer, a number or text.
    pub set: Vec<(String, String)>,
    /// `key=value`, always text.
    pub set_string: Vec<(String, String)>,
}

/// Text without templates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// The text.
    pub text: String,
    /// For each of its lines the line that it was written on, both from 1.
    pub lines: Vec<usize>,
}

/// Text that cannot be read, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

/// The key at the start of a line, if there is one: letters, digits, `-`, `_`, then a colon.
fn key(line: &str) -> Option<&str> {
    let end = line.find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_').filter(|end| *end > 0)?;
    let rest = line[end..].trim_start().strip_prefix(':')?;
    (rest.is_empty() || rest.starts_with(char::is_whitespace)).then_some(&line[..end])
}

/// Whether the text is a workflow: one line begins with `workflow:`, and none says which Kubernetes kind it is.
pub fn is_workflow(text: &str) -> bool {
    let has = |wanted: &str| text.lines().any(|line| key(line) == Some(wanted));
    has("workflow") && !(has("apiVersion") && has("kind"))
}

/// Renders the text with its own values and those given.
pub fn render(text: &str, values: &Values) -> Result<Rendered, Unreadable> {
    let (body, defaults, first) = split(text)?;
    let context = context(&defaults, first, values)?;
    let body = tokens::hide(&body);
    let plain = jinja(&body, &context)?;
    let lines = match markers::mark(&body).map(|marked| jinja(&marked, &context)) {
        Some(Ok(marked)) => Some(markers::unmark(&marked)).filter(|Marked { text, .. }| *text == plain),
        _ => None,
    };
    let count = plain.lines().count();
    // Where a template plays tricks with its own text, lines are counted as they come out.
    let lines = lines.map_or_else(|| (1..=count).collect(), |marked| marked.lines);
    Ok(Rendered { text: tokens::show(&plain), lines })
}

/// The text with the lines of `default-values` left empty, those lines, and the line before the first of them.
fn split(text: &str) -> Result<(String, String, usize), Unreadable> {
    let (mut body, mut defaults, mut first) = (String::new(), String::new(), None);
    let mut inside = false;
    for (i, line) in text.split_inclusive('\n').enumerate() {
        // A comment or a template at the start of a line ends no section.
        if let Some(key) = key(line.trim_end()) {
            inside = key == DEFAULT_VALUES;
            if inside && first.is_some() {
                return Err(Unreadable { line: i + 1, message: format!("`{DEFAULT_VALUES}` stands there twice") });
            }
        }
        if inside {
            first.get_or_insert(i);
            defaults.push_str(line);
            body.push('\n');
        } else {
            body.push_str(line);
        }
    }
    Ok((body, defaults, first.unwrap_or(0)))
}

/// The values that the template sees.
fn context(defaults: &str, first: usize, values: &Values) -> Result<Map<String, Value>, Unreadable> {
    let mut context = Map::new();
    if !defaults.is_empty() {
        let parsed = serde_saphyr::from_str::<Value>(defaults).map_err(|error| {
            let line = error.location().map_or(1, |location| usize::try_from(location.line()).unwrap_or(1));
            let error = error.without_snippet().to_string();
            let message = error.lines().next().unwrap_or_default().escape_debug().to_string();
            Unreadable { line: first + line, message: format!("`{DEFAULT_VALUES}` is not readable as YAML: {message}") }
        })?;
        match parsed.get(DEFAULT_VALUES) {
            Some(Value::Object(fields)) => context.clone_from(fields),
            None | Some(Value::Null) => {}
            Some(_) => {
                let message = format!("`{DEFAULT_VALUES}` must be values by name");
                return Err(Unreadable { line: first + 1, message });
            }
        }
    }
    for (key, text) in &values.set {
        let integer = text.parse::<i64>().ok().map(Value::from);
        let number = || text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::from);
        context.insert(key.clone(), integer.or_else(number).unwrap_or_else(|| Value::from(text.as_str())));
    }
    for (key, text) in &values.set_string {
        context.insert(key.clone(), Value::from(text.as_str()));
    }
    Ok(context)
}

fn jinja(text: &str, context: &Map<String, Value>) -> Result<String, Unreadable> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    // OSMO's templates are read by Python, and call its methods: `models.items()`, `name.split('-')`.
    environment.set_unknown_method_callback(pycompat::unknown_method_callback);
    environment.set_fuel(Some(FUEL));
    environment.set_debug(true);
    environment.render_str(text, Serde(context)).map_err(|error| {
        let line = error.line().unwrap_or(1);
        let about = error.range().and_then(|range| text.get(range)).map(str::trim).unwrap_or_default();
        let what = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
        let is_said = about.is_empty() || about.len() > 80 || what.contains(about);
        let about = if is_said { String::new() } else { format!(" in `{about}`") };
        let message = format!("template error: {what}{about}").escape_debug().to_string();
        Unreadable { line, message: message + hint(&what) }
    })
}

/// What to write instead of Python that there is no way to read.
fn hint(what: &str) -> &'static str {
    if what.contains("% operator on unsupported types string") {
        "\nhint: text is filled in by the filter `format`: `'%02d' | format(i)`, not `'%02d' % i`"
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(set: &[(&str, &str)], set_string: &[(&str, &str)]) -> Values {
        let owned = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Values { set: owned(set), set_string: owned(set_string) }
    }

    #[track_caller]
    fn check(text: &str, values: &Values, expected: &str, lines: &[usize]) {
        let rendered = render(text, values).expect("readable");
        assert_eq!((rendered.text.as_str(), rendered.lines.as_slice()), (expected, lines), "{text}");
    }

    #[test]
    fn d35_text_with_workflow_at_the_start_of_a_line_is_a_workflow() {
        let check = |text: &str, is: bool| assert_eq!(is_workflow(text), is, "{text:?}");
        check("workflow:\n  name: a", true);
        check("# c\nversion: 2\nworkflow :\n", true);
        check("{% if x %}\nworkflow:\n{% endif %}", true);
        check(" workflow:\n", false);
        check("workflows:\n", false);
        check("workflow:x\n", false);
        check("apiVersion: v1\nkind: X\nworkflow:\n", false);
    }

    #[test]
    fn osmo1_1_values_of_the_file_and_of_the_command_line() {
        let text = "default-values:\n  n: 1\n  who: a\nworkflow:\n  x: {{ n }}-{{ who }}\n";
        check(text, &Values::default(), "\n\n\nworkflow:\n  x: 1-a", &[1, 1, 1, 4, 5]);
        check(text, &values(&[("n", "2.5")], &[("who", "7")]), "\n\n\nworkflow:\n  x: 2.5-7", &[1, 1, 1, 4, 5]);
        // Text stays text, so that what adds one to it says so.
        let text = "workflow: {{ n + 1 }}";
        check(text, &values(&[("n", "2")], &[]), "workflow: 3", &[1]);
        let error = render(text, &values(&[], &[("n", "2")])).expect_err("text");
        assert_eq!(error.line, 1);
    }

    #[test]
    fn osmo1_1_lines_are_those_of_the_file() {
        let text = "workflow:\n{% for i in range(2) %}\n  - a: {{ i }}\n    b: 1\n{% endfor %}\n  c: 2\n";
        let expected = "workflow:\n\n  - a: 0\n    b: 1\n\n  - a: 1\n    b: 1\n\n  c: 2";
        check(text, &Values::default(), expected, &[1, 1, 3, 4, 4, 3, 4, 4, 6]);
        let text = "workflow:\n  {%- for i in range(2) %}\n  a{{ i }}:\n     b\n  {%- endfor %}\n  c: 2";
        check(text, &Values::default(), "workflow:\n  a0:\n     b\n  a1:\n     b\n  c: 2", &[1, 3, 4, 3, 4, 6]);
        let text = "workflow:\n  x: {% raw -%}\n    {{ y }}\n  {%- endraw %}\n  z: 1";
        check(text, &Values::default(), "workflow:\n  x: {{ y }}\n  z: 1", &[1, 2, 5]);
    }

    #[test]
    fn osmo1_1_runtime_tokens_are_left_alone() {
        let text = "workflow: \"{{uuid}} {{ host:a_1 }} {{input:0}} {{output}} {{workflow_id}}\"";
        check(text, &Values::default(), text, &[1]);
    }

    #[test]
    fn osmo1_1_what_templates_of_python_commonly_say_is_read() {
        let check = |text: &str, expected: &str| {
            let text = format!("default-values:\n  models: {{a: 1, b: 2}}\nworkflow: {text}");
            let rendered = render(&text, &Values::default()).unwrap_or_else(|error| panic!("{text}: {error:?}"));
            assert_eq!(rendered.text.trim_start(), format!("workflow: {expected}"), "{text}");
        };
        check("{% for name, n in models.items() %}{{ name }}={{ n }} {% endfor %}", "a=1 b=2 ");
        check("{{ models.keys() | join('+') }} {{ models.get('c', 3) }}", "a+b 3");
        check("{{ 'a-b'.split('-')[1].upper() }} {{ 'x.y'.replace('.', '-') }} {{ ' a '.strip() }}", "B x-y a");
        check("{{ 'ab'.startswith('a') and not 'ab'.endswith('a') }} {{ '-'.join(['a', 'b']) }}", "True a-b");
        check(
            "{% for i in range(9) %}{% if i == 1 %}{% continue %}{% elif i > 3 %}{% break %}{% endif %}{{ i }}{% endfor %}",
            "023",
        );
        check("{{ models | tojson }}", "{\"a\": 1, \"b\": 2}");
        check("{{ '%02d' | format(3) }} {{ '{:02}'.format(3) }}", "03 03");
        let error = render("workflow: {{ '%02d' % 3 }}", &Values::default()).expect_err("not read");
        assert!(
            error.line == 1 && error.message.contains("\nhint: text is filled in by the filter `format`"),
            "{error:?}"
        );
    }

    #[test]
    fn osmo1_1_errors_of_templates_have_lines() {
        let check = |text: &str, line: usize, part: &str| {
            let error = render(text, &Values::default()).expect_err(text);
            assert!(error.line == line && error.message.contains(part), "{error:?}");
        };
        check("workflow:\n  a: {{ missing }}\n", 2, "undefined");
        check("workflow:\n  a: {{ }}\n", 2, "");
        check("workflow:\n\n{% for %}\n", 3, "");
        check("default-values:\n  a: [\nworkflow:\n", 2, "not readable as YAML");
        check("default-values: 3\nworkflow:\n", 1, "values by name");
        check("default-values:\n  a: 1\nworkflow:\ndefault-values:\n", 4, "twice");
        check("workflow: {% for i in range(100000) %}{% for j in range(100000) %}x{% endfor %}{% endfor %}", 1, "");
    }
}
