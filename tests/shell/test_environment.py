"""Commands get the user's variables without secrets that they must not see."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.shell.environment import command_environment, named_variables

# a password, or a key or token of some service, with the name under which people set it
SECRETS = {
    "SECRET_KEY_BASE": "development",
    "DJANGO_SECRET_KEY": "insecure",
    "PGPASSWORD": "p",
    "MYSQL_PWD": "p",
    "apiKey": "x",
    "GH_TOKEN": "x",
    "NPM_TOKENS": "x",
    "SENTRY_DSN": "x",
    "SSH_AUTH_SOCK": "/run/agent",
    "GOOGLE_APPLICATION_CREDENTIALS": "/home/u/key.json",
    "AWS_ACCESS_KEY_ID": "x",
    "DATABASE_URL": "postgres://admin:hunter2@localhost/db",
    "REDIS_URL": "redis://:hunter2@localhost",
    "REMOTE": "https://ghp_x@github.com/a/b",
    "STORAGE": "AccountName=a;AccountKey=b",
    "JAVA_TOOL_OPTIONS": "-Djavax.net.ssl.keyStorePassword=changeit",
    "CERTIFICATE": "-----BEGIN PRIVATE KEY-----",
    "LOGIN": "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "ASSISTANT": "sk-proj-abcdefghijklmnopqrst",
    "SESSION": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc",
    "RANDOM_HEX": "9f86d081884c7d659a2feaa0c55ad015",
    "RANDOM_BASE64": "bPxRfiCYEXAMPLEKEY7MDENGK7",
}
HARMLESS = {
    "DJANGO_SETTINGS_MODULE": "my_project.settings.local",
    "RAILS_ENV": "test",
    "FLASK_APP": "app:create_app(testing=True)",
    "DATABASE_URL": "postgres://localhost:5432/db",
    "API_URL": "https://localhost:8443/v1?sort=asc",
    "TOKENIZERS_PARALLELISM": "false",
    "MONKEY_PATCH": "1",
    "KEYBOARD": "us",
    "LD_PRELOAD": "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2",
    "PROTOC_INCLUDE": "/nix/store/9f86d081884c7d659a2feaa0c55ad015-protobuf-25.1/include",
    "AUTHOR": "Ada",
}
# Fairlead's own, and the keys of those who sell the answers of models
HIDDEN_OUTSIDE = {
    "ANTHROPIC_API_KEY": "s",
    "ANTHROPIC_AUTH_TOKEN": "s",
    "ANTHROPIC_BASE_URL": "http://proxy",
    "AWS_BEARER_TOKEN_BEDROCK": "s",
    "CLAUDE_CODE_OAUTH_TOKEN": "s",
    "FAIRLEAD_X": "s",
    "FAIRLEAD_ADDED_VARIABLES": "http_proxy,no_proxy",
    "http_proxy": "http://user:s@proxy",
    "NO_PROXY": "localhost",
    "OPENAI_API_KEY": "s",
    "OPENAI_BASE_URL": "http://localhost:8080",
    "OPENAI_ORG_ID": "org",
    "AZURE_OPENAI_API_KEY": "s",
    "AZURE_OPENAI_ENDPOINT": "https://a.openai.azure.com",
    "openai_api_key": "s",
    "FAIRLEAD_KEY_VARIABLES": "WORK_MODELS,other",
    "WORK_MODELS": "plain",
    "AZURE_API_KEY": "s",
    "GEMINI_API_KEY": "s",
    "GOOGLE_API_KEY": "s",
    "MISTRAL_API_KEY": "s",
    "DEEPSEEK_API_KEY": "s",
    "OPENROUTER_API_KEY": "s",
    "GROQ_API_KEY": "s",
    "XAI_API_KEY": "s",
    "CO_API_KEY": "s",
    "TOGETHER_API_KEY": "s",
    "FIREWORKS_API_KEY": "s",
    "MY_MODEL": "sk-or-v1-0123456789abcdef",
}
# of which variables the client and the settings say that commands do not get them
LISTS = {name: HIDDEN_OUTSIDE[name] for name in ("FAIRLEAD_ADDED_VARIABLES", "FAIRLEAD_KEY_VARIABLES")}
# for commands such as `npm publish`, `git push` and `terraform apply`, and settings without a key
SHOWN_OUTSIDE = {
    "PATH": "/bin",
    "HOME": "/h",
    "NPM_TOKEN": "t",
    "GITHUB_TOKEN": "t",
    "HF_TOKEN": "t",
    "AWS_SECRET_ACCESS_KEY": "t",
    "AZURE_CLIENT_SECRET": "t",
    "GOOGLE_APPLICATION_CREDENTIALS": "/h/key.json",
    "STRIPE_SECRET_KEY": "sk_test_1",
    "WORK_MODE": "plain",
    "NVIDIA_VISIBLE_DEVICES": "all",
}


def test_fault_40_a_commands_environment_holds_no_credentials_of_models() -> None:
    """docs/faults.md 40: outside the sandbox, the environment has no variables of Fairlead and of the models' servers
    that it knows, no keys of other model providers, none of the variables that the user's settings name for keys, and
    none of those that the client added for the server.

    The user's other variables stay, also the credentials of the user's tools, and pagers are off.
    """
    assert command_environment({**HIDDEN_OUTSIDE, **SHOWN_OUTSIDE}) == {
        **SHOWN_OUTSIDE,
        "GIT_TERMINAL_PROMPT": "0",
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        "GIT_EDITOR": "true",
        "GIT_SEQUENCE_EDITOR": "true",
        "PYTHONUNBUFFERED": "1",
        "TERM": "dumb",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "maintenance.auto",
        "GIT_CONFIG_VALUE_0": "false",
    }


@pytest.mark.parametrize(("name", "value"), HARMLESS.items())
def test_a_variable_of_the_project_is_passed_by_its_name_or_a_pattern(name: str, value: str) -> None:
    """A variable that no pattern names is not passed."""
    environment = {name: value, "OTHER": "x"}
    assert named_variables(environment, [name]) == ({name: value}, [])
    assert named_variables(environment, ["NOTHING", f"{name[:4]}*"]) == ({name: value}, [])


secret_words = st.sampled_from(["SECRET", "TOKEN", "PASSWORD", "PASSPHRASE", "CREDENTIALS", "KEY", "PASS", "JWT"])
names = st.from_regex(r"[A-Z]{1,6}", fullmatch=True)
named_as_secrets = st.builds(lambda before, word, after: "_".join([*before, word, *after]), *[
    st.lists(names, max_size=2), secret_words, st.lists(names, max_size=2)
])  # fmt: skip
secrets = st.one_of(
    st.sampled_from([*SECRETS.items(), *HIDDEN_OUTSIDE.items()]), st.tuples(named_as_secrets, st.text())
)


@pytest.mark.parametrize(("name", "value"), [*SECRETS.items(), *HIDDEN_OUTSIDE.items()])
def test_fault_150_its_name_passes_no_secret(name: str, value: str) -> None:
    """docs/faults.md 150: not even if the user names it in full."""
    assert named_variables({**LISTS, name: value}, [name])[0] == {}


@given(secrets, st.data())
def test_fault_150_no_pattern_passes_a_secret(secret: tuple[str, str], data: st.DataObject) -> None:
    """docs/faults.md 150: however a pattern names a secret, sandboxed commands do not get it."""
    name, value = secret
    start = data.draw(st.integers(1, len(name)))
    end = data.draw(st.integers(start, len(name)))
    pattern = data.draw(st.sampled_from([name, f"{name[:start]}*", f"{name[:start]}*{name[end:]}"]))
    assert named_variables({**LISTS, name: value, "RAILS_ENV": "test"}, [pattern, "RAILS_ENV"])[0] == {
        "RAILS_ENV": "test"
    }
