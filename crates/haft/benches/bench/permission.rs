//! How long the rules take to decide.

use std::hint::black_box;
use std::time::Duration;

use haft_runtime::permission::{Action, Effect, Layer, LayerKind, Policy};

use crate::measure::{Row, median};

pub(crate) fn rows() -> Vec<Row> {
    let rule = |layer: Layer, index: usize| {
        layer.rule("bash", &format!("program-{index} --flag * path/*/{index}"), Action::Allow)
    };
    let layer = (0..1_000).fold(Layer::new(LayerKind::User, "bench"), rule);
    let policy = Policy::new(vec![layer]);
    let absent = Effect::run("program-x --flag something path/to/nowhere");
    let figure = median(21, 200, || drop(black_box(policy.decide(&absent))));
    vec![Row {
        name: "decide among 1,000 rules, none of which matches",
        figure,
        floor: Duration::from_micros(50),
        bound: 1.0,
    }]
}
