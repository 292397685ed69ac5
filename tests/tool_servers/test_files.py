"""Tool servers in the box: what they see, and how what they write is proposed."""

from pathlib import Path

import pytest

from support.sandbox import needs_sandbox
from tool_servers.world import User, scripted, world


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


async def test_a_server_sees_proposals_and_what_it_writes_is_proposed() -> None:
    """With the call as the author, after each call, while the server runs on and the disk stays as it is."""
    async with world(scripted(), paths=["a.txt"]) as found:
        before = found.boxed.tree
        await found.boxed.call("write_file", path="a.txt", content="proposed\n")
        assert "proposed" in await found.call("files__read", path="a.txt")
        said = await found.call("files__write", path="new/b.txt", text="from the server\n")
        assert "Proposed for review: new new/b.txt (+1 -0)." in said
        await found.call("files__write", path="a.txt", text="changed\n")
        assert found.proposals == {"a.txt": "changed\n", "new/b.txt": "from the server\n"}
        assert found.boxed.tree == before
        proposal = found.session.files.changes.for_target(str(found.folder / "new/b.txt"))
        assert proposal is not None
        assert proposal.origin(proposal.hunks[0])
        assert proposal.call_ids(proposal.hunks[0]) == ["call-2"]
        await found.boxed.call("edit_file", path="new/b.txt", old_text="server", new_text="agent")
        assert "from the agent" in await found.call("files__read", path="new/b.txt")
        await found.boxed.accept("new/b.txt")
        assert (found.folder / "new/b.txt").read_text() == "from the agent\n"
        (found.folder / "new/b.txt").write_text("by the user\n")
        (found.folder / "own.txt").write_text("own\n")
        assert "by the user" in await found.call("files__read", path="new/b.txt")
        assert "own" in await found.call("files__read", path="own.txt")
        assert len(found.user.asked) == 0


async def test_a_server_replaces_a_file_that_its_definition_names(tmp_path: Path) -> None:
    """In the folder for what it keeps, also after a restart, when the file exists."""
    kept = scripted(variables=(("KEPT", "${serverData}/kept.txt"),))
    replace = 'echo new > "$KEPT.tmp" && mv "$KEPT.tmp" "$KEPT" && cat "$KEPT"'
    async with world(kept, packages=tmp_path, user=User("allow_once")) as found:
        for _ in range(2):
            assert "new" in await found.call("files__run", command=replace)
            await found.session.tool_servers.restart("files")
