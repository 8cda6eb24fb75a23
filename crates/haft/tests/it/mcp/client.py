"""The official Python client against `haft mcp`: client.py HAFT FOLDER ERA.

Prints one JSON object with what it was told; the test that runs it judges.
"""

import asyncio
import json
import pathlib
import sys
import time

from mcp import Client, StdioServerParameters, types

haft, folder, era = sys.argv[1:]
answers = []
asked = []


async def elicit(_context, params):
    asked.append(params.message)
    return answers.pop(0)


async def call(client, tool, args, **options):
    result = await client.call_tool(tool, args, **options)
    return {"error": bool(result.is_error), "text": result.content[0].text}


async def main():
    server = StdioServerParameters(command=haft, args=["mcp", "--dir", folder])
    said = {}
    async with Client(server, mode=era, elicitation_callback=elicit) as client:
        said["version"] = client.protocol_version
        tools = (await client.list_tools()).tools
        said["tools"] = [tool.name for tool in tools]
        said["read_only"] = [tool.name for tool in tools if tool.annotations.read_only_hint]
        said["read"] = await call(client, "read", {"file_path": "a.txt"})

        progress = []

        # The script says its next line once we have heard of the one before.
        async def hear(done, total, message):
            progress.append([done, message])
            if message and message.startswith("line "):
                pathlib.Path(folder, message.replace(" ", "-")).touch()

        script = "for i in 1 2 3 4 5; do echo line $i; until [ -e line-$i ]; do sleep 0.02; done; done"
        said["bash"] = await call(client, "bash", {"command": script}, progress_callback=hear)
        said["progress"] = progress

        sleeper = asyncio.create_task(call(client, "bash", {"command": "touch began; sleep 61.25"}))
        while not await exists(client, "began"):
            await asyncio.sleep(0.02)
        started = time.monotonic()
        sleeper.cancel()
        await asyncio.gather(sleeper, return_exceptions=True)
        said["after_cancel"] = await call(client, "read", {"file_path": "a.txt", "limit": 1})
        said["cancel_seconds"] = time.monotonic() - started

        accept = types.ElicitResult(action="accept", content={"decision": "once"})
        for name, answer in [
            ("accept", accept),
            ("decline", types.ElicitResult(action="decline")),
            ("cancel", types.ElicitResult(action="cancel")),
        ]:
            answers.append(answer)
            said[name] = await call(client, "read", {"file_path": ".env"})
    said["asked"] = asked
    print(json.dumps(said))


async def exists(client, name):
    found = await call(client, "glob", {"pattern": name})
    return name in found["text"].splitlines()[0]


asyncio.run(main())
