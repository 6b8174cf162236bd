# SPDX-License-Identifier: Apache-2.0
"""`xlatrace mcp` with the official client of the protocol, and the commands of the skill file.

Environment beside support.py's:
  XLATRACE_TEST_PYTHON_MCP  an interpreter with the package mcp
"""

import json
import os
import pathlib
import re
import textwrap

import support

PYTHON_MCP = os.environ.get("XLATRACE_TEST_PYTHON_MCP")
SKILL = support.REPOSITORY / "share" / "skills" / "xlatrace" / "SKILL.md"

CLIENT = """
    import asyncio, json, sys
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client
    try:
        from mcp import Client  # From version 2 on.
    except ImportError:
        Client = None

    SERVER = StdioServerParameters(command=sys.argv[1], args=["mcp"])

    async def use(session, calls):
        tools = await session.list_tools()
        texts = []
        for name, arguments in calls:
            result = await session.call_tool(name, arguments)
            texts.append(result.content[0].text)
        errors = []
        for name, arguments in (("none", {}), ("open", {"path": 7})):
            try:
                await session.call_tool(name, arguments)
            except Exception as error:
                errors.append(getattr(error, "code", None) or error.error.code)
        return {"tools": [tool.name for tool in tools.tools], "texts": texts, "errors": errors}

    async def main(calls):
        async with stdio_client(SERVER) as (read, write):
            async with ClientSession(read, write) as session:
                await session.initialize()
                found = [await use(session, calls)]
        if Client is not None:  # Negotiates the revision, which needs no handshake.
            async with Client(stdio_client(SERVER)) as client:
                found.append(await use(client, calls))
        print(json.dumps(found))

    asyncio.run(main(json.loads(sys.argv[2])))
"""


class OfficialClient(support.TestCase):
    def test_tools_can_be_listed_and_called(self):
        if not PYTHON_MCP:
            self.skipTest("XLATRACE_TEST_PYTHON_MCP is not set")
        (self.folder / "p.xplane.pb").write_bytes(support.xspace("jit_step", support.OPS))
        self.assertEqual(self.run_program("import", "p.xplane.pb", "-o", "run.db").code, 0)
        calls = [["open", {"path": str(self.folder / "run.db")}], ["summary", {"run": "r1"}], ["findings", {"run": "r1"}],
                 ["show", {"run": "r1", "what": "o1"}], ["query", {"run": "r1", "sql": "SELECT count(*) AS n FROM launch"}],
                 ["show", {"run": "r1", "what": "o999"}]]
        done = support.run_command(
            [PYTHON_MCP, "-c", textwrap.dedent(CLIENT), support.PROGRAM, json.dumps(calls)], cwd=self.folder)
        self.assertEqual(done.code, 0, done)
        for found in json.loads(done.stdout):
            self.assertEqual(len(found["tools"]), 12)
            self.assertTrue(found["texts"][0].startswith("r1 "), found)
            self.assertIn("\nn\n6\n", found["texts"][4])
            self.assertTrue(found["texts"][5].startswith("cannot answer"))
            self.assertEqual(found["errors"], [-32602, -32602])
            for text in found["texts"]:
                self.assertLessEqual(len(text.encode()), 2048)


class Skill(support.TestCase):
    def test_commands_of_the_skill_file_run(self):
        (self.folder / "trace.xplane.pb").write_bytes(support.xspace("jit_step", support.OPS))
        for name in ("before.db", "after.db"):
            self.assertEqual(self.run_program("import", "trace.xplane.pb", "-o", name).code, 0)
        script = "\n".join(re.findall(r"```sh\n(.*?)```", SKILL.read_text(), re.S))
        self.assertGreater(script.count("xlatrace "), 10)
        folder = pathlib.Path(support.PROGRAM).parent
        done = support.run_command(["bash", "-euo", "pipefail", "-c", script], cwd=self.folder,
                                   env=support.environment(PATH=f"{folder}:{os.environ['PATH']}"))
        self.assertEqual(done.code, 0, done)
        self.assertEqual(done.errors, [], done)

    def test_skill_file_lies_beside_the_program(self):
        installed = pathlib.Path(support.PROGRAM).resolve().parents[1] / "share/xlatrace/skills/xlatrace/SKILL.md"
        self.assertEqual(installed.read_text(), SKILL.read_text())

    def test_skill_file_begins_with_name_and_description(self):
        begin = SKILL.read_text().split("---\n")[1]
        self.assertEqual([line.split(":")[0] for line in begin.splitlines()], ["name", "description"])
