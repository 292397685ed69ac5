"""Posts the result of a verification as a comment on the pull request or merge request of a CI job."""

import importlib
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fairlead.cli.records.reports.markdown import MARKER
from fairlead.http_client import certificates, without_proxy
from fairlead.json_values import fields_of, is_list, is_object

SECONDS = 30
PER_PAGE = 100
MAX_PAGES = 20
GITHUB_BOT = "github-actions[bot]"
"""Who a job's own token belongs to; such a token may not ask for that."""
NO_JOB = "This is no job of GitHub Actions or GitLab CI."
NO_REQUEST = "This job does not run for a {kind}."
NO_TOKEN = "The variable {variable} with the token is not set."
MAX_REASON = 300


class NotPosted(Exception):
    """No comment was posted; the message tells the user why."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where comments are, and how a service names the parts of one."""

    user: str
    """The URL of the user whom the token belongs to."""
    comments: str
    """The URL of the comments: lists them, and takes a new one."""
    comment: str
    """The URL of one comment, without its id: takes a new text."""
    headers: Mapping[str, str]
    method: str
    """The method that changes a comment."""
    owner: str
    """The field of a comment with who wrote it."""


def target_of(environment: Mapping[str, str]) -> Target:
    """Where the comment of a CI job belongs, from the variables that the service sets. Raises NotPosted."""
    if environment.get("GITHUB_ACTIONS"):
        return _on_github(environment)
    if environment.get("GITLAB_CI"):
        return _on_gitlab(environment)
    raise NotPosted(NO_JOB)


def _on_github(environment: Mapping[str, str]) -> Target:
    event = _event(Path(environment.get("GITHUB_EVENT_PATH", "")))
    number = fields_of(event.get("pull_request")).get("number")
    if not isinstance(number, int):
        raise NotPosted(NO_REQUEST.format(kind="pull request"))
    token = _token(environment, "GITHUB_TOKEN")
    api, repository = environment.get("GITHUB_API_URL", ""), quote(environment.get("GITHUB_REPOSITORY", ""))
    headers = {
        "Authorization": f"Bearer {token}",
        "Accept": "application/vnd.github+json",
        "X-GitHub-Api-Version": "2022-11-28",
    }
    issues = f"{api}/repos/{repository}/issues"
    return Target(f"{api}/user", f"{issues}/{number}/comments", f"{issues}/comments", headers, "PATCH", "user")


def _on_gitlab(environment: Mapping[str, str]) -> Target:
    number = environment.get("CI_MERGE_REQUEST_IID", "")
    if not number.isdecimal():
        raise NotPosted(NO_REQUEST.format(kind="merge request"))
    token = _token(environment, "FAIRLEAD_GITLAB_TOKEN")
    api, project = environment.get("CI_API_V4_URL", ""), environment.get("CI_PROJECT_ID", "")
    notes = f"{api}/projects/{quote(project, safe='')}/merge_requests/{number}/notes"
    return Target(f"{api}/user", notes, notes, {"PRIVATE-TOKEN": token}, "PUT", "author")


async def post_comment(target: Target, text: bytes) -> None:
    """Posts a text, in place of that of an earlier verification.

    Only a comment of the same user is replaced, because the author of another one could change it later.

    Raises:
        NotPosted: the service cannot be reached, or refused.
    """
    transport = importlib.import_module("httpx2")
    mounts = without_proxy(target.comments)
    try:
        async with transport.AsyncClient(
            headers=target.headers, timeout=SECONDS, verify=certificates(), mounts=mounts
        ) as client:
            name = await _user(client, target)
            earlier = [each["id"] async for each in _comments(client, target) if _is_ours(each, target.owner, name)]
            body = {"body": text.decode()}
            if earlier:
                response = await client.request(target.method, f"{target.comment}/{earlier[0]}", json=body)
            else:
                response = await client.post(target.comments, json=body)
            _check(response)
    except (transport.HTTPError, transport.InvalidURL) as error:
        raise NotPosted(f"The service cannot be reached: {error or type(error).__name__}") from error


async def _user(client: Any, target: Target) -> str:
    response = await client.get(target.user)
    if response.status_code == 403 and target.owner == "user":  # the token of a job of GitHub
        return GITHUB_BOT
    _check(response)
    user = fields_of(_json(response))
    return str(user.get("login") or user.get("username"))


async def _comments(client: Any, target: Target) -> AsyncIterator[dict[str, Any]]:
    """All comments, page by page."""
    for page in range(1, MAX_PAGES + 1):
        response = await client.get(target.comments, params={"per_page": PER_PAGE, "page": page})
        _check(response)
        comments = _json(response)
        if not is_list(comments):
            raise NotPosted("The answer of the service is no list of comments.")
        for comment in comments:
            if is_object(comment):
                yield comment
        if len(comments) < PER_PAGE:
            return


def _is_ours(comment: dict[str, Any], owner: str, name: str) -> bool:
    author = fields_of(comment.get(owner))
    body = comment.get("body")
    is_named = name in (author.get("login"), author.get("username"))
    return is_named and isinstance(comment.get("id"), int) and isinstance(body, str) and body.startswith(MARKER)


def _check(response: Any) -> None:
    """Raises NotPosted unless a request succeeded."""
    if not response.is_success:
        reason = fields_of(_json(response)).get("message", "")
        raise NotPosted(f"The service answered {response.status_code}: {reason}"[:MAX_REASON])


def _json(response: Any) -> Any:
    try:
        return response.json()
    except ValueError:
        return None


def _token(environment: Mapping[str, str], variable: str) -> str:
    token = environment.get(variable, "")
    if not token:
        raise NotPosted(NO_TOKEN.format(variable=variable))
    return token


def _event(path: Path) -> dict[str, Any]:
    """What the job runs for, as GitHub describes it."""
    try:
        return fields_of(json.loads(path.read_bytes()))
    except (OSError, ValueError):
        return {}
