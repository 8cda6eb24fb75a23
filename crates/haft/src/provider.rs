//! Which model replies, and through whom: what the config says of providers, and what is known of them.

use std::collections::BTreeMap;
use std::ffi::OsString;

use anyhow::{Context, anyhow, bail};
use haft_agent::provider::{Endpoint, Key, Protocol};
use haft_agent::{ModelSettings, Price};
use haft_runtime::Model;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::config::Loaded;
use crate::open::Haft;

/// A provider of models. What is left out is as it is known for `anthropic`, `openai` and `ollama`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct ProviderTable {
    /// What it speaks: `anthropic`, `openai` (Responses) or `openai-chat`, which most others do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<Kind>,
    /// The part of its address that all requests share, such as `http://localhost:8000/v1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) base_url: Option<String>,
    /// The variable that holds the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key_env: Option<String>,
    /// The key itself, where no variable can hold it.
    #[serde(skip_serializing)]
    pub(crate) key: Option<String>,
    /// What is put into every request beside the prompt, such as `temperature`.
    pub(crate) options: BTreeMap<String, Value>,
    /// What is known about its models, by name.
    pub(crate) models: BTreeMap<String, ModelTable>,
}

/// What is known about a model.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct ModelTable {
    /// Tokens that it can read and write in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) context: Option<u64>,
    /// Most tokens of one reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_tokens: Option<u32>,
    /// What a million tokens cost, in dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) price: Option<PriceTable>,
    /// What is put into every request for it.
    pub(crate) options: BTreeMap<String, Value>,
}

/// What a million tokens cost, in dollars.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct PriceTable {
    /// Read.
    pub(crate) input: f64,
    /// Written.
    pub(crate) output: f64,
    /// Read from the provider's cache.
    pub(crate) cache_read: f64,
    /// Put into the provider's cache.
    pub(crate) cache_write: f64,
}

/// What a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Responses.
    #[serde(rename = "openai")]
    OpenAi,
    /// OpenAI's Chat Completions, as Ollama, vLLM, LM Studio and others speak it.
    #[serde(rename = "openai-chat")]
    OpenAiChat,
}

/// A provider that needs no config.
struct Known {
    name: &'static str,
    kind: Kind,
    base_url: &'static str,
    /// The variable that holds the key, where one is needed.
    key_env: Option<&'static str>,
    /// The model that is taken where the key is there and nothing else was said.
    model: Option<&'static str>,
}

const KNOWN: [Known; 3] = [
    Known {
        name: "anthropic",
        kind: Kind::Anthropic,
        base_url: "https://api.anthropic.com/v1",
        key_env: Some("ANTHROPIC_API_KEY"),
        model: Some("claude-sonnet-5-5"),
    },
    Known {
        name: "openai",
        kind: Kind::OpenAi,
        base_url: "https://api.openai.com/v1",
        key_env: Some("OPENAI_API_KEY"),
        model: Some("gpt-5"),
    },
    Known {
        name: "ollama",
        kind: Kind::OpenAiChat,
        base_url: "http://localhost:11434/v1",
        key_env: None,
        model: None,
    },
];

/// A model that needs no config.
struct KnownModel {
    /// Its name, without the date that a version of it has.
    name: &'static str,
    /// Tokens that it reads and writes in all. Of those that read less than they could hold, or cost
    /// more beyond it, this is what they read at their price, and a reply.
    context: u64,
    /// What a million tokens cost, where that is one number each: input, output, cache read, cache write.
    price: Option<[f64; 4]>,
}

const fn model(name: &'static str, context: u64, price: [f64; 4]) -> KnownModel {
    KnownModel { name, context, price: Some(price) }
}

const fn unpriced(name: &'static str, context: u64) -> KnownModel {
    KnownModel { name, context, price: None }
}

/// As their providers said in November 2026. A model that is not here has no price: none is better
/// than a wrong one.
const MODELS: [KnownModel; 18] = [
    model("claude-opus-5-5", 1_000_000, [4.0, 20.0, 0.2, 5.0]),
    model("claude-opus-5", 1_000_000, [5.0, 25.0, 0.5, 6.25]),
    model("claude-opus-4-8", 200_000, [5.0, 25.0, 0.5, 6.25]),
    model("claude-opus-4-7", 200_000, [5.0, 25.0, 0.5, 6.25]),
    model("claude-opus-4-6", 200_000, [5.0, 25.0, 0.5, 6.25]),
    model("claude-opus-4-5", 200_000, [5.0, 25.0, 0.5, 6.25]),
    model("claude-sonnet-5-5", 1_000_000, [2.0, 10.0, 0.1, 2.5]),
    model("claude-sonnet-5", 1_000_000, [2.0, 10.0, 0.2, 2.5]),
    model("claude-sonnet-4-6", 200_000, [3.0, 15.0, 0.3, 3.75]),
    model("claude-sonnet-4-5", 200_000, [3.0, 15.0, 0.3, 3.75]),
    unpriced("claude-haiku-5-5", 1_000_000),
    model("claude-haiku-4-5", 200_000, [1.0, 5.0, 0.1, 1.25]),
    model("claude-fable-5", 1_000_000, [10.0, 50.0, 1.0, 12.5]),
    unpriced("claude-fable-5-1", 1_000_000),
    model("gpt-5.4", 304_000, [2.5, 15.0, 0.25, 0.0]),
    model("gpt-5", 304_000, [1.25, 10.0, 0.125, 0.0]),
    model("gpt-5-mini", 304_000, [0.25, 2.0, 0.025, 0.0]),
    model("gpt-5-nano", 304_000, [0.05, 0.4, 0.005, 0.0]),
];

/// The longest reply that is asked of a known model: all of them can write more.
const KNOWN_MAX_TOKENS: u32 = 32_000;

/// What is assumed of a model that nobody has described.
const CONTEXT: u64 = 128_000;
/// The same for its longest reply.
const MAX_TOKENS: u32 = 8_192;

impl Haft {
    /// The model of this command: the named one, the config's, or that of a provider whose key is there.
    pub(crate) fn model(&self) -> anyhow::Result<Model> {
        if let Some(model) = &self.common.model {
            return Ok(model.clone());
        }
        let configured = self.configs.iter().rev().find_map(|config| config.file.model.as_deref());
        if let Some(text) = configured {
            let wrong = || anyhow!("model = \"{text}\": write it as PROVIDER/MODEL");
            let (provider, id) = text.split_once('/').ok_or_else(wrong)?;
            return Ok(Model { provider: provider.to_owned(), id: id.to_owned() });
        }
        for known in KNOWN {
            let key = known.key_env.and_then(|name| self.variable(name));
            if let (Some(model), Some(_)) = (known.model, key) {
                return Ok(Model { provider: known.name.to_owned(), id: model.to_owned() });
            }
        }
        bail!(
            "no model is known: set ANTHROPIC_API_KEY or OPENAI_API_KEY, name one with --model \
             PROVIDER/MODEL, or write model = \"PROVIDER/MODEL\" into the config; \
             `haft demo` shows a session without any"
        )
    }

    /// How a model's provider is reached, and what is known of the model.
    pub(crate) fn endpoint(&self, model: &Model) -> anyhow::Result<(Endpoint, ModelSettings)> {
        let table = combine(&self.configs, &model.provider);
        let known = KNOWN.iter().find(|known| known.name == model.provider);
        let unknown = || {
            anyhow!(
                "there is no provider `{0}`; describe it in the config as [provider.{0}], with kind \
                 and base_url",
                model.provider
            )
        };
        let kind = table.kind.or(known.map(|known| known.kind)).with_context(unknown)?;
        let base_url = table.base_url.clone().or(known.map(|known| known.base_url.to_owned()));
        let key_env =
            table.key_env.clone().or(known.and_then(|known| Some(known.key_env?.to_owned())));
        let key = match (&table.key, &key_env) {
            (Some(key), _) => Some(Key::new(key)),
            (None, Some(name)) => Some(self.key(name, &model.provider)?),
            (None, None) => None,
        };
        let described = table.models.get(&model.id).cloned().unwrap_or_default();
        let options: Map<String, Value> =
            table.options.into_iter().chain(described.options.clone()).collect();
        let base_url = base_url.with_context(unknown)?;
        let endpoint = Endpoint { protocol: kind.protocol(), base_url, key, options };
        Ok((endpoint, settings(model, &described)))
    }

    fn key(&self, name: &str, provider: &str) -> anyhow::Result<Key> {
        let missing = || anyhow!("{provider} needs a key: set {name}");
        let value = self.variable(name).with_context(missing)?;
        let text = value.to_str().ok_or_else(|| anyhow!("{name} is no text"))?;
        Ok(Key::new(text))
    }

    fn variable(&self, name: &str) -> Option<&OsString> {
        let mut all = self.environment.variables.iter();
        all.find(|(key, _)| key == name).map(|(_, value)| value).filter(|value| !value.is_empty())
    }
}

impl Kind {
    fn protocol(self) -> Protocol {
        match self {
            Self::Anthropic => Protocol::Anthropic,
            Self::OpenAi => Protocol::OpenAi,
            Self::OpenAiChat => Protocol::OpenAiChat,
        }
    }
}

/// What all files say of a provider together, the most specific last.
fn combine(configs: &[Loaded], name: &str) -> ProviderTable {
    let mut all = ProviderTable::default();
    for table in configs.iter().filter_map(|config| config.file.provider.get(name)).cloned() {
        all.kind = table.kind.or(all.kind);
        all.base_url = table.base_url.or(all.base_url);
        all.key_env = table.key_env.or(all.key_env);
        all.key = table.key.or(all.key);
        all.options.extend(table.options);
        all.models.extend(table.models);
    }
    all
}

/// What the config says of a model, else what is known of it, else what is safe to assume.
fn settings(model: &Model, described: &ModelTable) -> ModelSettings {
    let known = MODELS.iter().find(|known| is_version(&model.id, known.name));
    let of_known = |[input, output, cache_read, cache_write]: [f64; 4]| Price {
        input,
        output,
        cache_read,
        cache_write,
    };
    let of_config = |price: PriceTable| {
        let PriceTable { input, output, cache_read, cache_write } = price;
        Price { input, output, cache_read, cache_write }
    };
    let longest = if known.is_some() { KNOWN_MAX_TOKENS } else { MAX_TOKENS };
    ModelSettings {
        id: model.id.clone(),
        context: described.context.or(known.map(|known| known.context)).unwrap_or(CONTEXT),
        max_tokens: described.max_tokens.unwrap_or(longest),
        price: described.price.map(of_config).or(known.and_then(|it| it.price).map(of_known)),
    }
}

/// Whether a model is this one, perhaps by the date of its version. One that merely begins with the
/// same letters is another, at another price.
fn is_version(id: &str, name: &str) -> bool {
    let is_date = |text: &str| text.chars().all(|c| c.is_ascii_digit() || c == '-');
    match id.strip_prefix(name).map(|rest| rest.strip_prefix('-').unwrap_or(rest)) {
        Some("" | "latest") => true,
        Some(date) => date.len() >= 8 && is_date(date),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_of_exactly_that_model() {
        let price = |id: &str| {
            let model = Model { provider: "any".to_owned(), id: id.to_owned() };
            settings(&model, &ModelTable::default()).price.map(|price| price.input)
        };
        assert_eq!(price("claude-opus-4-5-20251101"), Some(5.0));
        assert_eq!(price("claude-opus-4-1-20250805"), None);
        assert_eq!(price("claude-sonnet-5"), Some(2.0));
        assert_eq!(price("claude-haiku-5-5"), None);
        assert_eq!(price("gpt-5-2025-08-07"), Some(1.25));
        assert_eq!(price("gpt-5-nano-2025-08-07"), Some(0.05));
        assert_eq!([price("gpt-5.6-terra"), price("gpt-5-chat"), price("gpt-50")], [None; 3]);
    }
}
