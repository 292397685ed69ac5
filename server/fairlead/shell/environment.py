"""Which variables of the user's environment commands get, in the sandbox and outside of it.

Secrets are recognized by a variable's name or value (docs/commands.md, "Environment variables").
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from fairlead.shell import token_forms
from fairlead.shell.layer import NON_INTERACTIVE

# lists, in lower case, the names of the variables that the client added for the server only, such as a proxy's
ADDED_VARIABLES = "FAIRLEAD_ADDED_VARIABLES"

# lists the names of the variables that the user's settings name for the keys of endpoints
KEY_VARIABLES = "FAIRLEAD_KEY_VARIABLES"

# prefixes of the variables that configure Fairlead and the models that it uses (docs/faults.md 40)
_OWN_PREFIXES = (
    "ANTHROPIC_", "AWS_BEARER_TOKEN_BEDROCK", "AZURE_OPENAI_", "DEEPSEEK_", "FAIRLEAD_", "GEMINI_", "GOOGLE_API_KEY",
    "GROQ_", "MISTRAL_", "OPENAI_", "OPENROUTER_",
)  # fmt: skip
# services that sell the answers of models. Whoever has such a key can spend the user's money, and no tool for building,
# deploying or publishing needs one. Those of clouds, Git hosts and package registries do not belong here.
_MODEL_PROVIDERS = re.compile(
    r"(?:AI21|AI_GATEWAY|ARK|AZURE_(?:AI|API|INFERENCE|OPENAI)|CEREBRAS|CLAUDE|CO_API|COHERE|DASHSCOPE|DEEPINFRA|"
    r"DEEPSEEK|FIREWORKS|GEMINI|GOOGLE_(?:AI|API|GENAI|GENERATIVE_AI)|GROQ|INFERENCE|JINA|LITELLM|LLM|MINIMAX|MISTRAL|"
    r"MOONSHOT|NEBIUS|NOVITA|NVIDIA|OLLAMA|OPENAI|OPENROUTER|PERPLEXITY|PPLX|REPLICATE|SAMBANOVA|SILICONFLOW|"
    r"TOGETHER|TOGETHERAI|VERTEX|VOYAGE|WATSONX|XAI|ZAI|ZHIPUAI)_"
)
_MODEL_KEY = re.compile(r"(?:(?:sk|csk|nvapi|pplx|xai)-|(?:gsk|r8)_)[\w-]{16,}$")  # under whatever name
_SECRET_NAME = re.compile(
    r"SECRET|PASSW|PASSPHRASE|CREDENTIAL|(?:TOKEN|(?:ACCESS|API|PRIVATE)KEY)S?(?:_|$)|"
    r"(?:^|_)(?:AUTH|BEARER|COOKIE|DSN|JWT|KEY|PASS|PAT|PWD|SAS)S?(?:_|$)"
)
_SECRET_VALUE = re.compile(
    # a password in an address, or a user in a web address, which may be a token
    r"://[^/\s:@]*:[^/\s]*@|(?i:https?|ftps?)://[^/\s]+@|"
    # a field of a connection string
    r"(?i:passw(?:or)?d|pwd|secret|token|key)\s*[=:]"
)
_PATTERN = re.compile(r"[A-Za-z_][A-Za-z0-9_*]*")


def read_pattern(text: str) -> str:
    """A pattern of variable names, without whitespace around it. Raises ValueError if it is not one."""
    pattern = text.strip()
    if not _PATTERN.fullmatch(pattern):
        raise ValueError("It must be the name of a variable, with * for any characters, such as DJANGO_*.")
    return pattern


def is_secret(name: str, value: str) -> bool:
    """Whether a variable looks like a secret."""
    return (
        _MODEL_KEY.match(value) is not None
        or _SECRET_NAME.search(name.upper()) is not None
        or _SECRET_VALUE.search(value) is not None
        or token_forms.contains_token(value)
        or token_forms.looks_random(value)
    )


def named_variables(environment: Mapping[str, str], patterns: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """The variables that the user's patterns name: those that sandboxed commands may get, and the names of the secrets.

    Fairlead's own variables, and those of the models' servers that it knows, are in neither.
    """
    matching = {
        name: value for name, value in _public(environment) if any(fnmatchcase(name, pattern) for pattern in patterns)
    }
    secrets = [name for name, value in matching.items() if is_secret(name, value)]
    return {name: value for name, value in matching.items() if name not in secrets}, secrets


def command_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment of a command outside the sandbox.

    It is the user's environment with NON_INTERACTIVE, without the variables of Fairlead and of the models' servers that
    it knows, without the keys of other model providers, and without the variables that the client added. It also keeps
    Git from starting maintenance in the background. Such maintenance would be killed when the command ends, and would
    leave a lock that prevents any later maintenance of the repository.
    """
    public = {name: value for name, value in _public(environment) if not _is_model_key(name, value)}
    given = public.get("GIT_CONFIG_COUNT", "")
    number = int(given) if given.isdecimal() else 0
    setting = {f"GIT_CONFIG_KEY_{number}": "maintenance.auto", f"GIT_CONFIG_VALUE_{number}": "false"}
    return {**public, **NON_INTERACTIVE, **setting, "GIT_CONFIG_COUNT": str(number + 1)}


def _public(environment: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    """The variables that neither configure Fairlead or its models nor were added by the client."""
    hidden = f"{environment.get(ADDED_VARIABLES, '')},{environment.get(KEY_VARIABLES, '')}".lower().split(",")
    return (
        (name, value)
        for name, value in environment.items()
        if not name.upper().startswith(_OWN_PREFIXES) and name.lower() not in hidden
    )


def _is_model_key(name: str, value: str) -> bool:
    return bool(_MODEL_KEY.match(value)) or bool(_MODEL_PROVIDERS.match(name.upper()) and is_secret(name, value))
