//! `question`: puts questions to the user, with answers to choose from.

use haft_runtime::permission::Ask;
use haft_runtime::{
    Answer, Audience, Choice, Client, Context, InitContext, InitError, Output, Question, Tool,
    ToolError, Traits,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// Asks the user.
pub(crate) struct AskUser;

/// The questions.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Params {
    /// One to four questions, answered together.
    #[schemars(length(min = 1, max = 4))]
    questions: Vec<Item>,
}

/// One question.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Item {
    /// The whole question, ending with a question mark.
    #[schemars(length(min = 1, max = 2000))]
    question: String,
    /// A word or two that tell it from the others.
    #[schemars(length(min = 1, max = 30))]
    header: String,
    /// Two to eight answers to choose from; the user can always write another.
    #[schemars(length(min = 2, max = 8))]
    options: Vec<Offer>,
    /// Whether more than one may be chosen; one if left out.
    #[schemars(extend("x-aliases" = ["multiSelect", "multi"]))]
    multiple: Option<bool>,
}

/// One answer.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Offer {
    /// One to five words.
    #[schemars(length(min = 1, max = 100))]
    label: String,
    /// What choosing it means.
    #[schemars(length(max = 1000))]
    description: Option<String>,
}

impl Tool for AskUser {
    const ID: &'static str = "question";
    const DESCRIPTION: &'static str = include_str!("question.txt");
    const ALIASES: &'static [&'static str] =
        &["ask_user_question", "request_user_input", "ask_user"];
    type Params = Params;

    fn offered(audience: &Audience) -> Result<(), String> {
        // Who wants it there all the same has switched it on by its name.
        if audience.client == Client::Mcp && !audience.features.contains(Self::ID) {
            return Err("the host around us asks its user itself".to_owned());
        }
        Ok(())
    }

    async fn init(_cx: &InitContext<'_>) -> Result<Self, InitError> {
        Ok(Self)
    }

    async fn run(&self, params: Params, cx: &Context) -> Result<Output, ToolError> {
        cx.ask(Ask::new("ask the user", self.effects(&params, cx).await?)).await?;
        let questions: Vec<Question> = params.questions.into_iter().map(Question::from).collect();
        let Some(answers) = cx.question(&questions).await else {
            return Err(unanswered(cx));
        };
        let lines: Vec<String> = questions.iter().zip(&answers).map(line).collect();
        let title = format!("{} answered", answers.len());
        Ok(Output::new(title, lines.join("\n")).with("answers", json!(answers)))
    }

    fn traits(&self) -> Traits {
        Traits { idempotent: false, alone: true, ..Traits::READ_ONLY }
    }
}

impl From<Item> for Question {
    fn from(item: Item) -> Self {
        let choice = |offer: Offer| Choice {
            label: offer.label,
            description: offer.description.unwrap_or_default(),
        };
        Self {
            question: item.question,
            header: item.header,
            options: item.options.into_iter().map(choice).collect(),
            multiple: item.multiple.unwrap_or_default(),
        }
    }
}

fn line((question, answer): (&Question, &Answer)) -> String {
    let chosen = match answer.chosen.as_slice() {
        [] => "no answer".to_owned(),
        chosen => chosen.join(", "),
    };
    format!("{}: {chosen}", question.header)
}

fn unanswered(cx: &Context) -> ToolError {
    if cx.cancel.is_cancelled() {
        return ToolError::cancelled();
    }
    ToolError::failed(
        "the user gave no answer, or nobody is there to give one; \
         go on with the most sensible choice and say which one you made",
    )
}
