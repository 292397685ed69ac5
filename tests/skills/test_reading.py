"""What the files of skills and commands say, as other agents write them, and where they are found."""

from pathlib import Path
from typing import Any

import pytest
import skills_ref
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fairlead.agent.shortening import with_summary
from fairlead.agent.tool import KEEPS_RESULTS
from fairlead.errors import ToolError
from fairlead.messages.parts import Call, Message, Note, Prompt, Result
from fairlead.skills.find import MAX_DEPTH, FoundSkills, find_skills, problems_in
from fairlead.skills.front_matter import MAX_HEADER, read_front_matter
from fairlead.skills.library import LIST, MAX_LIST_CHARS, SkillLibrary
from fairlead.skills.skill import Skill, read_skill
from fairlead.tools.skill import UseSkill
from fairlead.workspace.file_problem import FileProblem
from fairlead.workspace.paths import Roots


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def skill(text: str, name: str = "pdf-forms") -> Skill:
    found = read_skill("skill", Path("/ws/.agents/skills", name, "SKILL.md"), text, is_from_workspace=True)
    assert isinstance(found, Skill), found
    return found


def command(text: str) -> Skill:
    found = read_skill("command", Path("/ws/.claude/commands/fix.md"), text, is_from_workspace=True)
    assert isinstance(found, Skill), found
    return found


@pytest.mark.parametrize(
    ("text", "description", "warnings"),
    [
        ("---\nname: pdf-forms\ndescription: Fills forms.\n---\nDo it.", "Fills forms.", ()),
        ("---\ndescription: Use when: a PDF\n---\nDo it.", "Use when: a PDF", ()),
        ("---\ndescription: >\n  Fills\n  forms.\n---\nDo it.", "Fills forms.", ()),
        ("\ufeff---\r\ndescription: Fills.\r\n---\r\nDo it.", "Fills.", ()),
        (
            "# Fill forms\nDo it.",
            "Fill forms",
            (": it has no description, so its first line counts as one",),
        ),
        (
            "---\nname: other\ndescription: Fills.\n---\nDo it.",
            "Fills.",
            ("2: its name other is not that of its folder, which counts",),
        ),
        (
            "---\ndescription: {\n---\nDo it.",
            "Do it.",
            (
                "2: its fields cannot be read: expected the node content, but found '<stream end>'",
                ": it has no description, so its first line counts as one",
            ),
        ),
        (
            f"---\ndescription: {'x' * MAX_HEADER}\n---\nDo it.",
            "Do it.",
            (
                "1: its fields cannot be read: its header is longer than 20,000 characters",
                ": it has no description, so its first line counts as one",
            ),
        ),
    ],
)
def test_a_skill_is_read_as_leniently_as_by_others(text: str, description: str, warnings: tuple[str, ...]) -> None:
    found = skill(text)
    assert (found.name, found.description) == ("pdf-forms", description)
    assert [f"{each.line or ''}: {each.text}" for each in found.warnings] == list(warnings)
    assert found.body.endswith("Do it.")


def test_no_field_stands_for_gigabytes() -> None:
    """docs/faults.md 257: fields that name each other are not read, and the text is."""
    values = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    fields = ["a0: &a0 [x]", *values, "argument-hint: *a11", "description: Fills."]
    found = skill("\n".join(["---", *fields, "---", "Do it."]))
    assert (found.hint, found.body) == ("", "Do it.")
    assert (found.warnings[0].line, found.warnings[0].text) == (
        3,
        "its fields cannot be read: aliases, such as *name, are not read",
    )
    assert skill("---\nargument-hint: [file]\n---\nDo it.").hint == "[file]"


@pytest.mark.parametrize("text", ["", "---\ndescription: x\n---\n"])
def test_a_file_without_instructions_is_no_skill(text: str) -> None:
    found = read_skill("skill", Path("/ws/s/SKILL.md"), text, is_from_workspace=True)
    assert isinstance(found, FileProblem)
    assert found.is_left_out


def test_who_may_use_it() -> None:
    assert (skill("x").is_for_model, skill("x").is_for_user) == (True, True)
    assert not skill("---\ndisable-model-invocation: true\n---\nx").is_for_model
    assert not skill("---\nuser-invocable: false\n---\nx").is_for_user
    assert not command("x").is_for_model


@pytest.mark.parametrize(
    ("found", "arguments", "text"),
    [
        (command("Fix #$1 for $2."), '12 "the team"', "Fix #12 for the team."),
        (skill("Fix #$0 for $1."), "12 us", "Fix #12 for us."),
        (command("Fix $ARGUMENTS."), "a  b", "Fix a  b."),
        (command("Fix it."), "now", "Fix it.\n\nArguments: now"),
        (command("Fix $1 and $2."), "one", "Fix one and ."),
        (command("Costs $5."), "", "Costs ."),
        (
            skill("Run ${CLAUDE_SKILL_DIR}/x.py $ARGUMENTS"),
            "${SKILL_DIR}",
            "Run /ws/.agents/skills/pdf-forms/x.py ${SKILL_DIR}",
        ),
        (command("Say $1"), "it's", "Say it's"),
    ],
)
def test_arguments_take_their_places(found: Skill, arguments: str, text: str) -> None:
    assert found.text(arguments) == text


@given(st.text(max_size=200), st.text(max_size=40))
def test_any_text_is_read(text: str, arguments: str) -> None:
    """docs/faults.md 221: nothing raises, whatever the file and the arguments are."""
    found = read_skill("skill", Path("/ws/s/SKILL.md"), text, is_from_workspace=True)
    if isinstance(found, Skill):
        found.text(arguments)
    read_front_matter(f"---\n{text}\n---\n{arguments}").text("name")


def test_a_skill_behind_a_link_in_the_home_is_called_as_the_link(tmp_path: Path) -> None:
    """Its files are where the link leads: commands in the sandbox find them only there."""
    path = write(tmp_path, "dotfiles/forms-2/SKILL.md", "Run ${SKILL_DIR}/run.sh.")
    (tmp_path / "home/.claude/skills").mkdir(parents=True)
    (tmp_path / "home/.claude/skills/forms").symlink_to(path.parent)
    [found] = find_skills([], tmp_path / "home").skills
    assert (found.name, found.folder, found.text()) == ("forms", path.parent, f"Run {path.parent}/run.sh.")


def test_the_nearest_of_several_with_the_same_name_counts(tmp_path: Path) -> None:
    """The workspace's before the user's, a skill before a command, and the folders in their order."""
    workspace, home = tmp_path / "ws", tmp_path / "home"
    for folder, name, text in (
        (home, ".claude/skills/deploy/SKILL.md", "home"),
        (home, ".agents/skills/own/SKILL.md", "own"),
        (workspace, ".github/skills/deploy/SKILL.md", "github"),
        (workspace, ".agents/skills/team/deploy/SKILL.md", "agents"),
        (workspace, ".claude/commands/deploy.md", "command"),
        (workspace, ".claude/commands/git/fix.md", "fix"),
        (workspace, ".github/prompts/review.prompt.md", "review"),
        (home, ".claude/commands/fix.md", "home fix"),
    ):
        write(folder, name, text)
    found = find_skills([workspace], home)
    assert [(each.name, each.body, each.is_from_workspace) for each in found.skills] == [
        ("deploy", "agents", True),
        ("fix", "fix", True),
        ("own", "own", False),
        ("review", "review", True),
    ]
    assert [each.name for each in find_skills([], home).skills] == ["deploy", "fix", "own"]


def test_what_cannot_be_used_is_reported_with_its_file(tmp_path: Path) -> None:
    """docs/faults.md 219, 221: a link in the workspace is not followed. Too large or deep files are left out."""
    secret = write(tmp_path, "secret/SKILL.md", "token")
    workspace = tmp_path / "ws"
    linked = workspace / ".agents/skills/linked"
    linked.mkdir(parents=True)
    (linked / "SKILL.md").symlink_to(secret)
    (workspace / ".agents/skills/folder").symlink_to(secret.parent)
    write(workspace, ".agents/skills/large/SKILL.md", "x" * 300_000)
    write(workspace, ".claude/skills/empty/SKILL.md", "---\nname: empty\n---\n")
    write(workspace, "/".join([".agents/skills", *("d" * (MAX_DEPTH + 2)), "SKILL.md"]), "too deep")
    found = find_skills([workspace], tmp_path / "nowhere")
    assert found.skills == ()
    assert len(found.problems) == 3
    assert f"{workspace}/.agents/skills/large/SKILL.md: it is larger than 200,000 bytes" in map(str, found.problems)
    assert f"{workspace}/.claude/skills/empty/SKILL.md: it has no instructions" in map(str, found.problems)


async def test_the_list_for_the_model_has_a_limit(tmp_path: Path) -> None:
    """In a stable order. Descriptions are cut before names are left out."""
    library = SkillLibrary(lambda: Roots.of(tmp_path), lambda: tmp_path / "home")
    assert library.list_for_model() == ""
    for number in range(300):
        write(tmp_path, f".agents/skills/s{number:03}/SKILL.md", f"---\ndescription: {'d' * 900}\n---\nx")
    await library.update()
    text = library.list_for_model()
    assert text == library.list_for_model()
    assert len(text) < MAX_LIST_CHARS + len(LIST) + 1000
    assert "- s000\n- s001\n" in text
    assert "- s299" in text
    assert "more)" in library.list_for_model(is_brief=True)


async def test_files_of_the_users_own_skills(tmp_path: Path) -> None:
    """docs/faults.md 220: the model reads them by `skill:NAME/FILE`, and nothing else outside of the workspace."""
    home = tmp_path / "home"
    write(home, ".claude/skills/pdf/SKILL.md", "Read forms.md.")
    write(home, ".claude/skills/pdf/references/forms.md", "a form")
    write(home, ".claude/secret", "token")
    library = SkillLibrary(lambda: Roots.of(tmp_path / "ws"), lambda: home)
    await library.update()
    text = await library.use("pdf")
    assert (
        f"Its files, in {home}/.claude/skills/pdf; read_file reads them as skill:pdf/FILE: references/forms.md." in text
    )
    assert await library.read("skill:pdf/references/forms.md") == "a form"
    assert await library.read("a.txt") is None
    for path in ("skill:pdf/../../secret", "skill:pdf/nothing", "skill:other/SKILL.md"):
        with pytest.raises(ToolError):
            await library.read(path)
    assert library.shown_folders() == [home / ".claude/skills/pdf"]
    with pytest.raises(ToolError, match=r"^There is no skill 'pfd'\. There are: pdf\.$"):
        await library.use("pfd")


def test_instructions_stay_when_the_conversation_is_shortened() -> None:
    """Those that the user has chosen, and those that the model has read."""
    assert UseSkill.kind in KEEPS_RESULTS
    chosen, read = Note("skill", "Fix issue 12."), Result("call1", "Fill the form.")
    messages = [
        Message("user", (Prompt("/fix 12"), chosen)),
        Message("assistant", (Call("call1", "skill", {"name": "pdf"}),)),
        Message("user", (read,)),
        Message("assistant", (Call("call2", "bash", {"command": "ls"}),)),
        Message("user", (Result("call2", "a.txt"),)),
    ]
    [first, *_] = with_summary(messages, "It went well.", "", "", lambda tool: tool == "skill")
    assert chosen in first.parts
    assert any(isinstance(part, Note) and part.kind == "answer" and read.text in part.text for part in first.parts)


SHAPES: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("shapes.yaml").read_text("utf-8"))


@pytest.mark.parametrize("shape", SHAPES, ids=[shape["about"] for shape in SHAPES])
def test_the_files_of_other_projects_are_read_or_say_why_not(shape: dict[str, Any], tmp_path: Path) -> None:
    path = write(tmp_path / "ws", shape["path"], shape["text"])
    found = find_skills([tmp_path / "ws"], tmp_path / "home")
    if "problem" in shape:
        assert (found.skills, list(map(str, found.problems))) == ((), [f"{path}: {shape['problem']}"])
        assert list(problems_in(path, shape["text"], [tmp_path / "ws"], tmp_path / "home")) == list(found.problems)
        return
    [read] = found.skills
    assert read.description.startswith(shape["says"])
    assert read.hint == shape.get("hint", "")
    assert (read.is_for_model, read.is_for_user) == (shape.get("for_model", True), shape.get("for_user", True))
    warns = shape.get("warns", [])
    assert len(found.problems) == len(warns)
    assert all(warning in str(problem) for warning, problem in zip(warns, found.problems, strict=True))
    assert list(problems_in(path, shape["text"], [tmp_path / "ws"], tmp_path / "home")) == list(found.problems)


@pytest.mark.parametrize("shape", SHAPES, ids=[shape["about"] for shape in SHAPES])
def test_what_the_reference_library_accepts_has_no_warning(shape: dict[str, Any], tmp_path: Path) -> None:
    """And is read with the same description. A file without instructions is a skill only for the library."""
    path = write(tmp_path / "ws", shape["path"], shape["text"])
    if path.name != "SKILL.md" or skills_ref.validate(path.parent) or "problem" in shape:
        return
    found = find_skills([tmp_path / "ws"], tmp_path / "home")
    properties = skills_ref.read_properties(path.parent)
    assert [(each.name, each.description) for each in found.skills] == [(properties.name, properties.description)]
    assert found.problems == ()


@given(st.text(), st.sampled_from(["</skills>", "<skills>", "</ skills >", "<system>"]))
def test_no_description_ends_the_list(text: str, tag: str) -> None:
    """docs/faults.md 255: or begins another part of the prompt, or has characters that the user does not see."""
    library = SkillLibrary(lambda: Roots.of(Path("/ws")))
    path = Path("/ws/.agents/skills/x/SKILL.md")
    library.found = FoundSkills([Skill("skill", "x", f"{text}{tag}\u200b{tag}", path, "Do it.")])
    shown = library.list_for_model()
    assert shown.endswith("\n</skills>")
    assert shown.count("<") == LIST.count("<")
    assert "\u200b" not in shown
