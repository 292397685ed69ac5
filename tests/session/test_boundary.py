"""Changes to many files that are noticed between two rounds (docs/plan.md L6)."""

from pathlib import Path

from session.harness import SessionHarness, run_sync


def test_l6_a_reported_change_of_one_of_many_files_is_noticed_at_once(tmp_path: Path) -> None:
    """A reported change is noticed even in a file that would not be read again now, with or without a proposal. It is
    returned only once."""
    names = [f"f{number}.txt" for number in range(60)]
    for name in names:
        (tmp_path / name).write_text("one\ntwo\n")
    harness = SessionHarness(tmp_path)
    files = harness.session.files
    for name in names:
        assert harness.call("read_file", path=name) is not None
    for name in names[:30]:
        assert harness.call("edit_file", path=name, old_text="two", new_text="three") is not None
    run_sync(files.read_tracker.take_changes())
    changed = [tmp_path / names[29], tmp_path / names[59]]
    for path in changed:
        path.write_text("ONE, by others\ntwo\n")
    run_sync(harness.session.observe(changed))
    assert files.proposal(changed[0]) is not None
    assert files.read(changed[0]) == "ONE, by others\nthree\n"
    found = [change.path for change in run_sync(files.read_tracker.take_changes())]
    assert set(found) == set(changed)
    assert run_sync(files.read_tracker.take_changes()) == []
