//! What the script knows of the nodes: the cards, and where nodes are on the map. Numbers are as they are printed, and what
//! the table of nodes says stands there only, so that a page of thousands of nodes stays light.

use serde_json::{Map as Object, Value, json};

use super::{Page, map::Map};
use crate::{
    card::{
        Importance, ImportantColumn, NeighbourView, NodeCoefficient, NodeError, NodeView, Rules,
    },
    number::{self, perhaps, significant},
    outcome::Outcome,
};

/// As many neighbours of a node are listed, the strongest.
const LISTED_NEIGHBOURS: usize = 12;
/// As many columns are listed, the most important.
const LISTED_COLUMNS: usize = 12;
/// As many lines of a tree are shown.
const LISTED_LINES: usize = 40;
/// Characters of rules that the page holds at most: with more it would take long to open.
const MOST_RULE_CHARS: usize = 500_000;

/// The cards as JSON that may stand in a script.
pub(super) fn data(page: &Page, map: &Map) -> String {
    let cards = page.cards;
    let methods = cards.first().map_or(&[][..], |card| &card.errors);
    let rules: usize = cards.iter().filter_map(|card| card.rules.as_ref()).map(chars).sum();
    let (has_rules, pooled) = (rules <= MOST_RULE_CHARS, shared_pooled(cards));
    let columns = important_columns(cards);
    let elsewhere = [
        (!has_rules).then_some("Rules"),
        (page.importance_left_out).then_some("Importance of columns"),
    ];
    let nodes = cards.iter().map(|card| {
        let mut own = node(page.outcome, card, (has_rules, pooled.is_some()));
        if let Some(known) = &card.importance {
            own.insert("i".into(), importance(known, &columns));
        }
        Value::Object(own)
    });
    let data = json!({
        "names": page.outcome.nodes.iter().map(|node| &node.name).collect::<Vec<_>>(),
        "labels": labels(page.outcome),
        "xy": map.positions().iter().flat_map(|(x, y)| [tenths(*x), tenths(*y)]).collect::<Vec<_>>(),
        "metric": super::view::metric(page.outcome),
        "methods": methods.iter().map(|one| &one.method).collect::<Vec<_>>(),
        "coefficients": page.coefficients.names.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "pooled": pooled,
        "columns": columns,
        "elsewhere": elsewhere.into_iter().flatten().collect::<Vec<_>>(),
        "nodes": nodes.collect::<Vec<_>>(),
    });
    // A name must not end the script.
    data.to_string().replace('<', r"\u003c")
}

/// The coefficients of the pooled model, if all nodes have the same one.
fn shared_pooled(cards: &[NodeView]) -> Option<Value> {
    let first = cards.first()?.coefficients.iter().map(|one| one.pooled);
    let first: Vec<Option<f64>> = first.collect();
    let is_first =
        |card: &NodeView| card.coefficients.iter().map(|one| one.pooled).eq(first.iter().copied());
    let is_shared = first.iter().any(Option::is_some) && cards.iter().all(is_first);
    is_shared.then(|| in_a_line(first.into_iter()))
}

/// Numbers as they are printed, in one text: there may be many for every node.
fn in_a_line(numbers: impl Iterator<Item = Option<f64>>) -> Value {
    // The script puts the longer sign in the place of the short one.
    numbers.map(perhaps).collect::<Vec<_>>().join("|").replace('−', "-").into()
}

/// What people call the nodes; none if all go by their names.
fn labels(outcome: &Outcome) -> Option<Vec<&str>> {
    let has_any = outcome.nodes.iter().any(|node| node.label.is_some());
    has_any.then(|| outcome.nodes.iter().map(|node| node.label.as_deref().unwrap_or("")).collect())
}

fn chars(rules: &Rules) -> usize {
    rules.lines.iter().take(LISTED_LINES).map(String::len).sum()
}

/// A length of the map with one decimal.
fn tenths(value: f64) -> Value {
    let rounded = (10.0 * value).round() / 10.0;
    json!(rounded)
}

/// What a card has beside the row of the table; keys are short, because there is one for every node.
fn node(
    outcome: &Outcome,
    card: &NodeView,
    (has_rules, has_one_pooled): (bool, bool),
) -> Object<String, Value> {
    let mut own = Object::new();
    let mut put = |key: &str, value: Value| {
        let is_empty =
            value.as_array().is_some_and(Vec::is_empty) || value.is_null() || value == "";
        if !is_empty {
            own.insert(key.into(), value);
        }
    };
    put("e", in_a_line(card.errors.iter().map(|one: &NodeError| one.error)));
    let all = &card.coefficients;
    let column = |of: fn(&NodeCoefficient) -> Option<f64>| -> Value {
        let has_any = all.iter().any(|one| of(one).is_some());
        if has_any { in_a_line(all.iter().map(of)) } else { Value::Null }
    };
    put("v", column(|one| Some(one.value)));
    put("s", column(|one| one.standard_error));
    if !has_one_pooled {
        put("p", column(|one| one.pooled));
    }
    put("n", column(|one| one.neighbours));
    if let Some(pulled) = &card.pulled_by {
        let listed = pulled.iter().take(LISTED_NEIGHBOURS);
        let share =
            |one: &NeighbourView| format!("{} {}", one.place, significant(100.0 * one.share));
        put("w", listed.map(share).collect::<Vec<_>>().join("|").into());
        let more = pulled.len().saturating_sub(LISTED_NEIGHBOURS);
        put("more", if more > 0 { json!(more) } else { Value::Null });
    }
    if has_rules {
        put("r", card.rules.as_ref().map_or(Value::Null, rules));
    }
    put("b", json!(card.intervals(outcome)));
    put("notes", card.notes.iter().map(String::as_str).collect());
    own
}

/// In one line, because there may be many columns for every node: which rows, the error, how many columns are left out,
/// and the most important ones by their places among `columns`.
fn importance(own: &Importance, columns: &[&str]) -> Value {
    let rows = format!("{} {} rows", number::count(own.rows), own.rows_are);
    let listed = own.columns.iter().take(LISTED_COLUMNS);
    let column = |one: &ImportantColumn| {
        let place = columns.iter().position(|name| *name == one.column);
        let place = place.expect("all cards have the same columns");
        format!("{place};{};{}", significant(one.rise), significant(one.deviation))
    };
    let more = own.columns.len().saturating_sub(LISTED_COLUMNS).to_string();
    let parts = [rows, significant(own.error), more].into_iter().chain(listed.map(column));
    parts.collect::<Vec<_>>().join("|").replace('−', "-").into()
}

/// The columns whose importance cards have, in the order of their names.
fn important_columns(cards: &[NodeView]) -> Vec<&str> {
    let all = cards.iter().find_map(|card| card.importance.as_ref());
    let names = all.iter().flat_map(|own| &own.columns).map(|one| one.column.as_str());
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names
}

fn rules(own: &Rules) -> Value {
    let lines: Vec<&String> = own.lines.iter().take(LISTED_LINES).collect();
    let more = own.lines.len() - lines.len();
    json!({ "head": own.head(), "lines": lines, "more": more })
}
