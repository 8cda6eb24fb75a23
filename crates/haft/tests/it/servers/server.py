"""An MCP server for tests, well-behaved or not: `server.py MODE`, on pipes, or over HTTP for `http`."""

import json
import os
import socket
import sys
import threading

MODE = sys.argv[1] if len(sys.argv) > 1 else "fine"
LOCK = threading.Lock()
ANSWERS = {}
SESSIONS = {}
LISTS = 0
TOOLS = []
TEXT = {"type": "object", "properties": {"text": {"type": "string", "description": "Any text."}}}
RECURSIVE = {
    "type": "object",
    "properties": {"tree": {"$ref": "#/$defs/node"}},
    "$defs": {"node": {"type": "object", "properties": {
        "name": {"type": "string"},
        "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}},
}


def tool(name, schema=None, **more):
    TOOLS.append({"name": name, "description": f"Does {name}.", "inputSchema": schema or {"type": "object"}, **more})


for name in ["fail", "crash", "hang", "progress", "picture", "link", "facts", "ask", "big", "grow", "environment"]:
    tool(name)
tool("echo", {**TEXT, "required": ["text"]}, annotations={"readOnlyHint": True, "destructiveHint": False})
tool("write", TEXT)
tool("connect", {"type": "object", "properties": {"port": {"type": "integer"}}})
tool("tree", RECURSIVE)
if MODE == "http-sessions":
    tool("forget")
if MODE == "restless":
    tool("lists")
if MODE == "hostile":
    tool("esc\x1b[2Jape", description="\x1b[2J\u202e" + "x" * 100000)
    tool("..")
    tool("n" * 200)
    tool("a.b")
    tool("a/b")
    tool("outside", {"type": "object", "properties": {"a": {"$ref": "https://example.org/x"}}})
    for number in range(250):
        tool(f"many{number}")
if MODE.endswith("crooked"):
    TOOLS[2:2] = [{"name": "bare"}, {"name": "odd\x1b[2J", "description": 7, "inputSchema": {}}, "nothing"]


def send(message):
    with LOCK:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def text(words):
    return {"content": [{"type": "text", "text": words}]}


def attempt(work):
    try:
        return work() or "done"
    except OSError as error:
        return f"refused: {error.strerror or error}"


def write(path):
    with open(path, "w") as file:
        file.write("written")


def connect(port):
    socket.create_connection(("127.0.0.1", port), timeout=5).close()


def ask():
    asked = {"id": "q1", "method": "elicitation/create", "params": {
        "mode": "form", "message": "Which colour?", "requestedSchema": {
            "type": "object", "required": ["colour"],
            "properties": {"colour": {"type": "string", "enum": ["red", "blue"]}}}}}
    ANSWERS["q1"] = threading.Event()
    send(asked)
    ANSWERS["q1"].wait()
    return text(json.dumps(ANSWERS["q1"].result))


def call(name, args, meta):
    if name in ("echo", "tree"):
        return text(args.get("text", json.dumps(args)))
    if name == "fail":
        return {**text("this went wrong"), "isError": True}
    if name == "crash":
        sys.stderr.write("I am \x1b[31mdying\n")
        sys.stderr.flush()
        os._exit(7)
    if name == "hang":
        threading.Event().wait()
    if name == "progress":
        for step in (1, 2):
            send({"method": "notifications/progress", "params": {
                "progressToken": meta["progressToken"], "progress": step, "total": 2, "message": f"step {step}"}})
        return text("there")
    if name == "picture":
        return {"content": [{"type": "image", "mimeType": "image/png", "data": "aGFmdA=="}]}
    if name == "link":
        return {"content": [{"type": "resource_link", "uri": "note://one", "name": "one", "mimeType": "text/plain"},
                            {"type": "resource", "resource": {"uri": "note://two", "text": "embedded"}}]}
    if name == "facts":
        return {"content": [], "structuredContent": {"answer": 42}}
    if name == "ask":
        return ask()
    if name == "big":
        return text("line of a long answer\n" * 200000)
    if name == "grow":
        tool("grown")
        TOOLS[:] = [one for one in TOOLS if one["name"] != "fail"]
        send({"method": "notifications/tools/list_changed"})
        return text("grown")
    if name == "lists":
        return text(str(LISTS))
    if name == "forget":
        for session in SESSIONS:
            SESSIONS[session] = False
        return text(f"forgot {len(SESSIONS)}")
    if name == "environment":
        return text(json.dumps(dict(os.environ)))
    if name == "write":
        return text(attempt(lambda: write(args["text"])))
    if name == "connect":
        return text(attempt(lambda: connect(args["port"])))
    return text(f"no tool {name}") | {"isError": True}


INFO = {"capabilities": {"tools": {"listChanged": True}, "resources": {}},
        "serverInfo": {"name": "fixture", "version": "1.0"}}
RESOURCES = {"note://one": "the first note", "note://two": "the second"}


class Unknown(Exception):
    pass


def answer(method, params):
    if method == "server/discover" and MODE == "new":
        meta = {"io.modelcontextprotocol/serverInfo": INFO["serverInfo"]}
        return {"resultType": "complete", "supportedVersions": ["2026-07-28"], "ttlMs": 0,
                "cacheScope": "private", "capabilities": INFO["capabilities"], "_meta": meta}
    if method == "initialize" and MODE != "new":
        return {"protocolVersion": params["protocolVersion"], **INFO}
    if method == "tools/list" and MODE == "restless":
        global LISTS
        LISTS += 1
        send({"method": "notifications/tools/list_changed"})
        return {"tools": TOOLS}
    if method == "tools/list":
        at = int(params.get("cursor") or 0)
        page = {"tools": TOOLS[at:at + 10]}
        return page | ({"nextCursor": str(at + 10)} if at + 10 < len(TOOLS) else {})
    if method == "tools/call":
        return call(params["name"], params.get("arguments") or {}, params.get("_meta") or {})
    if method == "resources/list":
        return {"resources": [{"uri": uri, "name": uri[7:]} for uri in RESOURCES]}
    if method == "resources/read":
        return {"contents": [{"uri": params["uri"], "text": RESOURCES[params["uri"]]}]}
    if method == "ping":
        return {}
    raise Unknown(method)


def handle(message):
    try:
        return {"id": message["id"], "result": answer(message["method"], message.get("params") or {})}
    except Unknown:
        return {"id": message["id"], "error": {"code": -32601, "message": "no such method"}}


def on_pipes():
    for line in sys.stdin:
        if MODE == "silent":
            continue
        message = json.loads(line)
        if MODE == "picky" and message.get("method") == "server/discover":
            os._exit(1)
        if MODE == "deaf" and message.get("method") == "server/discover":
            continue
        if MODE == "noisy":
            print("Listening on stdio...", flush=True)
        if message.get("id") in ANSWERS and "result" in message:
            ANSWERS[message["id"]].result = message["result"]
            ANSWERS[message["id"]].set()
        elif message.get("method") == "notifications/cancelled":
            with open("cancelled", "w") as file:
                file.write(message["params"].get("reason", ""))
        elif "id" in message and "method" in message:
            threading.Thread(target=lambda m=message: send(handle(m)), daemon=True).start()


def over_http():
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def reply(self, code, body=b"", kind="application/json", session=None):
            self.send_response(code)
            if session:
                self.send_header("Mcp-Session-Id", session)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self):
            self.reply(405)

        def do_POST(self):
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.headers.get("X-Key") != "open sesame":
                return self.reply(401)
            session = None
            if MODE == "http-sessions" and message["method"] == "initialize":
                session = f"s{len(SESSIONS) + 1}"
                SESSIONS[session] = True
            elif MODE == "http-sessions" and not SESSIONS.get(self.headers.get("Mcp-Session-Id")):
                return self.reply(404)
            if "id" not in message:
                return self.reply(202)
            body = json.dumps({"jsonrpc": "2.0", **handle(message)})
            if message["method"] == "tools/call" or MODE.endswith("crooked"):
                return self.reply(200, f"event: message\ndata: {body}\n\n".encode(), "text/event-stream")
            self.reply(200, body.encode(), session=session)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if len(sys.argv) > 2:
        import ssl
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[2])
        server.socket = context.wrap_socket(server.socket, server_side=True)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if MODE == "dies":
    sys.stderr.write("no licence for \x1b[2Jthis machine\n")
    sys.exit(3)
if MODE.startswith("http"):
    over_http()
elif MODE == "long":
    sys.stdout.write("x" * (17 * 1024 * 1024))
    sys.stdout.flush()
    threading.Event().wait()
else:
    on_pipes()
