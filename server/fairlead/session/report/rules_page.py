"""A page about the permissions of commands: where they run, when the user is asked, and what the user's rules mean."""

import os
from collections.abc import Sequence

from fairlead.session.report.markdown import code_span
from fairlead.session.server_context import ServerContext
from fairlead.shell.command_line.rules import Rule, denied_examples
from fairlead.shell.environment import named_variables

ASKED = {
    "sandboxed": "You are asked before a command uses the network or runs outside the sandbox.",
    "ask": "You are asked before every command that none of your rules allows.",
}


async def rules_page(context: ServerContext) -> str:
    """The page as Markdown.

    Raises:
        RequestRefused: the workspace cannot be used (`ServerContext.workspace`).
    """
    found = await context.layers.capability(context.workspace())
    settings = context.settings
    if found.layers_folder is None:
        where = f"Commands run outside the sandbox, with your permissions. {found.reason}"
        asked = ASKED["ask"]
    else:
        maker = "bubblewrap" if found.bubblewrap else "Fairlead itself"
        where = f"Commands run in a sandbox (created by {maker}), on the proposed files. Their changes are proposed."
        where = " ".join(filter(None, (where, found.weakness)))
        asked = ASKED[settings.approvals]
    allow = [Rule.parse(text) for text in settings.bash.allow]
    deny = [Rule.parse(text) for text in settings.bash.deny]
    parts = ["# Command permissions", where, asked, *_allowed(allow), *_denied(deny)]
    if not allow and not deny:
        parts.append("No rules yet. Add them in the settings `fairlead.bash.allow` and `fairlead.bash.deny`.")
    if found.layers_folder is not None and settings.bash.pass_variables:
        parts += _variables(settings.bash.pass_variables)
    return "\n\n".join(parts) + "\n"


def _variables(patterns: Sequence[str]) -> list[str]:
    passed, secrets = named_variables(os.environ, patterns)
    lines = [f"`fairlead.bash.passVariables` passes: {', '.join(map(_code, sorted(passed))) or 'none'}."]
    if secrets:
        lines.append(f"Not passed, because they look like secrets: {', '.join(map(_code, sorted(secrets)))}.")
    return ["## Environment variables in the sandbox", *lines]


def _allowed(rules: Sequence[Rule]) -> list[str]:
    if not rules:
        return []
    rows = [_row(rule.text, rule.examples().matches, rule.examples().misses) for rule in rules]
    return [
        "## Run without asking",
        "\n".join(["| rule | allows, for example | still asks |", "|---|---|---|", *rows]),
    ]


def _denied(rules: Sequence[Rule]) -> list[str]:
    if not rules:
        return []
    rows = [_row(rule.text, denied_examples(rule)) for rule in rules]
    return ["## Never run", "\n".join(["| rule | denies, for example |", "|---|---|", *rows])]


def _row(rule: str, *cells: Sequence[str]) -> str:
    return f"| {' | '.join([_code(rule), *(', '.join(map(_code, cell)) for cell in cells)])} |"


def _code(text: str) -> str:
    return code_span(text.replace("|", "\\|"))  # even in code, a table needs the backslash
