//! How the web is reached, and who searches it: what the config files and the environment say of it.

use std::path::PathBuf;
use std::time::Duration;

use haft_tools::{Web, WebSettings};
use haft_web::search::{Account, Key, Service};
use haft_web::{Client, HostPattern, Proxy, Settings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use crate::environment::Environment;
use crate::open::Haft;

/// Longest time that one fetch or search may be given, as in the tools themselves.
const LONGEST: u64 = 120;
/// Most that may be read of one page, in MiB: all of it is held in memory.
const LARGEST: u32 = 50;

/// How the web is reached. Of a project's own file it counts only once that is trusted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct WebTable {
    /// Hosts that may be fetched though they are on this machine or a private network: `localhost:3000`,
    /// `*.corp.example`, `10.0.0.5`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) private_hosts: Vec<String>,
    /// What servers are told about who asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user_agent: Option<String>,
    /// Seconds that a fetch or search may take (30).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timeout: Option<u64>,
    /// Most MiB of one page, decompressed (5).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) most_mib: Option<u32>,
    /// Minutes for which a page is good without asking its server again (15).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cache_minutes: Option<u32>,
    /// An `http://` proxy, or `none`; without it, the usual variables count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) proxy: Option<String>,
    /// Files with certificates that are trusted beside the system's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) certificates: Vec<String>,
    /// Who searches.
    pub(crate) search: SearchTable,
}

/// Who searches the web.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct SearchTable {
    /// `exa` (the default), `exa-mcp`, `brave` or `searxng`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) provider: Option<ProviderName>,
    /// Where it is, if not at its usual place; `searxng` has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) base_url: Option<String>,
    /// The variable that holds the key (`EXA_API_KEY`, `BRAVE_API_KEY`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key_env: Option<String>,
    /// The key itself, where it is in no variable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<WrittenKey>,
    /// How many results a search gives if the call does not say (8).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) results: Option<usize>,
}

/// The services as they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ProviderName {
    Exa,
    ExaMcp,
    Brave,
    Searxng,
}

/// A key in a config file, which nobody prints.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(with = "String")]
pub(crate) struct WrittenKey(Key);

impl Serialize for WrittenKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("(hidden)")
    }
}

impl<'de> Deserialize<'de> for WrittenKey {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Key::new(String::deserialize(deserializer)?)))
    }
}

impl Haft {
    /// What the tools for the web need. Nothing is opened before it is used.
    pub(crate) fn web(&self) -> Web {
        let table = self.web_table();
        let mut tools = WebSettings {
            search: account(&table.search, &self.environment),
            ..WebSettings::default()
        };
        if let Some(seconds) = table.timeout {
            tools.timeout = Duration::from_secs(seconds.clamp(1, LONGEST));
        }
        tools.results = table.search.results.map_or(tools.results, |results| results.clamp(1, 20));
        Web::new(self.web_client(), tools)
    }

    /// Whoever makes requests: for the tools, and to the providers of models.
    pub(crate) fn web_client(&self) -> Client {
        let table = self.web_table();
        let environment = &self.environment;
        let mut settings = Settings::default();
        settings.private_hosts =
            table.private_hosts.iter().map(|text| HostPattern::new(text)).collect();
        settings.user_agent = table.user_agent.clone().unwrap_or(settings.user_agent);
        if let Some(mib) = table.most_mib {
            settings.most_bytes = mib.clamp(1, LARGEST) as usize * 1024 * 1024;
        }
        if let Some(minutes) = table.cache_minutes {
            settings.cache_for = Duration::from_secs(u64::from(minutes) * 60);
        }
        settings.proxy = proxy(&table, environment);
        settings.certificates = certificates(&table, environment);
        Client::new(settings)
    }

    /// What all files say together; the more specific one decides.
    fn web_table(&self) -> WebTable {
        let mut all = WebTable::default();
        for table in self.configs.iter().map(|config| &config.file.web) {
            let WebTable { user_agent, timeout, most_mib, cache_minutes, proxy, search, .. } =
                table.clone();
            all.private_hosts.extend(table.private_hosts.iter().cloned());
            all.certificates.extend(table.certificates.iter().cloned());
            all.user_agent = user_agent.or(all.user_agent);
            all.timeout = timeout.or(all.timeout);
            all.most_mib = most_mib.or(all.most_mib);
            all.cache_minutes = cache_minutes.or(all.cache_minutes);
            all.proxy = proxy.or(all.proxy);
            all.search.results = search.results.or(all.search.results);
            // A key belongs to the service that it stands beside, so these go together.
            if search.provider.or(all.search.provider) != all.search.provider
                || search.base_url.is_some()
            {
                all.search = SearchTable { results: all.search.results, ..SearchTable::default() };
            }
            all.search.provider = search.provider.or(all.search.provider);
            all.search.base_url = search.base_url.or(all.search.base_url);
            all.search.key_env = search.key_env.or(all.search.key_env);
            all.search.key = search.key.or(all.search.key);
        }
        all
    }
}

fn account(table: &SearchTable, environment: &Environment) -> Account {
    let service = match table.provider {
        None | Some(ProviderName::Exa) => Service::Exa,
        Some(ProviderName::ExaMcp) => Service::ExaMcp,
        Some(ProviderName::Brave) => Service::Brave,
        Some(ProviderName::Searxng) => Service::Searxng,
    };
    let variable = table.key_env.as_deref().or(service.key_variable());
    let found = variable.and_then(|name| environment.variable(name)).map(Key::new);
    let written = table.key.as_ref().map(|key| key.0.clone());
    Account { service, base_url: table.base_url.clone(), key: written.or(found) }
}

/// The proxy of the config, or those of the usual variables.
fn proxy(table: &WebTable, environment: &Environment) -> Proxy {
    let either = |names: [&str; 2]| names.into_iter().find_map(|name| environment.variable(name));
    let except = either(["NO_PROXY", "no_proxy"]).unwrap_or_default();
    let except = except.split(',').map(|name| name.trim().to_ascii_lowercase()).collect();
    match table.proxy.as_deref() {
        Some("none") => Proxy::default(),
        Some(proxy) => {
            Proxy { http: Some(proxy.to_owned()), https: Some(proxy.to_owned()), except }
        }
        None => {
            let all = either(["ALL_PROXY", "all_proxy"]);
            let http = either(["http_proxy", "HTTP_PROXY"]).or_else(|| all.clone());
            let https = either(["HTTPS_PROXY", "https_proxy"]).or(all);
            Proxy { http, https, except }
        }
    }
}

fn certificates(table: &WebTable, environment: &Environment) -> Vec<PathBuf> {
    let home = environment.home.as_deref();
    let written = table.certificates.iter().map(|text| match (text.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(text),
    });
    written.chain(environment.variable("SSL_CERT_FILE").map(PathBuf::from)).collect()
}
