"""Which commands verify something, and when the exit code of a line shows the result (docs/plan.md P16)."""

import pytest

from fairlead.shell.parse import parse
from fairlead.shell.verifications import find_verifications

# command line: the programs that it verifies with, and their targets
VERIFYING = {
    "pytest -q": "pytest .",
    "pytest tests/unit -x --tb=short -n4": "pytest tests/unit",
    "pytest -xvs tests//unit/": "pytest tests/unit",
    "cd tests && pytest unit": "pytest tests/unit",
    "cd client; npm test": "npm test in client",
    "npm run test": "npm test",
    "npm t": "npm test",
    "yarn lint && yarn tsc": "yarn lint, yarn tsc",
    "pnpm exec eslint src": "eslint src",
    "npx tsc --noEmit": "tsc .",
    "node_modules/.bin/tsc": "tsc .",
    "python3 -m pytest": "pytest .",
    "python3 -X dev -m unittest tests.test_a": "unittest tests.test_a",
    "python tests/test_a.py": "python-tests tests/test_a.py",
    "python manage.py test shop": "django shop",
    "uv run --frozen pytest": "pytest .",
    "CI=1 env A=b timeout -k 5 60 poetry run python -m mypy server": "mypy server",
    "bash -c 'ruff check .'": "ruff check .",
    "ruff format --check": "ruff format .",
    "node --test tests/": "node-test tests",
    "cargo test --release name": "cargo test name",
    "cargo clippy": "cargo clippy",
    "go vet ./...": "go vet .",
    "make": "make",
    "make clean test": "make test",
    "./gradlew clean build": "gradlew build",
    "mvn -B verify": "mvn verify",
    "ctest --output-on-failure": "ctest",
    "pytest | tail -20": "pytest .",
    "pytest 2>&1 | tee log": "pytest .",
    "pytest > log": "pytest .",
    "(pytest)": "pytest .",
    "{ pytest; }": "pytest .",
    "pytest  # all": "pytest .",
    "time pytest": "pytest .",
    "pytest || exit 1": "pytest .",
    "ls; pytest": "pytest .",
    "ruff check . && pytest": "ruff check ., pytest .",
    "set -e\nruff check .\npytest\nls": "ruff check ., pytest .",
    "set -euo pipefail; pytest; echo done": "pytest .",
    "set -e; { pytest; }; echo done": "pytest .",
    "set -e; (pytest; echo done); ls": "pytest .",
    "set -e\ncd server && ls\npytest\n": "pytest server",
    "set -e; ! ls; pytest; ls": "pytest .",
    "cd client && npm test 2>&1 | tail -20": "npm test in client",
    "pytest && echo passed || { echo failed; exit 1; }": "pytest .",
    "pytest; exit $?": "pytest .",
    "[ -f setup.cfg ] && pytest": "pytest .",
    "source .venv/bin/activate && pytest": "pytest .",
    '"$VENV/bin/python" setup.py build && pytest': "pytest .",
    "cat > a.py <<'E'\nx\nE\npytest": "pytest .",
}
HIDDEN = {
    "pytest; echo $?": "pytest",
    "pytest || true": "pytest",
    "pytest || echo failed": "pytest",
    "pytest &": "pytest",
    "! pytest": "pytest",
    "if pytest; then echo yes; fi": "pytest",
    "for f in a b; do pytest; done": "pytest",
    "echo $(pytest)": "pytest",
    "bash -c 'pytest | tail'": "pytest",
    "set -e; pytest && echo ok; ls": "pytest",
    "trap 'exit 0' EXIT; pytest": "pytest",
    "pytest() { true; }; pytest": "pytest",
    "ruff check .; pytest": "ruff check",
    "set -e; set +e; pytest; true": "pytest",
    "set -e; set +o errexit; pytest; true": "pytest",
    "set -e; { pytest; true; } && echo ok": "pytest",
    "set -e; { pytest; true; } || exit 1": "pytest",
    "set -e; (pytest; true) && echo ok": "pytest",
    "set -e; test -f x && pytest; echo": "pytest",
    "set -e; true || pytest; echo": "pytest",
    "true || pytest": "pytest",
    "set -e || true; pytest && true; echo": "pytest",
    "(set -e); pytest; true": "pytest",
    "set -e | cat; pytest; true": "pytest",
    "set -e & pytest; true": "pytest",
    "set +o pipefail; pytest | tail": "pytest",
    "! true | pytest": "pytest",
    "exit 0; pytest": "pytest",
    "exit 256; pytest": "pytest",
    "true; exit; pytest": "pytest",
    "ls && exit 0; pytest": "pytest",
    "if ls; then exit 0; fi; pytest": "pytest",
    "(exit 0; pytest)": "pytest",
    "command exit 0; pytest": "pytest",
    "\\exit 0; pytest": "pytest",
    "'command' \"exit\" 0; pytest": "pytest",
    "ex\\\nit 0; pytest": "pytest",
    "set -n; pytest": "pytest",
    "set -o noexec; pytest": "pytest",
    "set $options; pytest": "pytest",
    "$command; pytest": "pytest",
    "shopt -s lastpipe; pytest": "pytest",
    "eval 'exit 0'; pytest": "pytest",
    "source ./other.sh; pytest": "pytest",
    "hash -p /bin/true pytest; pytest": "pytest",
    "cat <<E && exit 0\nE\npytest": "pytest",
    "pytest || exit 0": "pytest",
    "pytest; exit 0": "pytest",
    "while pytest; do break; done": "pytest",
}
NOTHING = [
    "ls", "git status", "python hello.py", "python -c 'import pytest'", "echo pytest", "cat pytest.ini", "npm install",
    "npm start", "npm run dev", "make clean", "make install", "pytest --version", "pytest --collect-only",
    "tsc --watch", "ruff check --fix", "ruff format", "prettier --write .", "eslint --fix .", "cargo run", "go run .",
    "black .", "docker build .", "pytest-watch", "$RUNNER tests", "'", "",
]  # fmt: skip


def texts(command: str) -> str:
    return ", ".join(
        " ".join([each.program, *each.targets, *(["in", each.folder] if each.folder else [])])
        for each in find_verifications(command).verified
    )


@pytest.mark.parametrize(("command", "expected"), VERIFYING.items())
def test_p16_a_verifying_command(command: str, expected: str) -> None:
    """Through wrappers, `cd`, assignments and pipes."""
    assert texts(command) == expected


@pytest.mark.parametrize(("command", "hidden"), HIDDEN.items())
def test_p16_a_command_whose_exit_code_does_not_show_the_result(command: str, hidden: str) -> None:
    """docs/faults.md 102."""
    found = find_verifications(command)
    assert hidden in found.hidden
    assert hidden not in [each.program for each in found.verified]


@pytest.mark.parametrize("command", NOTHING)
def test_p16_a_command_that_verifies_nothing(command: str) -> None:
    found = find_verifications(command)
    assert (found.verified, found.hidden) == ((), ())


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("pytest -q", "python -m pytest -v --tb=no", True),
        ("cd tests && pytest a.py", "pytest tests/a.py", True),
        ("npm test", "npm run test", True),
        ("pytest -k a", "pytest -k b", False),
        ("mypy --strict .", "mypy .", False),
        ("cargo test --release", "cargo test", False),
        ("make test", "make lint", False),
        ("npm test", "npm --prefix client test", False),
        ("go test", "go test ./...", False),
    ],
)
def test_p16_two_commands_verify_the_same(one: str, other: str, same: bool) -> None:
    assert (find_verifications(one).verified == find_verifications(other).verified) is same


@pytest.mark.parametrize(
    "command", ["pytest && (", "pytest; ! { true; }", "pytest; time { true; }", "pytest; coproc ls"]
)
def test_p16_a_line_that_is_not_understood_decides_nothing(command: str) -> None:
    assert not any(command.decides for command in parse(command).commands)
