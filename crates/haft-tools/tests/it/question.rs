//! `question` through the pipeline.

use haft_runtime::Answer;
use serde_json::{Value, json};

use crate::world::World;

fn colour() -> Value {
    json!({ "questions": [{
        "question": "Which colour?",
        "header": "Colour",
        "options": [{ "label": "red", "description": "like fire" }, { "label": "blue" }],
        "multiSelect": true,
    }] })
}

#[tokio::test]
async fn the_users_answer_comes_back_under_its_heading() {
    let answer = Answer { chosen: vec!["red".into(), "blue".into()] };
    let world = World::answering(Some(vec![answer])).await;
    assert_eq!(world.text("question", colour()).await, "Colour: red, blue");
    let asked = world.host.questions.lock().unwrap();
    assert_eq!((asked[0].options[0].description.as_str(), asked[0].multiple), ("like fire", true));
}

#[tokio::test]
async fn with_nobody_there_the_model_is_told_how_to_go_on() {
    let world = World::answering(None).await;
    let message = world.error("question", colour(), "failed").await;
    assert!(message.contains("go on with the most sensible choice"), "{message}");
}

#[tokio::test]
async fn a_question_needs_at_least_two_answers_to_choose_from() {
    let world = World::answering(None).await;
    let mut one = colour();
    one["questions"][0]["options"] = json!([{ "label": "red" }]);
    let message = world.error("question", one, "invalid_params").await;
    assert!(message.contains("questions[0].options"), "{message}");
}
