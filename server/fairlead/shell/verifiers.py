"""The programs that verify something: test runners, builds, linters and type checkers. Data only.

A program that is not listed verifies nothing, because a wrong "verified" is worse than a missing one.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verifier:
    """Programs that verify the same way. Fields with several names are separated by blanks."""

    programs: str
    subcommands: str = ""
    """The first argument must match one of these patterns (`fnmatch`), and belongs to the program's name."""
    by_path: bool = False
    """Whether the arguments are paths, and a folder covers everything below it."""
    requires: str = ""
    """One of these options must be present, because the program changes files without it."""
    narrowing: str = ""
    """Options that restrict what is verified."""
    neutral: str = ""
    """Options that only change the output or the speed."""
    values: str = ""
    """Options that take the next word as their value."""
    not_with: str = ""
    """Arguments with which it verifies nothing."""
    beside: str = ""
    """Arguments that verify nothing, such as `clean`. If there are no other targets, the program verifies nothing."""


NEVER_WITH = "--help -h --version --watch --watchAll --init"
NEUTRAL = "-v -vv -vvv --verbose -q -qq --quiet --silent -s --color --no-color --colors"

SCRIPTS = (
    "test test:* test-* tests check check:* check-* lint lint:* build build:* compile compile:* "
    "typecheck typecheck:* type-check types tsc verify validate ci"
)

TABLE = (
    # Python
    Verifier(
        "pytest py.test",
        by_path=True,
        narrowing=(
            "-k -m --lf --last-failed --ff --failed-first --nf --sw --stepwise --deselect --ignore --ignore-glob"
        ),
        neutral=(
            "-x --exitfirst -l --showlocals -ra -rA -rs -rx -rf -rP --tb --no-header --no-summary -n "
            "--durations --maxfail --cache-clear"
        ),
        values=(
            "-k -m -n -p -c -o -W --deselect --ignore --ignore-glob --tb --maxfail --durations --color "
            "--rootdir --cov --timeout"
        ),
        not_with="--collect-only --co --fixtures --markers --setup-plan --setup-only --cache-show",
    ),
    Verifier("unittest", narrowing="-k", neutral="-f --failfast -b --buffer -c --catch", values="-k -s -p -t"),
    Verifier("python-tests django", by_path=True, values="-k"),
    Verifier("tox", values="-e", not_with="list l devenv config"),
    Verifier("nox", values="-s -e --session", not_with="-l --list"),
    Verifier("doctest compileall", by_path=True, neutral="-f"),
    Verifier(
        "ruff",
        subcommands="check",
        by_path=True,
        neutral="--no-cache --output-format",
        values="--output-format --select --ignore --config",
        not_with="--fix --watch --add-noqa --show-files --show-settings",
    ),
    Verifier("ruff", subcommands="format", by_path=True, requires="--check --diff"),
    Verifier("black isort yapf autopep8", by_path=True, requires="--check --check-only --diff -c -d"),
    Verifier(
        "mypy pyright basedpyright ty pyre flake8 pylint bandit pydocstyle vulture lint-imports",
        by_path=True,
        neutral="--no-error-summary --pretty --no-incremental --outputjson --stats",
        values="--config-file -p --project --pythonpath -c -m",
    ),
    Verifier("pre-commit", subcommands="run", neutral="--show-diff-on-failure"),
    # JavaScript and TypeScript
    Verifier(
        "npm pnpm yarn bun deno", subcommands=f"{SCRIPTS} t tst", values="--prefix -C --filter -F -w --workspace --cwd"
    ),
    Verifier(
        "jest vitest mocha ava tap jasmine",
        by_path=True,
        narrowing="-t --testNamePattern -g --grep --onlyChanged -o --onlyFailures",
        neutral="run --ci --bail --run --runInBand -i --no-coverage --reporter --forbid-only",
        values="-t --testNamePattern -g --grep --reporter -c --config",
        not_with="--listTests bench watch dev",
    ),
    Verifier(
        "playwright cypress karma wdio",
        subcommands="test run start",
        by_path=True,
        narrowing="-g --grep --project --last-failed",
        values="-g --grep --project -c --config",
    ),
    Verifier(
        "node-test",
        by_path=True,
        narrowing="--test-name-pattern --test-only",
        neutral="--test-reporter",
        values="--test-name-pattern --test-reporter --import --require -r",
    ),
    Verifier(
        "tsc vue-tsc svelte-check",
        by_path=True,
        neutral="--noEmit --pretty --incremental",
        values="-p --project",
        not_with="--showConfig -w --listFilesOnly",
    ),
    Verifier(
        "eslint stylelint oxlint standard xo",
        by_path=True,
        neutral="--cache --no-cache --max-warnings --format -f",
        values="--max-warnings --format -f -c --config --ext",
        not_with="--fix --print-config --env-info",
    ),
    Verifier("prettier", by_path=True, requires="--check -c --list-different -l"),
    Verifier("biome", subcommands="check lint ci", by_path=True, not_with="--write --fix --apply"),
    Verifier("webpack rollup esbuild swc", by_path=True),
    Verifier(
        "vite next nuxt astro ng nx turbo parcel", subcommands="build test lint check run-many", values="-t --target"
    ),
    # Rust and Go
    Verifier(
        "cargo",
        subcommands="test t build b check c clippy nextest",
        neutral="--offline --locked --frozen -j --jobs",
        values="-p --package -j --jobs --test --bin --example --features --manifest-path",
        narrowing="-p --package --lib --bins --bin --test --tests --doc --example",
        not_with="--no-run --fix --list",
    ),
    Verifier("cargo", subcommands="fmt", requires="--check"),
    Verifier(
        "go",
        subcommands="test build vet",
        by_path=True,
        narrowing="-run -short -skip",
        neutral="-count -timeout -parallel -p -json",
        values="-run -skip -count -timeout -tags -o",
        not_with="-list -c",
    ),
    Verifier("golangci-lint staticcheck", by_path=True, not_with="--fix linters config"),
    Verifier("rustc", by_path=True),
    # C, C++, Java, .NET and others
    Verifier(
        "make gmake ninja just task",
        neutral="-j -k --keep-going --no-print-directory",
        values="-C -f -j",
        not_with="-n --dry-run",
        beside="clean distclean install uninstall run serve start dev deploy publish release format fmt fix",
    ),
    Verifier("cmake", requires="--build", neutral="-j --parallel", values="--build --target --config -j --parallel"),
    Verifier(
        "ctest",
        neutral="--output-on-failure -j",
        values="-R -E -L --test-dir -j -C",
        narrowing="-R -E -L",
        not_with="-N",
    ),
    Verifier("meson bazel bazelisk buck2", subcommands="test compile build"),
    Verifier("gcc g++ cc c++ clang clang++ javac kotlinc scalac ghc", values="-o -I -L -d -cp -classpath --release"),
    Verifier(
        "mvn mvnw",
        neutral="-B -ntp -o",
        values="-pl -f",
        narrowing="-pl -Dtest",
        beside="clean install deploy exec:java spring-boot:run",
    ),
    Verifier(
        "gradle gradlew",
        neutral="--no-daemon --offline --console --info --stacktrace",
        values="--tests -p",
        narrowing="--tests",
        beside="run bootRun clean publish tasks projects dependencies",
    ),
    Verifier(
        "dotnet swift",
        subcommands="test build",
        narrowing="--filter",
        values="--filter -c -f --configuration",
        not_with="--list-tests list",
    ),
    Verifier("dart flutter", subcommands="test analyze", by_path=True),
    Verifier("mix", subcommands="test compile credo dialyzer", by_path=True),
    Verifier(
        "rspec rubocop phpunit phpstan psalm prove busted",
        by_path=True,
        narrowing="-e --example --filter",
        values="-e --example --filter -c",
        not_with="-a -A --auto-correct --autocorrect",
    ),
    Verifier("rake rails", subcommands="test test:* spec spec:*", by_path=True),
    Verifier("composer sbt stack cabal zig lein", subcommands="test test:* build check compile"),
    Verifier("shellcheck yamllint actionlint hadolint markdownlint markdownlint-cli2", by_path=True, not_with="--fix"),
    Verifier("terraform tofu", subcommands="validate test"),
)

RUNNERS = {
    "npx": (),
    "bunx": (),
    "pnpx": (),
    "uv": ("run",),
    "poetry": ("run",),
    "pipenv": ("run",),
    "pdm": ("run",),
    "hatch": ("run",),
    "rye": ("run",),
    "bundle": ("exec",),
    "pnpm": ("exec", "dlx"),
    "yarn": ("exec", "run", "dlx"),
    "npm": ("exec", "x"),
    "conda": ("run",),
}
"""Programs that run another one: its name follows their subcommand, if they have one, and their options."""

TRANSPARENT = {"env", "timeout", "nice", "ionice", "time", "command", "nohup", "stdbuf", "unbuffer", "xvfb-run", "sudo"}
"""Programs that run the command in their arguments and exit with its code."""

SHELLS = {"sh", "bash", "zsh", "dash", "ksh"}
"""Programs that run the command line after `-c`."""

SCRIPT_RUNNERS = {"npm", "pnpm", "yarn", "bun", "deno"}
"""Programs for which `run NAME` and `NAME` are the same script."""

ALIASES = {
    "npm t": "npm test",
    "npm tst": "npm test",
    "cargo t": "cargo test",
    "cargo b": "cargo build",
    "cargo c": "cargo check",
}
"""Short names of subcommands, with the full ones."""
