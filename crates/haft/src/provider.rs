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
        model: Some("claude-sonnet-4-5"),
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

/// Models by how their names begin, the longer before the shorter: context, longest reply, and the
/// prices of input, output, cache read and cache write.
const MODELS: [(&str, u64, u32, [f64; 4]); 6] = [
    ("claude-opus-4", 200_000, 32_000, [15.0, 75.0, 1.5, 18.75]),
    ("claude-sonnet-4", 200_000, 32_000, [3.0, 15.0, 0.3, 3.75]),
    ("claude-haiku-4", 200_000, 32_000, [1.0, 5.0, 0.1, 1.25]),
    ("gpt-5-nano", 400_000, 32_000, [0.05, 0.4, 0.005, 0.0]),
    ("gpt-5-mini", 400_000, 32_000, [0.25, 2.0, 0.025, 0.0]),
    ("gpt-5", 400_000, 32_000, [1.25, 10.0, 0.125, 0.0]),
];

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
    let known = MODELS.iter().find(|known| model.id.starts_with(known.0));
    let of_known = |known: &(&str, u64, u32, [f64; 4])| {
        let [input, output, cache_read, cache_write] = known.3;
        Price { input, output, cache_read, cache_write }
    };
    let of_config = |price: PriceTable| {
        let PriceTable { input, output, cache_read, cache_write } = price;
        Price { input, output, cache_read, cache_write }
    };
    ModelSettings {
        id: model.id.clone(),
        context: described.context.or(known.map(|known| known.1)).unwrap_or(CONTEXT),
        max_tokens: described.max_tokens.or(known.map(|known| known.2)).unwrap_or(MAX_TOKENS),
        price: described.price.map(of_config).or(known.map(of_known)),
    }
}
