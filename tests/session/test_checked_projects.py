"""A verification of a real tool holds as long as nothing changed that the tool depends on (docs/plan.md P21)."""

import pytest

from fairlead.session.review import checks
from session.boxed import boxed_session
from session.checked_projects import CheckedProject, apply, projects, run_on_disk
from support.sandbox import needs_sandbox


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    needs_sandbox()


@pytest.mark.slow
@pytest.mark.parametrize("project", projects(), ids=lambda each: each.name)
async def test_p21_only_a_change_that_a_tool_can_notice_ends_its_verification(project: CheckedProject) -> None:
    """Another run of the check, also by the user on disk, ends none, and a change that is reverted neither."""
    if missing := project.missing():
        pytest.skip(f"not installed: {missing}")
    async with boxed_session([]) as agent:
        evidence, wrong = agent.session.evidence, list[str]()
        project.write(agent.folder)

        async def check() -> None:
            await checks.run_checks(agent.session.user_checks, project.check, None)

        async def expect(after: object, *, holds: bool) -> None:
            await evidence.compare()
            if await evidence.still_passes(project.check) is not holds:
                run = list(evidence.recorder.record.runs())[-1]
                changed = evidence.known_files.changed_since(run.state or 0, run.inputs)
                wrong.append(f"{'is stale' if holds else 'holds'} after {after}: {changed}")
                if holds:
                    await check()

        await check()
        run = list(evidence.recorder.record.runs())[-1]
        assert run.exit_code == 0, "".join(agent.output)
        assert run.inputs is not None
        await expect("itself", holds=True)
        await run_on_disk(agent, project.user or project.check)
        await expect("the user's run", holds=True)
        await check()
        await expect("a second run", holds=True)
        for holds, changes in ((True, project.holds), (False, project.alarms), (False, project.stale)):
            for change in changes:
                before = apply(agent.folder, change)
                await expect(change, holds=holds)
                apply(agent.folder, before)
                await expect(f"the revert of {change}", holds=True)
        assert wrong == [], "\n".join(wrong)
