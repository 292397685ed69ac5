"""States as differences (docs/protocol.md, Changed) and their order (Order, 2 and 5), also through a real server."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonpatch
from hypothesis import given
from hypothesis import strategies as st

from fairlead import differences
from fairlead.differences import difference
from support.client import Client, Json

EDITOR: Json = {
    "workspace": {
        "applyEdit": True,
        "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create", "rename", "delete"]},
    },
    "experimental": {"agent": {"approvals": True, "checksEdits": True, "claimsFiles": True, "incremental": True}},
}
Replay = Callable[..., Json]

texts = st.sampled_from(["a", "b", "c", "d", "e", "f"])
hunks = st.fixed_dictionaries({"id": texts, "newStart": st.integers(1, 3)})
files = st.fixed_dictionaries({"uri": texts, "hunks": st.lists(hunks, max_size=4), "kind": texts | st.none()})
runs = st.fixed_dictionaries({"command": texts, "exitCode": st.integers(0, 1) | st.none()})
states = st.fixed_dictionaries(
    {
        "version": st.integers(0, 3),
        "files": st.lists(files, max_size=6),
        "commands": st.lists(runs, max_size=4),
        "names": st.lists(texts, max_size=6),
        "checked": runs | st.none(),
        "a/b~c": texts,
    }
)


def patched(state: Json, patch: list[Any]) -> Any:
    return jsonpatch.apply_patch(state, json.loads(json.dumps(patch)))


@given(states, states)
def test_a_difference_leads_from_the_old_state_to_the_new(old: Json, new: Json) -> None:
    """This holds for any two states, even if items come, go, move or occur twice. Computing the difference changes
    neither state.
    """
    before = copy.deepcopy((old, new))
    assert patched(old, difference(old, new)) == new == differences.patched(old, difference(old, new))
    assert (old, new) == before
    assert difference(new, copy.deepcopy(new)) == []


def file(number: int, *starts: int) -> Json:
    found = [{"id": str(start), "newStart": start} for start in starts]
    return {"uri": f"file:///{number}", "additions": len(starts), "hunks": found}


def test_a_difference_names_only_what_changed() -> None:
    """The difference names the file that was removed, the one that was added, and the hunk that was added to another
    file. It does not name files that only moved.
    """
    old = {"version": 1, "files": [file(number, 1, 9) for number in range(800)]}
    new = {"version": 2, "files": [file(800, 1), *old["files"][:399], file(399, 1, 5, 9), *old["files"][401:]]}
    assert difference(old, new) == [
        {"op": "replace", "path": "/version", "value": 2},
        {"op": "remove", "path": "/files/400"},
        {"op": "add", "path": "/files/0", "value": file(800, 1)},
        {"op": "replace", "path": "/files/400/additions", "value": 3},
        {"op": "add", "path": "/files/400/hunks/1", "value": {"id": "5", "newStart": 5}},
    ]


def test_a_list_of_which_most_changed_is_replaced() -> None:
    """The list of files after Accept All is an example."""
    old = {"version": 1, "files": [file(number, 1) for number in range(800)]}
    assert difference(old, {"version": 1, "files": []}) == [{"op": "replace", "path": "/files", "value": []}]


def folded(client: Client, name: str) -> Json:
    """The state of a client that follows every difference. Checks that each one starts from the state before it."""
    state: Json | None = None
    for method, params in client.log:
        if method == name:
            assert state is None, "only the first is whole"
            state = params
        elif method == f"{name}/changed":
            assert state is not None
            assert params["since"] == state["version"]
            state = patched(state, params["patch"])
    assert state is not None
    return state


EDITS = [
    {"write_file": {"path": f"f{number}.txt", "content": "one\ntwo\n"}}
    if number % 2
    else {"edit_file": {"path": "a.txt", "old_text": f"line {number}\n", "new_text": f"LINE {number}\n"}}
    for number in range(12)
]


async def test_a_client_that_follows_the_differences_has_the_states(workspace: Path, replay: Replay) -> None:
    """After each decision, the client's states equal those that `agent/sessions/open` returns."""
    (workspace / "a.txt").write_text("".join(f"line {number}\n" for number in range(40)))
    steps = [{"content": "Edit", "status": "in_progress"}, {"content": "Look", "status": "pending"}]
    turns: list[Json] = [{"calls": [{"todo": {"items": steps}}]}, *({"calls": [edit]} for edit in EDITS), {"text": "."}]
    async with Client(workspace, settings=replay(*turns), capabilities=EDITOR) as client:
        session: str = (await client.run())["sessionId"]

        async def check() -> Json:
            opened: Json = await client.request("agent/sessions/open", {"sessionId": session})
            assert folded(client, "agent/plan") == opened["plan"]
            assert folded(client, "agent/edits") == opened["edits"]
            return opened["edits"]

        edits = await check()
        assert len(edits["files"]) == 7
        one = {"uri": edits["files"][0]["uri"], "hunk": edits["files"][0]["hunks"][0]["id"]}
        for method, params in (
            ("accept", {"target": one}),
            ("reject", {"target": {"uri": edits["files"][3]["uri"]}, "reason": "no"}),
            ("accept", {"target": {"all": True}}),
            ("undo", {}),
            ("redo", {}),
            ("undo", {}),
        ):
            answer = await client.request(f"agent/edits/{method}", {"sessionId": session, **params})
            assert answer["edits"] is None
            await check()
        await client.run("Again.", sessionId=session)
        await check()


async def test_the_state_that_a_call_changed_comes_before_its_end(workspace: Path, replay: Replay) -> None:
    """docs/protocol.md, Order, 2 and 5: before `tool_finished`, the client has a state that contains the call's change,
    and possibly later changes.
    """
    turns = [*({"calls": [edit]} for edit in EDITS if "write_file" in edit), {"text": "."}]
    async with Client(workspace, settings=replay(*turns), capabilities=EDITOR) as client:
        await client.run()
        written = 0
        for index, (method, params) in enumerate(client.log):
            if method == "agent/event" and params["kind"] == "tool_finished":
                written += 1
                so_far = Client(workspace)
                so_far.log = client.log[:index]
                assert len(folded(so_far, "agent/edits")["files"]) >= written
        assert written == 6


async def test_a_killed_server_has_saved_all_that_it_sent(workspace: Path, replay: Replay, storage: Path) -> None:
    """The journal is written before a state or an event is sent (docs/decisions.md)."""
    settings = replay({"calls": [EDITS[1]]}, {"text": "."})
    async with Client(workspace, settings=settings, capabilities=EDITOR, storage=storage) as client:
        _, answer = client.begin("agent/runTask", {"prompt": "Do it."})
        await client.event("tool_finished")
        session = client.events()[0]["sessionId"]
        answer.cancel()
        client.process.kill()
        await client.process.wait()
        seen = folded(client, "agent/edits")
    async with Client(workspace, settings=settings, capabilities=EDITOR, storage=storage) as client:
        opened = await client.request("agent/sessions/open", {"sessionId": session})
        assert opened["edits"]["files"] == seen["files"]
        assert opened["edits"]["version"] >= seen["version"]
        assert folded(client, "agent/edits") == opened["edits"]
