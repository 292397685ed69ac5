"""The programs that verify something: test runners, builds, linters and type checkers. Data only.

A program that is not listed verifies nothing, because a wrong "verified" is worse than a missing one. For the same
reason, `not_with` lists too many arguments rather than too few.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verifier:
    """Programs that verify the same way. Names in a field are separated by spaces.

    `subcommands`, `targets`, `neutral`, `not_with` and `other_targets` may contain patterns (`fnmatch`).
    """

    programs: str
    subcommands: str = ""
    """The first argument that is not an option must match one of these, and counts as a part of the program's name.

    Empty: the program needs no subcommand.
    """
    by_path: bool = False
    """Whether the arguments are paths, and a folder covers everything below it."""
    targets: str = ""
    """At least one argument must match one of these. Empty: the program also verifies without arguments."""
    requires: str = ""
    """One of these options must be present. Without one, the program changes files, or may check none.

    Empty: the program needs no option.
    """
    narrowing: str = ""
    """Options that restrict what is verified."""
    neutral: str = ""
    """Arguments, mostly options, that do not change what exit code 0 means.

    They change the output, the speed, or how much runs after a failure.
    """
    values: str = ""
    """Options that take the next word as their value."""
    numbers: str = ""
    """Options that take the next word as their value if it is a number."""
    not_with: str = ""
    """Arguments that keep the program from verifying anything, even with a value or in a group of letters (`-sn`)."""
    other_targets: str = ""
    """Targets that verify nothing, such as `clean`. If there are only such targets, the program verifies nothing."""
    has_single_dash: bool = False
    """Whether its long options begin with a single dash, so `-ab` is not a group of letters."""


NEVER_WITH = (
    "-h --help* -help -[?] --usage -V --version* -version --list --list-* --list[A-Z]* --show* --print* --dump* --dry* "
    "--init --init-* --collect-only --collectonly --co --watch --watchAll --watch-all --exit-zero --no-fail --no-run "
    "--pass-with-no* --passWithNo* --if-present --stdin* -"
)
"""Arguments that keep every program from verifying anything.

They do not count if they are `neutral` for the program, or switched off (`--watch=false`).
"""
NEUTRAL = "-v -vv -vvv --verbose -q -qq --quiet --silent -s --color --no-color --colors"
"""Options that are neutral for every program, except for those that list them in `values`."""
OPTION_VARIABLES = (
    r"PYTEST_ADDOPTS MAKEFLAGS GNUMAKEFLAGS MFLAGS GOFLAGS MAVEN_ARGS SPEC_OPTS RUBYOPT PERL5OPT PYTHONINSPECT "
    r"PYTHONOPTIMIZE BASH_ENV (?-i:SKIP) npm_config_\w*"
)
"""Variables, as regular expressions, that give options to programs. A line that sets one verifies nothing."""

# `run?ci` matches `run ci`: a name cannot contain a space, because spaces separate names
SCRIPTS = (
    "test test:* test-* tests check check:* check-* lint lint:* build build:* compile compile:* "
    "typecheck typecheck:* type-check types tsc verify validate run?ci run?check run?types"
)
OTHER_TASKS = (
    "*clean *clean-* clean:* *install install-* *uninstall run run-* serve start dev *watch *watch-* deploy* publish* "
    "release* format fmt *fix *write help list version print* info env venv setup init bootstrap deps dependencies "
    "update upgrade shell *debug migrate seed up down stop restart logs ps open stats todo changelog tag push login"
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
            "-x --exitfirst -l --showlocals --color -ra -rA -rs -rx -rf -rP --tb --no-header --no-summary -n "
            "--durations --maxfail --cache-clear --show-capture"
        ),
        values=(
            "-k -m -n -p -c -o -W -r --deselect --ignore --ignore-glob --tb --maxfail --durations --color "
            "--rootdir --cov --timeout --basetemp --junitxml --junit-xml --import-mode --show-capture"
        ),
        not_with=(
            "--fixtures --fixtures-per-test --funcargs --markers --setup-plan --setup-only --cache-show "
            "--suppress-no-test-exit-code --snapshot-update"
        ),
    ),
    Verifier("unittest", narrowing="-k", neutral="-f --failfast -b --buffer -c --catch", values="-k -s -p -t"),
    Verifier("python-tests django", by_path=True, values="-k"),
    Verifier(
        "tox",
        values="-e -c -x --workdir --root --conf",
        not_with=(
            "list l devenv d config c depends de exec e quickstart q schema man -l --listenvs* -a -n --notest --devenv"
        ),
    ),
    Verifier("hatch", subcommands="test", by_path=True, narrowing="-k -m", values="-k -m -py --python", not_with="-s"),
    Verifier("nox", values="-s -e -k -p -t -f --session --sessions", not_with="-l --install-only --json"),
    Verifier("doctest compileall", by_path=True, targets="*", neutral="-f"),
    Verifier(
        "ruff",
        subcommands="check",
        by_path=True,
        neutral="--no-cache --output-format --show-fixes --show-source",
        values="--output-format --select --ignore --config --extend-select --exclude --target-version",
        not_with="--fix --fix-only --diff --watch -w --add-noqa --show-files --show-settings -e",
    ),
    Verifier("ruff", subcommands="format", by_path=True, requires="--check --diff"),
    Verifier("black", by_path=True, requires="--check", not_with="-c --code"),
    Verifier("isort", by_path=True, requires="--check --check-only -c"),
    Verifier("yapf", by_path=True, requires="--diff -d", not_with="-i --in-place"),
    Verifier("autopep8", by_path=True, requires="--exit-code", not_with="-i --in-place"),
    Verifier("ty pyre", subcommands="check", by_path=True),
    Verifier(
        "mypy pyright basedpyright flake8 pylint bandit pydocstyle vulture lint-imports",
        by_path=True,
        neutral=(
            "--no-error-summary --pretty --no-incremental --outputjson --stats --show-error-* --show-column-numbers "
            "--show-absolute-path --show-traceback --show-timings --show-source"
        ),
        values="--config-file -p --project --pythonpath -c -m -j -f",
        not_with=(
            "--generate-* --long-help --bug-report --fail-under --make-whitelist --createstub --verifytypes "
            "--writebaseline"
        ),
    ),
    # without an option of `requires`, it checks only staged files, and passes if there are none
    Verifier(
        "pre-commit",
        subcommands="run",
        neutral="--show-diff-on-failure",
        requires="-a --all-files --files --from-ref",
    ),
    # JavaScript and TypeScript
    Verifier(
        "npm pnpm yarn bun deno",
        subcommands=f"{SCRIPTS} t tst",
        values="--prefix -C --filter -F -w --workspace --cwd",
        not_with=(
            "*:watch *:fix *:write *:dev *:debug *:clean *-watch *-fix -v -u --fix --rules --permit-no-files "
            "--updateSnapshot"
        ),
    ),
    Verifier(
        "jest vitest mocha ava tap jasmine",
        by_path=True,
        narrowing="-t --testNamePattern -g --grep --onlyFailures",
        neutral="run --ci --bail --run --runInBand -i --no-coverage --reporter --forbid-only",
        values="-t --testNamePattern -g --grep --reporter -c --config",
        not_with=(
            "bench watch dev list init -v -u --update* --clearCache -o --onlyChanged --lastCommit --changed* "
            "--findRelatedTests --standalone --ui"
        ),
    ),
    Verifier(
        "playwright cypress karma wdio",
        subcommands="test run start",
        by_path=True,
        narrowing="-g --grep --project --last-failed",
        values="-g --grep --project -c --config",
        not_with="-u --update-snapshots --only-changed --ui",
    ),
    Verifier(
        "node-test",
        by_path=True,
        narrowing="--test-name-pattern --test-only",
        neutral="--test-reporter",
        values="--test-name-pattern --test-reporter --import --require -r",
        not_with="-v -c --check -e --eval -p --print -i --interactive --test-update-snapshots --v8-options",
    ),
    Verifier(
        "tsc vue-tsc svelte-check",
        by_path=True,
        neutral="--noEmit --pretty --incremental --listFiles --listEmittedFiles",
        values="-p --project",
        not_with=(
            "-v --all --clean -d -w --locale -showConfig -init -watch --[nN]o[cC]heck -[nN]o[cC]heck "
            "--[lL]ist[fF]iles[oO]nly -[lL]ist[fF]iles[oO]nly"
        ),
        has_single_dash=True,
    ),
    Verifier(
        "eslint stylelint",
        by_path=True,
        targets="*",
        neutral="--cache --no-cache --format -f",
        values="--max-warnings --format -f -c --config --ext",
        not_with=(
            "-v --fix* --env-info --inspect-config --suppress-* --pass-on-no-patterns --no-error-on-unmatched-pattern "
            "--allow-empty-input --aei"
        ),
    ),
    Verifier("oxlint standard xo", by_path=True, values="-f --format -c --config", not_with="-v --fix* --rules"),
    Verifier(
        "prettier",
        by_path=True,
        requires="--check -c --list-different -l",
        neutral="--list-different",
        not_with=("-v -w --write --find-config-path --file-info --support-info --no-error-on-unmatched-pattern"),
    ),
    Verifier(
        "biome",
        subcommands="check lint ci",
        by_path=True,
        not_with="--write --fix --apply* --changed --staged --no-errors-on-unmatched",
    ),
    Verifier(
        "webpack", by_path=True, not_with="-v -w serve server s watch w info i help version v init init-* configtest"
    ),
    Verifier("rollup", by_path=True, requires="-c --config -i --input -o --file -d --dir", not_with="-v -w"),
    Verifier("esbuild swc", by_path=True, targets="*", not_with="-w --serve"),
    Verifier(
        "vite next nuxt astro ng nx turbo parcel",
        subcommands="build test lint check run-many",
        values="-t --target",
        not_with="-v -w --graph --fix",
    ),
    Verifier(
        "turbo",
        subcommands="run",
        targets=SCRIPTS,
        narrowing="--filter -F",
        values="--filter -F --cache-dir --concurrency --output-logs --log-order --env-mode",
        not_with="-v --affected --graph",
        other_targets=OTHER_TASKS,
    ),
    Verifier("nx", subcommands="run", targets="*:test *:lint *:build *:typecheck", not_with="-v -w --graph --fix"),
    # Rust and Go
    Verifier(
        "cargo",
        subcommands="test t build b check c clippy nextest",
        neutral="--offline --locked --frozen -j --jobs",
        values="-p --package -j --jobs --test --bin --example --features -F --manifest-path -Z --target --profile",
        narrowing="-p --package --lib --bins --bin --test --tests --doc --example",
        not_with="--fix --build-plan --unit-graph --explain list show-config archive self --no-tests",
    ),
    Verifier("cargo", subcommands="fmt", requires="--check"),
    Verifier(
        "go",
        subcommands="test build vet",
        by_path=True,
        narrowing="-run -short -skip",
        neutral="-count -timeout -parallel -p -json",
        values="-run -skip -count -timeout -tags -o -p -parallel -mod -exec -C",
        not_with="-list -c --c -n --n -exec --exec -count=0 --count=0 -flags --flags -V* -C",
        has_single_dash=True,
    ),
    Verifier("golangci-lint", subcommands="run", by_path=True, not_with="--fix --issues-exit-code"),
    Verifier(
        "staticcheck",
        by_path=True,
        not_with="-list-checks -explain -debug.version -merge -fail --explain --fail",
        has_single_dash=True,
    ),
    Verifier("rustc", by_path=True, targets="*", not_with="-vV --explain"),
    # C, C++, Java, .NET and others
    Verifier(
        "make gmake",
        neutral="-j -k --keep-going --no-print-directory --print-directory -w",
        values="-C -f -I -o -W --directory --file --makefile --include-dir --old-file --assume-old --what-if",
        numbers="-j -l",
        not_with="-v -n --just* --recon* -q --ques* -t --to* -i --ignore* -p --ver* --eval -E",
        other_targets=OTHER_TASKS,
    ),
    Verifier("ninja", neutral="-j -k", values="-C -f -j -k -l -d -w", not_with="-n -t", other_targets=OTHER_TASKS),
    # without arguments, it runs the default recipe, which often only lists the others
    Verifier(
        "just task",
        targets="*",
        values="-f --justfile -d --working-directory --taskfile --dir",
        not_with=(
            "-n -l -s --summary --evaluate --choose -e --edit --variables --groups --changelog --completions --man "
            "--fmt --set -i --status -c --command default"
        ),
        other_targets=OTHER_TASKS,
    ),
    Verifier(
        "cmake",
        requires="--build",
        neutral="-j --parallel",
        values="--build --target -t --config -j --parallel --preset",
        not_with="--target=clean --target=help --target=install -t=clean -t=help -t=install -n --just-print -E -P",
    ),
    Verifier(
        "ctest",
        neutral="--output-on-failure -j -V -VV",
        values="-R -E -L -LE --test-dir -j -C --timeout",
        narrowing="-R -E -L",
        not_with="-N --no-tests=ignore --print-labels",
        has_single_dash=True,
    ),
    Verifier("meson bazel bazelisk buck2", subcommands="test compile build", not_with="--nobuild --noanalyze"),
    Verifier(
        "gcc g++ cc c++ clang clang++ javac kotlinc scalac ghc",
        targets="*",
        values="-o -I -L -d -cp -classpath --release -x -include -isystem -D -U -l",
        not_with="-E -M -MM -### -dump* -print-* --info -e -proc:only",
        has_single_dash=True,
    ),
    Verifier(
        "mvn mvnw",
        targets="compile test-compile test package integration-test verify *:check",
        neutral="-B -ntp -o -V",
        values="-pl -f -P -s -l -T",
        narrowing="-pl -Dtest",
        not_with="-v -fn --fail-never -DskipTests* -DskipITs* -Dmaven.test.* -Dcheckstyle.skip* -DfailIfNoTests",
        other_targets="clean install deploy exec:java spring-boot:run",
        has_single_dash=True,
    ),
    Verifier(
        "gradle gradlew",
        targets="build check test *Test *:test *:build *:check *Check compile* *:compile* assemble* *:assemble* lint* "
        "*:lint* classes testClasses jar detekt",
        neutral="--no-daemon --offline --console --info --stacktrace -V --show-version",
        values="--tests -p -x -b -c -g -I --exclude-task --console",
        narrowing="--tests",
        not_with="-v -m -t --continuous --status --stop --gui",
        other_targets="run bootRun clean publish tasks projects dependencies",
    ),
    Verifier(
        "dotnet swift",
        subcommands="test build",
        narrowing="--filter",
        values="--filter -c -f --configuration -v --verbosity -r -o --logger",
        not_with="-t list -l --no-build --skip-build -t:* /t:* -target:* /target:* --getProperty* --getItem*",
    ),
    Verifier("dart flutter", subcommands="test analyze", by_path=True, not_with="--update-goldens"),
    Verifier(
        "mix",
        subcommands="test compile credo dialyzer",
        by_path=True,
        not_with="--stale --failed --mute-exit-status list explain info categories diff gen.config --plt",
    ),
    Verifier(
        "rspec",
        by_path=True,
        narrowing="-e --example",
        values="-e --example -f --format -r -I -t -o -P --seed --order",
        not_with="-v --bisect --only-failures -n --next-failure --failure-exit-code",
    ),
    Verifier(
        "rubocop",
        by_path=True,
        values="-c --config -f --format --only --except",
        not_with=(
            "-a -A -x -L -v --auto-correct* --autocorrect* --fix-layout --auto-gen-config --regenerate-todo "
            "--fail-level --start-server --stop-server --server-status --restart-server --disable-uncorrectable"
        ),
    ),
    Verifier("phpstan", subcommands="analyse analyze", by_path=True, values="-c -l", not_with="-b --generate-baseline"),
    Verifier(
        "phpunit psalm prove busted",
        by_path=True,
        narrowing="--filter",
        values="--filter -c",
        not_with=(
            "--generate-configuration --migrate-configuration --check-version --atleast-version --alter "
            "--set-baseline --update-baseline -D -e --exec"
        ),
    ),
    Verifier(
        "pest",
        by_path=True,
        narrowing="--filter --group --testsuite",
        values="--filter --group --testsuite -c",
        not_with="--dirty --retry --todos --update-snapshots -D --generate-configuration --check-version",
    ),
    Verifier(
        "artisan",
        subcommands="test",
        by_path=True,
        narrowing="--filter --group --testsuite",
        values="--filter --group --testsuite -c",
        not_with="--dirty --retry --todos --update-snapshots",
    ),
    Verifier(
        "rake rails",
        subcommands="test test:* spec spec:*",
        by_path=True,
        not_with="-n -T -P -D -W -AT --tasks --prereqs --describe --where --rules *:prepare *:load *:install *:clobber",
    ),
    Verifier(
        "composer sbt stack cabal zig lein",
        subcommands="test test:* build check compile",
        not_with="-l --no-run-tests --only-* --test-no-* *:run *:console *:fix run install clean help",
    ),
    Verifier(
        "shellcheck actionlint", by_path=True, values="-f -s -S -e -o", not_with="-init-config", has_single_dash=True
    ),
    Verifier("yamllint hadolint markdownlint-cli2", by_path=True, values="-f -c -d", not_with="-v --fix --no-fail"),
    Verifier("markdownlint", by_path=True, values="-c -i -o -p -r", not_with="-f --fix"),
    Verifier("terraform tofu", subcommands="validate test", not_with="-v", has_single_dash=True),
)

ALIASES = {
    "npm t": "npm test",
    "npm tst": "npm test",
    "cargo t": "cargo test",
    "cargo b": "cargo build",
    "cargo c": "cargo check",
}
"""Programs with a short subcommand, mapped to the same programs with the full subcommand."""
