"""An agent that speaks ACP and does what a script says: `acp_agent.py SCRIPT`.

The script is a list of turns in JSON; each is a list of steps. What it remembers is in the folder AGENT_STATE, so that
it continues its sessions after a restart. It needs only the standard library, because it runs in a box.
"""

import json
import os
import select
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

STATE = Path(os.environ["AGENT_STATE"])
OPTIONS = [
    {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
    {"optionId": "always", "name": "Always", "kind": "allow_always"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
]


class Agent:
    def __init__(self, turns: list[Any]) -> None:
        self.turns, self.session, self.last_id = turns, "", 0
        self.servers: list[Any] = []
        """The tool servers of the session."""
        self.prompt = ""
        self.answers: list[Any] = []
        self.after: list[Any] = []
        """The steps after the answer to the prompt."""
        self.cancelled = False

    def send(self, **message: Any) -> None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()

    def update(self, update: str, /, **fields: Any) -> None:
        given = {"sessionId": self.session, "update": {"sessionUpdate": update, **fields}}
        self.send(method="session/update", params=given)

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        """Sends a request and waits for its answer. Meanwhile only a cancellation is taken."""
        self.last_id += 1
        self.send(id=f"q{self.last_id}", method=method, params={"sessionId": self.session, **params})
        while True:
            message = json.loads(sys.stdin.readline() or "{}")
            if message.get("id") == f"q{self.last_id}":
                self.answers.append(message.get("result", message.get("error")))
                return message
            if message.get("method") == "session/cancel":
                self.cancelled = True

    def serve(self) -> None:
        for line in sys.stdin:
            message = json.loads(line)
            if "method" not in message or "id" not in message:
                continue
            if os.environ.get("NEVER_ANSWERS") == message["method"]:
                continue
            try:
                result = self.answer(message["method"], message["params"])
            except PermissionError as error:
                self.send(id=message["id"], error={"code": -32000, "message": str(error)})
            else:
                self.send(id=message["id"], result=result)
                if message["method"] == os.environ.get("READS_UNTIL"):
                    time.sleep(3600)
                self.run(self.after)

    def answer(self, method: str, params: dict[str, Any]) -> Any:
        if method == "initialize":
            can = {"loadSession": "NO_LOAD" not in os.environ, "promptCapabilities": {"image": True}}
            if "NO_TOOLS" not in os.environ:
                can["mcpCapabilities"] = {"http": True, "sse": False}
            return {"protocolVersion": 1, "agentCapabilities": can, "authMethods": []}
        if method in ("session/new", "session/load"):
            self.servers = params["mcpServers"]
        if method == "session/new":
            if "NO_ACCOUNT" in os.environ and not (STATE / "account").exists():
                raise PermissionError("Authentication required")
            self.session = f"s{time.time_ns()}"
            return {"sessionId": self.session, **self.options()}
        if method == "session/load":
            self.session = params["sessionId"]
            self.update("agent_message_chunk", content={"type": "text", "text": "(replayed)"})
            return self.options()
        if method == "session/set_config_option":
            (STATE / params["configId"]).write_text(params["value"])
            return self.options()
        if method == "session/prompt":
            return self.turn(params["prompt"])
        raise ValueError(method)

    def options(self) -> dict[str, Any]:
        saved = STATE / "model"
        value = saved.read_text() if saved.exists() else "small"
        small, large = os.environ.get("MODELS", "Small,Large").split(",")
        choices = [{"value": "small", "name": small}, {"value": "large", "name": large}]
        option = {"type": "select", "id": "model", "name": "Model", "category": "model", "currentValue": value}
        return {"configOptions": [{**option, "options": choices}]}

    def turn(self, content: list[dict[str, Any]]) -> Any:
        counter = STATE / "turns"
        number = int(counter.read_text()) if counter.exists() else 0
        counter.write_text(str(number + 1))
        self.prompt = "\n".join(block.get("text", f"[{block['type']}]") for block in content)
        with (STATE / "prompts.jsonl").open("a") as file:
            file.write(json.dumps(self.prompt) + "\n")
        self.cancelled, self.after = False, []
        stop = self.run(self.turns[number] if number < len(self.turns) else [])
        if stop or self.cancelled:
            return {"stopReason": "cancelled" if self.cancelled else stop}
        return {"stopReason": "end_turn", "usage": {"inputTokens": 100, "outputTokens": 20, "totalTokens": 120}}

    def run(self, steps: list[Any]) -> Any:
        for step in steps:
            [(name, value)] = step.items()
            stop = getattr(self, f"do_{name}")(value)
            if stop or self.cancelled:
                return stop
        return None

    def do_say(self, text: str) -> None:
        self.update("agent_message_chunk", content={"type": "text", "text": text})

    def do_think(self, text: str) -> None:
        self.update("agent_thought_chunk", content={"type": "text", "text": text})

    def do_pause(self, seconds: float) -> None:
        """Thinks, for the benchmark: tests wait for conditions."""
        time.sleep(seconds)

    def do_frame(self, fields: dict[str, Any]) -> None:
        """An update as it is."""
        self.send(method="session/update", params={"sessionId": self.session, "update": fields})

    def do_commands(self, names: list[str]) -> None:
        """What it knows after a slash."""
        commands = [{"name": name, "description": f"Does {name}."} for name in names]
        self.update("available_commands_update", availableCommands=commands)

    def do_raw(self, line: str) -> None:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    def do_flood(self, given: list[Any]) -> None:
        """Sends an update this many times; `#` in it stands for a number."""
        count, fields = given
        text = json.dumps({"jsonrpc": "2.0", "method": "session/update"})[:-1]
        params = json.dumps({"sessionId": self.session, "update": fields})
        for number in range(count):
            sys.stdout.write(f'{text}, "params": {params.replace("#", str(number))}}}\n')
        sys.stdout.flush()

    def do_large(self, given: list[Any]) -> None:
        """Sends an update in which `#` stands for this many characters."""
        count, fields = given
        params = json.dumps({"sessionId": self.session, "update": fields}).replace("#", "x" * count)
        self.do_raw(f'{{"jsonrpc": "2.0", "method": "session/update", "params": {params}}}')

    def do_deep(self, levels: int) -> None:
        """Sends a call whose input has this many levels."""
        deep = '{"a":' * levels + "1" + "}" * levels
        update = f'{{"sessionUpdate":"tool_call","toolCallId":"deep","status":"pending","rawInput":{deep}}}'
        params = f'{{"sessionId":"{self.session}","update":{update}}}'
        self.do_raw(f'{{"jsonrpc":"2.0","method":"session/update","params":{params}}}')

    def do_after(self, steps: list[Any]) -> None:
        """Steps after the answer to this prompt."""
        self.after = steps

    def do_answer(self, message: dict[str, Any]) -> None:
        """Any message."""
        self.send(**message)

    def do_asks(self, given: list[Any]) -> None:
        """Asks this many times at once, and reads the answers."""
        count, params = given
        for number in range(count):
            self.send(
                id=f"a{number}", method="session/request_permission", params={"sessionId": self.session, **params}
            )
        answers = [json.loads(sys.stdin.readline()) for _ in range(count)]
        yes = sum("yes" in json.dumps(each.get("result")) for each in answers)
        self.do_say(f"{yes} of {len(answers)} allowed")

    def do_loop(self, given: list[Any]) -> None:
        """Asks this many times, one after the other."""
        count, params = given
        yes = sum("yes" in json.dumps(self.ask("session/request_permission", params)["result"]) for _ in range(count))
        self.do_say(f"{yes} of {count} allowed")

    def do_ask_and_exit(self, params: dict[str, Any]) -> None:
        self.send(id="a", method="session/request_permission", params={"sessionId": self.session, **params})
        os._exit(3)

    def do_hang(self, _: Any) -> None:
        """Reads on, and does nothing."""
        while sys.stdin.readline():
            pass

    def do_plan(self, entries: list[list[str]]) -> None:
        shown = [{"content": content, "status": status, "priority": "medium"} for content, status in entries]
        self.update("plan", entries=shown)

    def do_plans(self, count: int) -> None:
        """A plan with this many steps."""
        self.do_plan([[f"Step {number}", "pending"] for number in range(count)])

    def do_write(self, given: list[str]) -> None:
        """Writes a file with its own tool, and says so as most agents do."""
        path, text = given
        call = {"toolCallId": f"write-{path}", "title": f"Write {path}", "kind": "edit"}
        self.update("tool_call", **call, status="pending", locations=[{"path": os.path.abspath(path)}])
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text)
        diff = {"type": "diff", "path": os.path.abspath(path), "oldText": None, "newText": text}
        self.update("tool_call_update", toolCallId=call["toolCallId"], status="completed", content=[diff])

    def do_writes(self, given: list[Any]) -> None:
        """Writes a file this many times, each time with its number."""
        for number in range(given[1]):
            self.do_write([given[0], f"{number}\n"])

    def do_shell(self, command: str) -> str | None:
        """Asks, then runs a command with its own shell."""
        call = {
            "toolCallId": f"shell-{self.last_id}",
            "title": command,
            "kind": "execute",
            "rawInput": {"command": command},
        }
        answer = self.ask("session/request_permission", {"toolCall": call, "options": OPTIONS})
        outcome = answer.get("result", {}).get("outcome", {})
        if outcome.get("optionId") != "yes":
            self.update("tool_call_update", toolCallId=call["toolCallId"], status="failed")
            return None
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
        content = [{"type": "content", "content": {"type": "text", "text": done.stdout + done.stderr}}]
        status = "completed" if done.returncode == 0 else "failed"
        self.update("tool_call_update", toolCallId=call["toolCallId"], status=status, content=content)
        return None

    def do_quiet(self, command: str) -> None:
        """Runs a command and says nothing about it."""
        subprocess.run(["bash", "-c", command], check=False)

    def do_daemon(self, name: str) -> None:
        """Leaves a process with this name running."""
        command = ["bash", "-c", f"exec -a {name} sleep 600"]
        process = subprocess.Popen(command, stdin=-3, stdout=-3, stderr=-3, start_new_session=True)
        while not Path(f"/proc/{process.pid}/cmdline").read_text().startswith(name):
            time.sleep(0.01)

    def do_read(self, path: str) -> None:
        self.do_say(f"<{path}>{Path(path).read_text() if Path(path).exists() else '(none)'}</{path}>")

    def do_echo(self, _: Any) -> None:
        self.do_say(self.prompt)

    def do_tool(self, given: list[Any]) -> None:
        """Calls a tool of its first tool server, and says what the result is."""
        name, arguments = given
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        [server] = self.servers
        headers = {each["name"]: each["value"] for each in server["headers"]}
        headers |= {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        request = urllib.request.Request(server["url"], json.dumps(message).encode(), headers)
        with urllib.request.urlopen(request) as answer:
            result = json.load(answer)["result"]
        self.do_say(f"<{name}>{'Error: ' * result['isError']}{result['content'][0]['text']}</{name}>")

    def do_servers(self, _: Any) -> None:
        self.do_say(json.dumps([each["name"] for each in self.servers]))

    def do_ask(self, given: dict[str, Any]) -> None:
        answer = self.ask("session/request_permission", given)
        self.do_say(json.dumps(answer.get("result", answer.get("error"))))

    def do_request(self, given: list[Any]) -> None:
        """Any request, such as one that was not announced."""
        answer = self.ask(given[0], given[1])
        self.do_say(json.dumps(answer.get("error", answer.get("result"))))

    def do_question(self, message: dict[str, Any]) -> None:
        """Asks, and does not wait for the answer."""
        self.send(**{**message, "params": {"sessionId": self.session, **message["params"]}})

    def do_wait_state(self, name: str) -> None:
        """Waits for a file in its state folder."""
        while not (STATE / name).exists():
            time.sleep(0.01)

    def do_wait(self, path: str) -> None:
        """Waits for a file, or until it is cancelled."""
        while not Path(path).exists():
            if select.select([sys.stdin], [], [], 0.01)[0]:
                self.cancelled = "session/cancel" in sys.stdin.readline()
                return

    def do_stop(self, reason: str) -> str:
        return reason

    def do_exit(self, code: int) -> None:
        os._exit(code)


if __name__ == "__main__":
    Agent(json.loads(Path(sys.argv[1]).read_text())).serve()
