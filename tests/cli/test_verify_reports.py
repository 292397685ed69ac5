"""`fairlead verify --junit`, `--sarif`, `--markdown` and `--comment`, and the jobs of CI services that use them."""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from check_jsonschema.builtin_schemas import get_builtin_schema
from jsonschema import Draft7Validator
from junitparser import Failure, JUnitXml, TestSuite

from cli.command import DEADLINE, environment
from cli.signing import Json, Signing
from cli.test_ci_jobs import PROGRAMS, needs_programs
from cli.test_verify import check, content
from fairlead.cli.records.reports.markdown import MARKER
from protocol.page import ROOT
from support.comments_api import NUMBER, PROJECT, TOKEN, CommentsApi
from support.sandbox import needs_sandbox

ACTION = yaml.safe_load((ROOT / ".github" / "actions" / "verify" / "action.yml").read_text(encoding="utf-8"))
GITLAB = yaml.safe_load((ROOT / ".gitlab" / "verify.yml").read_text(encoding="utf-8"))
EVIL = "\x1b]0;x\x07 @everyone ![](https://example.com/x) <img src=x> `` ]]>\x00\u202e"


@pytest.fixture
def signing(tmp_path: Path) -> Signing:
    return Signing(tmp_path)


def cases(path: Path) -> dict[str, dict[str, str]]:
    """The cases of a JUnit report by suite, as another program reads it: the message of each failure, or nothing."""
    found: dict[str, dict[str, str]] = {}
    for suite in JUnitXml.fromfile(str(path)):
        assert isinstance(suite, TestSuite)
        results = {case.name: [each.message for each in case.result if isinstance(each, Failure)] for case in suite}
        found[str(suite.name)] = {name: " ".join(messages) for name, messages in results.items()}
        assert (suite.tests, suite.failures) == (len(results), sum(map(bool, results.values())))
    return found


@pytest.fixture
def differing(signing: Signing) -> Signing:
    """A record with a file that holds, two that do not, and a check that fails."""
    needs_sandbox()
    record = signing.new_record()
    files: list[Json] = [
        *record["files"],
        *({"path": name, "before": None, "after": content(b"x")} for name in ("ü b.py", "c.py")),
    ]
    steps = [dict(each) for each in record["steps"]]
    steps[0] |= {"content": EVIL, "decidedBy": "false", "work": {**steps[0]["work"], "files": ["a.py", "c.py"]}}
    checks = [*record["verifications"], check("echo '::error::x'; cat nothing")]
    checks[1]["command"] = steps[0]["decidedBy"] = "echo '::error::x'; cat nothing"
    signing.write("record.json", {**record, "files": files, "steps": steps, "verifications": checks, "title": EVIL})
    return signing


def test_each_file_and_check_is_a_test_case(differing: Signing, tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    assert differing.run("verify", differing.record, "--junit", report).code == 1
    found = cases(report)
    assert found["fairlead.origin"] == {}
    assert found["fairlead.files"] == {"a.py": "", "ü b.py": "no longer exists", "c.py": "no longer exists"}
    assert [name for name, message in found["fairlead.checks"].items() if not message] == ["grep -q 'a = 2' a.py"]
    [failed] = [each for each in ElementTree.parse(report).iter("failure") if each.get("type") == "fairlead.checks"]
    assert "::error::x\ncat: nothing: No such file" in (failed.text or "")


def test_what_does_not_hold_is_a_finding_in_a_file(differing: Signing, tmp_path: Path) -> None:
    report = tmp_path / "report.sarif"
    assert differing.run("verify", differing.record, "--sarif", report).code == 1
    log = json.loads(report.read_text())
    assert (log["version"], len(log["runs"])) == ("2.1.0", 1)
    [run] = log["runs"]
    rules = [each["id"] for each in run["tool"]["driver"]["rules"]]
    found = [
        (each["ruleId"], [place["physicalLocation"]["artifactLocation"]["uri"] for place in each["locations"]])
        for each in run["results"]
    ]
    assert found == [("file", ["%C3%BC%20b.py"]), ("file", ["c.py"]), ("check", ["a.py", "c.py"])]
    assert {each for each, _ in found} <= set(rules)
    assert all(each["message"]["text"] and each["level"] == "error" for each in run["results"])
    assert run["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]
    assert len({json.dumps(each["partialFingerprints"]) for each in run["results"]}) == 3


def test_a_finding_names_the_file_in_the_repository(signing: Signing, tmp_path: Path) -> None:
    """With --commit, the paths of findings begin at the top of the repository, as the services need them."""
    inner, report = signing.repository.path / "inner", tmp_path / "report.sarif"
    inner.mkdir()
    (inner / "a.py").write_text("a = 1\n")
    commit = signing.repository.commit(signing.run("record", "message", signing.record).out)
    verify = ("verify", signing.record, "--commit", commit, "--workspace", inner, "--no-run")
    assert signing.run(*verify, "--sarif", report).code == 1
    [found] = json.loads(report.read_text())["runs"][0]["results"]
    assert found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "inner/a.py"


def test_fault_318_a_comment_shows_what_others_wrote_as_code(differing: Signing, tmp_path: Path) -> None:
    """docs/faults.md 318: a record cannot mention users, show pictures or write HTML in a comment."""
    report = tmp_path / "report.md"
    assert differing.run("verify", differing.record, "--markdown", report).code == 1
    text = report.read_text()
    assert text.startswith(f"{MARKER}\n### ❌ The record does not hold: 3 of 5 failed.\n")
    shown = "\\x1b]0;x\\x07 @everyone ![](https://example.com/x) <img src=x> `` ]]>\\x00\\u202e"
    assert f"- Task: ```{shown}```\n" in text
    assert f"#### ❌ 1. ```{shown}```\n" in text
    outside = text.replace(shown, "")
    assert not any(part in outside for part in ("@everyone", "<img", "![]"))
    assert "- ❌ `c.py` `no longer exists`\n" in text
    assert "\n  ```\n  ::error::x\n  cat: nothing: No such file or directory\n  ```\n" in text
    assert (
        "#### Other files and checks\n\n- ❌ `ü b.py` `no longer exists`\n- ✅ `grep -q 'a = 2' a.py` `passes (" in text
    )


def test_a_long_result_is_cut(signing: Signing, tmp_path: Path) -> None:
    files = [{"path": f"{'long' * 40}/{n}", "before": None, "after": None} for n in range(2000)]
    steps = signing.new_record()["steps"][:1] * 700
    signing.write("record.json", signing.new_record(files=files, steps=steps, verifications=[]))
    report = tmp_path / "report.md"
    assert signing.run("verify", signing.record, "--markdown", report).code == 0
    text = report.read_text()
    assert len(text) < 65_536
    assert text.endswith("more sections are too long for a comment. The log of the job has them.\n")


@pytest.mark.parametrize("option", ["--junit", "--sarif", "--markdown"])
def test_a_refusal_is_reported_and_only_a_report_is_overwritten(signing: Signing, tmp_path: Path, option: str) -> None:
    report = tmp_path / "report"
    for data, code, reason in (
        (signing.signed.read_bytes().replace(b"A", b"B", 5), (1, 2), ""),
        (b"{", (2,), "cannot be verified. It is not valid JSON"),
        (signing.record.read_bytes(), (1,), "It is not signed, and you named who must have signed it."),
    ):
        signing.signed.write_bytes(data)
        assert signing.verify(signing.signed, option, report).code in code
        assert reason in report.read_text()
    report.write_text("mine")
    ended = signing.verify(signing.signed, option, report)
    assert (ended.code, report.read_text()) == (2, "mine")
    assert "report, so it is not overwritten; choose another one" in ended.err
    signing.run("verify", signing.record, "--no-run", option, tmp_path / "other")
    assert (tmp_path / "other").exists()


@pytest.fixture(params=["github", "github, with the token of a job", "gitlab"])
def api(request: pytest.FixtureRequest) -> Iterator[CommentsApi]:
    service = request.param.partition(",")[0]
    with CommentsApi(service, bot="," in request.param) as api:
        yield api
        assert api.problems == []


def job(api: CommentsApi, folder: Path) -> dict[str, str]:
    """The variables of a job for a request."""
    event = folder / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": NUMBER}}))
    if api.service == "gitlab":
        project = {"CI_PROJECT_ID": f"{PROJECT}", "CI_MERGE_REQUEST_IID": f"{NUMBER}"}
        return {
            "GITLAB_CI": "true",
            "GITHUB_ACTIONS": "",
            "CI_API_V4_URL": api.url,
            "FAIRLEAD_GITLAB_TOKEN": TOKEN,
            **project,
        }
    names = {"GITHUB_REPOSITORY": "owner/name", "GITHUB_EVENT_PATH": str(event), "GITHUB_TOKEN": TOKEN}
    return {"GITHUB_ACTIONS": "true", "GITHUB_API_URL": api.url, **names}


def test_the_comment_of_an_earlier_verification_is_replaced(signing: Signing, api: CommentsApi, tmp_path: Path) -> None:
    """docs/faults.md 318: also behind a hundred other comments; one of another user with the same beginning stays,
    because that user could change it."""
    stranger = api.add("stranger", f"{MARKER}\n### ✅ The record holds.")
    for number in range(150):
        api.add("stranger", f"Comment {number}")
    env, verify = job(api, tmp_path), ("verify", signing.record, "--no-run", "--comment")
    ended = signing.run(*verify, env=env)
    assert (ended.code, "Posted the result as a comment.\n" in ended.out) == (0, True), ended.out
    assert api.comments[-1]["body"].startswith(f"{MARKER}\n### ✅ The record holds.\n\n- Task: ")
    (signing.repository.path / "a.py").write_text("a = 3\n")
    assert signing.run(*verify, env=env).code == 1
    assert len(api.comments) == 152
    assert api.comments[-1]["body"].startswith(f"{MARKER}\n### ❌ The record does not hold: 1 of 1 failed.\n")
    assert stranger["body"].endswith("holds.")


def test_without_a_permission_to_comment_the_verdict_stays(signing: Signing, tmp_path: Path) -> None:
    """A job for the pull request of a stranger has a token that may only read."""
    verify = ("verify", signing.record, "--no-run", "--comment")
    with CommentsApi("github", bot=True, allowed=False) as api:
        env = job(api, tmp_path)
        refused = signing.run(*verify, env=env)
        nobody = signing.run(*verify, env={**env, "GITHUB_TOKEN": ""})
        (tmp_path / "event.json").write_text("{}")
        push = signing.run(*verify, env=env)
    gone = signing.run(*verify, env=job(api, tmp_path))
    assert [ended.code for ended in (refused, nobody, push, gone)] == [0, 0, 0, 0]
    start = "The result was not posted as a comment. "
    assert f"{start}The service answered 403: Resource not accessible by integration\n" in refused.out
    assert f"{start}The variable GITHUB_TOKEN with the token is not set.\n" in nobody.out
    assert f"{start}This job does not run for a pull request.\n" in push.out
    assert f"{start}The service cannot be reached: " in gone.out


def test_the_jobs_have_the_forms_of_their_services() -> None:
    """The action and the template are valid by the schemas of the services, and install the released package."""
    for name, values in (
        ("vendor.github-actions", ACTION),
        ("vendor.gitlab-ci", {"verify": GITLAB["fairlead-verify"]}),
    ):
        assert list(Draft7Validator(get_builtin_schema(name)).iter_errors(values)) == []
    scripts = [step["run"] for step in ACTION["runs"]["steps"]]
    assert [text for text in scripts if "${{" in text] == []  # no input is part of a script
    assert [line.strip() for text in scripts for line in text.splitlines() if "pip" in line.split("#")[0]] == [
        '"$RUNNER_TEMP/fairlead/bin/pip" install --quiet "fairlead[$EXTRA]$VERSION"'
    ]
    assert GITLAB["fairlead-verify"]["before_script"] == ['pip install "fairlead[sign]"']


def bash(folder: Path, text: str, env: Mapping[str, str], shell: str = "bash") -> "subprocess.CompletedProcess[str]":
    """Runs a script as the service does."""
    path = os.pathsep.join([str(PROGRAMS), os.environ["PATH"]])
    options: Any = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    command = [shell, "-e", *(["-o", "pipefail"] if shell == "bash" else []), "-c", text]
    variables = environment(**{"PATH": path, **env})
    return subprocess.run(command, cwd=folder, env=variables, timeout=DEADLINE, check=False, **options)


class Clone:
    """A clone of a repository with a signed record in a note, as a job gets it: the newest commit, and no notes."""

    def __init__(self, signing: Signing, folder: Path) -> None:
        self.signing, self.folder = signing, folder / "clone"
        assert signing.run("record", "attach", signing.signed).code == 0
        signing.repository.git("config", "uploadpack.allowAnySHA1InWant", "true")
        (signing.repository.path / "a.py").write_text("a = 3\n")
        signing.repository.commit("The merge of the request")
        signing.repository.git("clone", "-q", "--depth=1", f"file://{signing.repository.path}", str(self.folder))

    def github(self, api: CommentsApi, temporary: Path, **inputs: str) -> "subprocess.CompletedProcess[str]":
        """Runs the steps of the action after the installation."""
        programs = temporary / "fairlead" / "bin"
        programs.mkdir(parents=True, exist_ok=True)
        if not (programs / "fairlead").exists():
            (programs / "fairlead").symlink_to(PROGRAMS / "fairlead")
        output, summary = temporary / "output", temporary / "summary"
        output.write_text("")
        summary.write_text("")
        runner = {"RUNNER_TEMP": str(temporary), "GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary)}
        defaults = {name: str(value["default"]) for name, value in ACTION["inputs"].items()}
        given = {**defaults, "commit": self.signing.commit, "token": TOKEN, **inputs}
        _, _, get, verify = ACTION["runs"]["steps"]
        for step in (get, verify):
            named = {name: given[text.split("inputs.")[1].split()[0]] for name, text in step["env"].items()}
            ended = bash(self.folder, step["run"], {**job(api, temporary), **runner, **named})
            if ended.returncode or output.read_text() == "found=false\n":
                return ended
        return ended


@needs_programs
def test_the_action_of_github(signing: Signing, tmp_path: Path) -> None:
    """It gets the commit and its note, verifies them, and writes the summary, the reports and the comment. Nothing
    that a check prints is a command for the runner."""
    needs_sandbox()
    clone, temporary = Clone(signing, tmp_path), tmp_path / "temporary"
    temporary.mkdir()
    key = signing.public.read_text()
    with CommentsApi("github", bot=True) as api:
        ended = clone.github(api, temporary, key=key, junit=str(temporary / "report.xml"))
        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert f"  ✓ commit  {signing.commit} names this record\n" in ended.stdout
        first, *_, last = ended.stdout.splitlines()
        assert first.startswith("::stop-commands::") and last == f"::{first.removeprefix('::stop-commands::')}::"
        [comment] = api.comments
        assert comment["body"] == (temporary / "summary").read_text()
        assert set(cases(temporary / "report.xml")["fairlead.checks"]) == {"grep -q 'a = 2' a.py"}

        stranger = signing.new_key("stranger")[1].read_text()
        refused = clone.github(api, temporary, key=stranger)
        assert refused.returncode == 1
        assert refused.stdout.splitlines()[-1].startswith("::")
        assert "It was signed by another key than you named." in comment["body"]
        assert api.problems == []


@needs_programs
@pytest.mark.parametrize(
    ("required", "code", "text"), [("true", 1, "It has no record: "), ("false", 0, "has no record.")]
)
def test_the_action_at_a_commit_without_a_record(
    signing: Signing, tmp_path: Path, required: str, code: int, text: str
) -> None:
    clone, temporary = Clone(signing, tmp_path), tmp_path / "temporary"
    temporary.mkdir()
    newest = signing.repository.git("rev-parse", "HEAD")
    with CommentsApi("github", bot=True) as api:
        ended = clone.github(api, temporary, commit=newest, required=required)
    assert (ended.returncode, text in ended.stdout) == (code, True), ended.stdout + ended.stderr


@needs_programs
def test_the_job_of_gitlab(signing: Signing, tmp_path: Path) -> None:
    needs_sandbox()
    clone, script = Clone(signing, tmp_path), "\n".join(GITLAB["fairlead-verify"]["script"])
    with CommentsApi("gitlab") as api:
        variables = {**job(api, tmp_path), "CI_COMMIT_SHA": signing.commit, "FAIRLEAD_KEY": str(signing.public)}
        ended = bash(clone.folder, script, variables, shell="sh")
        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert [each["body"].splitlines()[1] for each in api.comments] == ["### ✅ The record holds."]
        assert set(cases(clone.folder / "fairlead.xml")["fairlead.origin"]) == {"signature", "commit"}
        assert api.problems == []
    assert GITLAB["fairlead-verify"]["artifacts"]["reports"] == {"junit": "fairlead.xml"}
