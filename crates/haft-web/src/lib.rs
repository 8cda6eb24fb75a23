//! The web for coding agents: addresses that are checked, pages fetched within bounds, HTML as
//! Markdown, search. It knows nothing of tools and permissions.
//!
//! Reading order: [`Target`] is a URL in its one form, [`Client`] makes one request to a host that is
//! public, [`Line`] one after the other to the same server, [`Fetcher`] follows redirects and remembers
//! pages, [`html`] makes text of them, [`search`] asks those who know the web.

mod cache;
mod charset;
mod client;
mod connect;
mod connection;
mod decode;
mod error;
mod fetch;
pub mod html;
pub mod json;
mod line;
mod resolve;
pub mod search;
mod settings;
mod target;
mod tls;
mod zstd;

pub use charset::{Text, decode};
pub use client::{Client, Reach, Request, Response};
pub use error::WebError;
pub use fetch::{Fetched, Fetcher, Page, Source};
pub use line::Line;
pub use resolve::{BoxFuture, Resolve, SystemResolver};
pub use settings::{Proxy, Settings};
pub use target::{HostPattern, Target};
