"""Which commands verify something, and when the exit code of a line shows the result (docs/plan.md P16)."""

import shlex

import hypothesis.strategies as st
import pytest
from hypothesis import example, given

from fairlead.shell.command_line.outside import SUBCOMMANDS, WHOLE_LINES
from fairlead.shell.command_line.parse import parse
from fairlead.shell.command_line.rules import Rule
from fairlead.shell.command_line.verifications import FoundVerifications, find_verifications
from fairlead.shell.command_line.verifiers import TABLE as VERIFIERS
from fairlead.shell.command_line.wrappers import WRAPPERS

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
    "uvx --from ruff ruff check": "ruff check .",
    "hatch test tests/unit": "hatch test tests/unit",
    "npx turbo run test lint --filter=web": "turbo run test lint",
    "npx nx run web:test": "nx run web:test",
    "yarn workspace web test": "yarn test",
    "yarn workspace web run lint": "yarn lint",
    "php artisan test tests/Unit": "artisan test tests/Unit",
    "vendor/bin/pest": "pest .",
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
    "time pytest .": "pytest .",
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
    "env -i pytest": "pytest .",
    "uv run --with pytest-xdist -p 3.12 pytest": "pytest .",
    "uv run -- pytest": "pytest .",
    "npx -y -p typescript tsc": "tsc .",
    "npx -- jest --watch=false": "jest .",
    "npm exec -- eslint a": "eslint a",
    "conda run -n dev pytest": "pytest .",
    "sudo -EH make": "make",
    "stdbuf -oL pytest": "pytest .",
    "command pytest": "pytest .",
    "python -Im pytest": "pytest .",
    "python -mpytest": "pytest .",
    "python -W error -X dev -m pytest": "pytest .",
    "node --import tsx --test a.js": "node-test a.js",
    "bash -euo pipefail -c 'pytest'": "pytest .",
    "bash --norc -lc pytest": "pytest .",
    "npm run ci": "npm run ci",
    "yarn run check": "yarn run check",
    "make -j test": "make test",
    "make -j 4 -C a test CC=clang": "make test",
    "make -j$(nproc)": "make",
    "make CC=clang": "make",
    "make --print-directory test": "make test",
    "ctest -V": "ctest",
    "mvn -V -B verify": "mvn verify",
    "mypy --show-error-codes a": "mypy a",
    "pytest --showlocals tests/*.py": "pytest tests/*.py",
    "pytest -k help": "pytest .",
    "pytest -khV": "pytest .",
    "go test -cover -run name ./...": "go test .",
    "gcc -fsanitize=thread -v a.c": "gcc a.c",
    "pre-commit run --all-files": "pre-commit run",
    "cargo test -- --skip=slow": "cargo test --skip=slow",
    "just test": "just test",
    "isort -c .": "isort .",
    "(cd client && npm test) && pytest": "npm test in client, pytest .",
    "cd a && (cd b && make) && pytest": "make in a/b, pytest a",
    "{ cd a; make; } && pytest": "make in a, pytest a",
    "x=$(cd a && pwd) && pytest": "pytest .",
    "bash -c 'cd a && make' && pytest": "make in a, pytest .",
    "cd a || exit 1; pytest": "pytest a",
    "cd client && npm test; pytest": "pytest client",
    "mkdir -p a && cd a && make && pytest": "make in a, pytest a",
    "ls && cd a && (cd b && make) && { cd c; pytest; }": "make in a/b, pytest a/c",
    "ls || true && cd a && npm test 2>&1 | tail": "npm test in a",
}
INCONCLUSIVE = {
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
    ". ./ci-lib.sh env && pytest": "pytest",
    "source ./x.sh activate && pytest": "pytest",
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
    "command . ./other.sh; pytest": "pytest",
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
    "uvx ruff format", "hatch test --show", "turbo run dev", "turbo run test --dry-run",
    "nx run web:serve", "yarn workspace web start", "php artisan migrate", "php test.php", "pest --todos",
    "black .", "docker build .", "pytest-watch", "$RUNNER tests", "'", "",
]  # fmt: skip
# verifying commands: arguments with which they only print, list or change something, pass in any case, or may not run
CHECKS_NOTHING = {
    "pytest": [
        "-V", "-h", "--help", "-qV", "--co", "--fixtures", "--markers", "--setup-plan", "-q --collect-only", "$options",
        '"$option"', "-q $(cat options)", "{--co,tests}", "--suppress-no-test-exit-code",
    ],
    "python -m pytest": ["--version", "--collectonly"],
    "mypy": ["-V"], "ruff check": ["--show-files", "--show-settings", "--exit-zero", "-e", "-h", "--diff", "-"],
    "pylint a": ["--list-msgs", "--exit-zero", "--generate-rcfile"], "flake8": ["--exit-zero", "--bug-report"],
    "tox": ["-l", "-a", "list", "--showconfig", "--notest", "config"], "nox": ["-l", "--list-sessions"],
    "pre-commit run -a": ["--help"],
    "npm test": ["--help", "-v", "--if-present", "-- --listTests", "-- --help"],
    "npx jest": ["-v", "--listTests", "--showConfig", "--init", "--passWithNoTests", "--onlyChanged", "-u"],
    "npx jest a": ["--findRelatedTests"],
    "npx vitest": ["list", "--changed", "-v"], "mocha": ["-V", "--dry-run", "--list-files"],
    "playwright test": ["--list", "--pass-with-no-tests"], "node --test": ["-h"],
    "tsc": ["-v", "--showConfig", "--init", "--listFilesOnly", "--all", "--help", "--noCheck", "--build --clean"],
    "tsc -p .": ["-nocheck"],
    "eslint a": ["-v", "--print-config", "--env-info", "--init", "--stdin", "--no-error-on-unmatched-pattern"],
    "cargo test": ["--no-run", "-- --list", "-V", "--help"], "cargo nextest": ["list", "show-config"],
    "go test": ["-list .", "-n", "-c", "-count=0", "-count 0", "-exec true"], "go vet": ["-n"],
    "golangci-lint run": ["--issues-exit-code=0", "-h"],
    "make test": ["-n", "-sn", "-kq", "--just-print", "--dry-run", "-v", "-q", "-t", "-i", "-p", "--dry"],
    "ninja": ["-n", "-t clean", "--version"], "just test": ["-n", "-l", "--list", "--show x", "--dry-run"],
    "cmake --build .": ["--target clean", "-t help", "-- -n"], "ctest": ["-N", "--show-only", "--version", "-H --help"],
    "gcc a.c": ["-E", "-M", "--version", "-dumpversion", "-###"], "javac A.java": ["-version", "--help", "-help"],
    "mvn test": ["-v", "-DskipTests", "-fn", "-Dmaven.test.failure.ignore=true"],
    "gradle test": ["-m", "--dry-run", "-v"], "dotnet test": ["-t", "--list-tests", "--no-build", "--help"],
    "rspec": ["-v", "--dry-run", "--init", "--only-failures"], "rubocop": ["-L", "--show-cops", "-V", "-a"],
    "prove": ["-V", "-D", "--exec true"], "rake test": ["-n", "-T", "-P"], "shellcheck a": ["-V", "--list-optional"],
    "yamllint a": ["-v", "--list-files"], "terraform validate": ["-help", "-version"],
    "prettier --check a": ["--write"],
}  # fmt: skip
CHECKER_NOT_RUN = [
    "command -v pytest", "command -V pytest", "command -pv pytest", "make -v", "tsc -v", "gcc -v", "gcc -v -o a",
    "eslint -v", "mvn -v", "gradle --version", "javac -version", "npx --help jest", "npx --version jest",
    "npx -c 'jest'", "uv run --version pytest", "uv run --help pytest", "uv run --with pytest script.py",
    "npx -p jest cowsay", "conda run -n pytest ls", "sudo -u pytest ls", "sudo -l pytest", "env -u pytest ls",
    "env --help pytest", "env -S 'ls pytest' pytest", "timeout --help pytest", "timeout pytest ls",
    "timeout --preserve-status 5 pytest", "time -V pytest", "nice --version pytest", "ionice -p pytest",
    "echo a | xargs pytest", "bash -nc pytest", "bash -n -c pytest", "bash -o noexec -c pytest",
    "bash --help -c pytest",
    "bash --version -c pytest", "bash -D -c pytest", "bash script -c pytest", "python app.py -m pytest",
    "python -c 1 -m pytest", "python -V -m pytest", "python -h -m pytest", "python -O -m pytest", "python -i -m pytest",
    "python -im pytest", "python - -m pytest", "node app.js --test", "node -r --test a.js", "npm ci", "pnpm ci",
    "yarn check", "deno run test", "npm run", "npm run test:watch", "npm run lint:fix", "make help", "make -j clean",
    "make -j 4 clean", "make clean A=1", "make --directory a clean", "make run-server", "just", "task", "just --list",
    "mvn dependency:tree", "mvn help:effective-pom", "gradle properties", "golangci-lint linters", "phpstan", "rollup",
    "black --diff .", "black -c 'x = 1'", "isort --diff .", "pre-commit run", "eslint", "gcc -x c -",
    "PYTEST_ADDOPTS=--co pytest", "env MAKEFLAGS=-n make", "export PYTEST_ADDOPTS=--co; pytest", "GOFLAGS=-n go test",
    "SKIP=mypy pre-commit run -a",
]  # fmt: skip
UNKNOWN_FOLDER = [
    "cd && pytest", "cd - && pytest", "cd ~ && pytest", "cd $x && pytest", 'cd "$x" && pytest', "cd -P a && pytest",
    "pushd a && pytest", "popd; pytest", "command cd a && pytest", "cd a | cat; pytest", "cd a & pytest",
    "if ls; then cd a; fi; pytest", "cd a || cd b; pytest", "for x in a b; do cd $x; done; pytest",
    "ls || cd a || pytest",
    "test -d a && cd a; pytest", "ls && { cd a; }; pytest", "ls && cd a || ls && pytest", "ls && cd $x && pytest",
    "test -d a && cd a\npytest", "ls && cd a & pytest", "if ls && cd a; then ls; fi; pytest",
    "(cd $x; pytest)",
]  # fmt: skip
EVERYWHERE = ["--help", "-h", "--version", "--dry-run", "--list", "$more"]
WRAPPING = [
    "{}", "env A=1 {}", "timeout -k 5 60 {}", "time {}", "nice -n 5 {}", "sudo -u me {}", "cd a && {}", "bash -ec '{}'",
    "CI=1 {}",
    "nohup {} 2>&1",
]  # fmt: skip


def texts(command: str) -> str:
    return ", ".join(
        " ".join([each.program, *each.targets, *(["in", each.folder] if each.folder else [])])
        for each in find_verifications(command).verified
    )


@pytest.mark.parametrize(("command", "expected"), VERIFYING.items())
def test_p16_a_verifying_command_is_recognized(command: str, expected: str) -> None:
    """A verifying command is also recognized in wrappers and pipes, and after `cd` and assignments."""
    assert texts(command) == expected


@pytest.mark.parametrize(("command", "program"), INCONCLUSIVE.items())
def test_p16_a_command_without_the_exit_code_of_its_check_is_inconclusive(command: str, program: str) -> None:
    """docs/faults.md 104: the line contains a check, but its exit code does not show whether the check passed."""
    found = find_verifications(command)
    assert program in found.inconclusive
    assert program not in [each.program for each in found.verified]


@pytest.mark.parametrize("command", NOTHING)
def test_p16_other_commands_verify_nothing(command: str) -> None:
    found = find_verifications(command)
    assert (found.verified, found.inconclusive) == ((), ())


@pytest.mark.parametrize("command", [f"{name} {more}" for name, all in CHECKS_NOTHING.items() for more in all])
def test_fault_105_an_argument_can_prevent_the_check(command: str) -> None:
    """docs/faults.md 105: with an argument that can prevent the check, an exit code of 0 proves nothing."""
    assert find_verifications(command) == FoundVerifications(piped="|" in command)


@pytest.mark.parametrize("command", CHECKS_NOTHING)
def test_fault_105_without_such_an_argument_the_command_verifies(command: str) -> None:
    """docs/faults.md 105: the commands of CHECKS_NOTHING are verifications if they have none of its arguments."""
    assert find_verifications(command).verified


@pytest.mark.parametrize("command", CHECKER_NOT_RUN)
def test_fault_105_a_line_that_only_names_a_checker_verifies_nothing(command: str) -> None:
    """docs/faults.md 105: the line looks the checker up, prints its version, disables its checks, or runs something
    else."""
    assert find_verifications(command) == FoundVerifications(piped="|" in command)


@pytest.mark.parametrize("command", UNKNOWN_FOLDER)
def test_fault_106_a_checker_in_an_unknown_folder_verifies_nothing(command: str) -> None:
    """docs/faults.md 106: a checker whose folder is not known may run outside the workspace, so it verifies nothing."""
    assert not find_verifications(command).verified


@given(st.sampled_from(sorted(CHECKS_NOTHING)), st.sampled_from(WRAPPING), st.sampled_from(EVERYWHERE))
def test_fault_105_for_every_program_in_every_wrapper(command: str, wrapping: str, option: str) -> None:
    """docs/faults.md 105: the program verifies, but not with `--help` or a similar option."""
    assert find_verifications(wrapping.format(command)).verified
    assert not find_verifications(wrapping.format(f"{command} {option}")).verified


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("pytest -q", "python -m pytest -v --tb=no", True),
        ("cd tests && pytest a.py", "pytest tests/a.py", True),
        ("npm test", "npm run test", True),
        ("pytest -k a", "pytest -k b", False),
        ("mypy --strict .", "mypy .", False),
        ("mypy --show-error-codes .", "mypy .", True),
        ("nox -s tests", "nox -s lint", False),
        ("python -m unittest discover -s a", "python -m unittest discover -s b", False),
        ("eslint . --max-warnings 0", "eslint .", False),
        ("pytest --color yes", "pytest -s", True),
        ("cargo test --release", "cargo test", False),
        ("make test", "make lint", False),
        ("npm test", "npm --prefix client test", False),
        ("go test", "go test ./...", False),
    ],
)
def test_p16_commands_are_compared_by_what_they_verify(one: str, other: str, same: bool) -> None:
    assert (find_verifications(one).verified == find_verifications(other).verified) is same


@pytest.mark.parametrize(
    "command", ["pytest && (", "pytest; ! { true; }", "pytest; time { true; }", "pytest; coproc ls"]
)
def test_p16_a_line_that_is_not_understood_decides_nothing(command: str) -> None:
    assert not any(command.decides for command in parse(command).commands)


PROGRAMS = sorted(
    {name for table in (VERIFIERS, WRAPPERS) for row in table for name in row.programs.split()}
    | {*SUBCOMMANDS, *WHOLE_LINES, "python", "node"}
)
ARGUMENTS = [
    "", "-", "--", "-=", "--=", "=", "+", "-c", "-e", "-o", "-n1", "--x=", "A=", "5s", "run", "exec", "test", "/", "*",
]  # fmt: skip


@given(st.sampled_from(PROGRAMS), st.lists(st.sampled_from([*ARGUMENTS, *PROGRAMS]) | st.text(max_size=3), max_size=6))
@example("uv", ["run", "-"])
@example("env", ["-", "PATH=x", "pytest"])
@example("sed", ["-"])
def test_any_arguments_can_be_analyzed(program: str, arguments: list[str]) -> None:
    """No command line raises an error, whatever its words are."""
    line = shlex.join([program, *arguments])
    find_verifications(line)
    for command in parse(line).commands:
        Rule.parse("ls *").denies(command)
        Rule(line, command).uncovered_word(command)
