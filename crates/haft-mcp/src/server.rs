//! haft's tools for any agent that speaks MCP, on stdio and over HTTP.
