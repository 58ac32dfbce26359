//! What stands in an object when nothing is given.

use serde_json::Value;

use super::Schema;

/// Puts the defaults of the schema where nothing is given, or a `null` that cannot be meant.
pub fn apply(value: &mut Value, schema: &Schema) {
    match value {
        Value::Object(fields) => {
            for (name, property) in &schema.properties {
                if let Some(default) = &property.default
                    && fields.get(name).is_none_or(|value| value.is_null() && !property.nullable)
                {
                    fields.insert(name.clone(), default.clone());
                }
            }
            for (name, field) in fields.iter_mut() {
                if let Some(property) = schema.properties.get(name) {
                    apply(field, property);
                } else if let Some(additional) = &schema.additional {
                    replace(field, additional);
                }
            }
        }
        Value::Array(items) => {
            if let Some(item_schema) = &schema.items {
                for item in items {
                    replace(item, item_schema);
                }
            }
        }
        _ => {}
    }
}

/// A member of a map or a list is there; it can only be a `null`.
fn replace(value: &mut Value, schema: &Schema) {
    if value.is_null()
        && !schema.nullable
        && let Some(default) = &schema.default
    {
        *value = default.clone();
    }
    apply(value, schema);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::compile::compile;
    use super::apply;

    fn check(schema: &Value, given: Value, expected: &Value) {
        let mut value = given;
        apply(&mut value, &compile(schema));
        assert_eq!(&value, expected);
    }

    #[test]
    fn defaults_fill_what_is_missing() {
        let inner =
            json!({"type": "object", "default": {"x": 7}, "properties": {"x": {"type": "integer", "default": 1}}});
        let schema = json!({"type": "object", "properties": {
            "text": {"type": "string", "default": "x"},
            "nullable": {"type": "string", "nullable": true, "default": "x"},
            "object": {"type": "object", "properties": {"x": {"type": "integer", "default": 1}}},
            "list": {"type": "array", "items": inner},
            "map": {"type": "object", "additionalProperties": inner},
        }});
        check(&schema, json!({}), &json!({"text": "x", "nullable": "x"}));
        check(&schema, json!({"text": null, "nullable": null}), &json!({"text": "x", "nullable": null}));
        check(&schema, json!({"object": {}}), &json!({"text": "x", "nullable": "x", "object": {"x": 1}}));
        check(
            &schema,
            json!({"list": [null, {}], "map": {"a": null, "b": {}}}),
            &json!({"text": "x", "nullable": "x", "list": [{"x": 7}, {"x": 1}], "map": {"a": {"x": 7}, "b": {"x": 1}}}),
        );
    }
}
