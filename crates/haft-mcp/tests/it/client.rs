//! A client in the same process, so that both share one clock.

use std::borrow::Cow;
use std::sync::Arc;

use haft_mcp::server::{AskMode, Asks, Server, Settings};
use haft_runtime::permission::Effect;
use haft_runtime::{
    AgentId, BoxFuture, Context, DynTool, Output, Runtime, Schema, ToolError, Traits,
};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};

pub(crate) type Work = fn(&Context) -> BoxFuture<'_, Result<Output, ToolError>>;

/// A tool without arguments.
pub(crate) struct Plain(pub(crate) &'static str, pub(crate) Work);

impl DynTool for Plain {
    fn id(&self) -> &str {
        self.0
    }

    fn description(&self) -> Cow<'_, str> {
        "For a test.".into()
    }

    fn schema(&self) -> Result<Schema, String> {
        Schema::from_value(json!({ "type": "object", "properties": {} }))
    }

    fn traits(&self) -> Traits {
        Traits { idempotent: false, ..Traits::READ_ONLY }
    }

    fn effects<'a>(
        &'a self,
        _args: Value,
        _cx: &'a Context,
    ) -> BoxFuture<'a, Result<Vec<Effect>, ToolError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn prepare<'a>(
        &'a self,
        _args: Value,
        cx: &'a Context,
    ) -> Result<BoxFuture<'a, Result<Output, ToolError>>, ToolError> {
        Ok((self.1)(cx))
    }
}

/// A client of the new era, which needs no opening.
pub(crate) struct Client {
    pub(crate) runtime: Runtime,
    write: WriteHalf<DuplexStream>,
    read: Lines<BufReader<ReadHalf<DuplexStream>>>,
}

impl Client {
    pub(crate) fn of(tools: Vec<Plain>) -> Self {
        let runtime = Runtime::builder("/here").host(Asks::new(AskMode::Auto)).build();
        for tool in tools {
            runtime.add_tool(Arc::new(tool)).unwrap();
        }
        let settings = Settings::new("/here", AgentId::parse("build").unwrap());
        let server = Server::new(runtime.clone(), settings);
        let (near, far) = tokio::io::duplex(1024 * 1024);
        let (read, write) = tokio::io::split(far);
        tokio::spawn(async move { server.serve((Box::new(read), Box::new(write))).await.unwrap() });
        let (read, write) = tokio::io::split(near);
        Self { runtime, write, read: BufReader::new(read).lines() }
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.write.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    /// Sends a request with all that the new era wants in it.
    pub(crate) async fn ask(&mut self, id: i64, method: &str, mut params: Value) {
        let mut meta = params["_meta"].as_object().cloned().unwrap_or_default();
        let prefix = "io.modelcontextprotocol";
        meta.insert(format!("{prefix}/protocolVersion"), "2026-07-28".into());
        meta.insert(format!("{prefix}/clientCapabilities"), json!({ "elicitation": {} }));
        params["_meta"] = meta.into();
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
    }

    pub(crate) async fn next(&mut self) -> Value {
        let line = self.read.next_line().await.unwrap().expect("the server has ended");
        serde_json::from_str(&line).unwrap()
    }

    /// The answer to a request, and what came before it.
    pub(crate) async fn answer(&mut self, id: i64) -> (Value, Vec<Value>) {
        let mut before = Vec::new();
        loop {
            let message = self.next().await;
            if message["id"] == id {
                return (message, before);
            }
            before.push(message);
        }
    }
}
