"""Which names of files look like secrets: the tables (docs/secrets.md says where they come from), and the decision.

What marks a copy of a file does not count: `.env~`, `id_rsa.bak` and `credentials (1).json` are secrets too.
"""

import os
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path


def _names(text: str) -> tuple[str, ...]:
    """The names in a text, which are separated by white space."""
    return tuple(text.split())


# names of files, whatever folder they are in; also with a dot before them, as Vim's swap files have it
_EXACT = frozenset(
    _names("""
    .envrc.local .envrc.private .dev.vars .npmrc .netrc _netrc netrc .pypirc .dockercfg .dockerconfigjson
    .git-credentials .gitcookies .authinfo .msmtprc .fetchmailrc .mbsyncrc .offlineimaprc .muttrc .esmtprc .curlrc
    _curlrc .wgetrc .s3cfg .boto .passwd-s3fs rclone.conf .rclone.conf .terraformrc terraform.rc
    credentials.tfrc.json tfplan .vault-token .smbcredentials .sentryclirc sentry.properties .coveralls.yml
    ngrok.yml k3s.yaml .databrickscfg local.settings.json azureauth.json accesstokens.json kaggle.json adc.json
    key.properties keystore.properties signing.properties release.properties kube.config hudson.util.secret
    encrypted_data_bag_secret secret_token.rb arduino_secrets.h settings-security.xml wp-config.php
    localsettings.php settings.local.php unattend.xml autounattend.xml sysprep.xml .pgpass pgpass.conf
    .pg_service.conf .my.cnf .mylogin.cnf .odbc.ini .htpasswd htpasswd .htdigest htdigest .ftpconfig
    sftp-config.json .remote-sync.json ftpsync.settings winscp.ini filezilla.xml sitemanager.xml recentservers.xml
    robomongo.json proftpdpasswd master.passwd deploy_key deploy-key git-crypt-key secring.gpg secring.asc
    secring.pgp otr.private_key chap-secrets pap-secrets tailscaled.state key.txt key3.db key4.db logins.json
    signons.sqlite cookies.sqlite cookies.txt wallet.dat default_wallet keyfile.json rootkey.csv accesskeys.csv
    .httr-oauth http-client.private.env.json talosconfig wpa_supplicant.conf .claude.json storagestate.json
    b2_account_info .mnemonic
    .xauthority .zhistory .histfile fish_history consolehost_history.txt jupyter_cookie_secret
    notebook_cookie_secret
    """)
) | {"login data"}
# the ends of names
_KEY_ENDS = _names("""
    .pem .key .p8 .p12 .pfx .pkcs12 .pk8 .ppk .jks .jceks .bks .keystore .kdb .kdbx .psafe3 .keychain .keychain-db
    .kwallet .keytab .agekey .sso .1pif .1pux private.asc secret.asc private-keys.asc private.der private.jwk _rsa
    _dsa _ecdsa _ed25519 -keypair.json keypair.json .decrypt.private.php
    """)
_ENDS = _names("""
    .env .tfstate .tfvars .tfvars.json .tfplan .ovpn .tblk .pcf .nmconnection .kubeconfig .publishsettings
    .pubxml.user .azureauth .cscfg .secret .secrets .credentials .password .token .secret.exs _accesskeys.csv
    _history .rkestate
    """)
# the beginnings of names, each with the ends that it needs; none: any
_STARTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys((".env.", ".env-", ".env_", ".dev.vars.", ".envrc.", "utc--"), ()),
    **dict.fromkeys(
        ("client_secret", "service-account", "service_account", "serviceaccount", "gha-creds-"), (".json",)
    ),
    **dict.fromkeys(("bitwarden_export", "lastpass_export", "1password", "dashlane"), (".json", ".csv")),
    **dict.fromkeys(("ssh_host_",), ("_key",)),
    **dict.fromkeys(("wg0", "wg1", "wg-"), (".conf",)),
}
_ANY_START = tuple(_STARTS)
# folders in which every file is a secret, and paths of one file
_FOLDERS = frozenset(
    _names("""
    .ssh .gnupg .aws .azure .kube .oci .aliyun .secrets .credentials .password-store .kaggle .jfrog .snowflake
    .snowsql .dbt .cloudflared .agilekeychain private-keys-v1.d
    """)
)
_FOLDER_PATHS = _names("""
    /.config/gcloud/ /.config/gh/ /.config/github-copilot/ /.config/doctl/ /.config/hcloud/ /.config/op/
    /.config/solana/ /.config/anthropic/ /.talos/ /playwright/.auth/ /.local/share/keyrings/
    /.subversion/auth/ /.wrangler/config/
    """)
_PATHS = _names("""
    /.docker/config.json /kaniko/config.json /.cargo/credentials /.config/hub /.config/netlify/config.json
    /.config/sops/age/keys.txt /.gradle/gradle.properties /.m2/settings.xml /.nuget/nuget/nuget.config
    /.hex/hex.config /.purple/accounts.xml /.irssi/config /.weechat/sec.conf /.bitcoin/bitcoin.conf
    /kubernetes/admin.conf /.railway/config.json /.fly/config.yml /.vscode/sftp.json /etc/shadow /etc/gshadow
    /sites/default/settings.php /.influxdbv2/configs /.cassandra/cqlshrc
    """)

# names in words: data files (never source files) whose last word says what they contain; `_` is any separator
_DATA = frozenset(
    _names("""
    json json5 jsonc yml yaml toml ini cfg conf config properties props xml txt text csv tsv plist env db sqlite
    sqlite3 dat xcconfig hcl edn pickle pkl xls xlsx ods doc docx odt rtf asc der jwk bin b64 base64 list
    """)
)
_BARE = _names("""
    credentials creds secret secrets password passwords passphrase token api_key apikey access_token auth_token
    api_token github_token secret_key private_key kubeconfig aws_credentials vault_pass vault_password
    vault_pass_file vault_password_file ansible_vault_pass ansible_vault_password ansible_vault_password_file
    """)
_STEMS = frozenset((*_BARE, "credential", "pass", "passwd", "userpass", "user_pass", "htpasswd", "mnemonic"))
_WORDS = _names("""
    credentials creds secrets _secret passwords apikey apikeys api_key api_keys access_key access_keys accesskey
    accesskeys private_key privatekey private_keys secret_key secretkey encryption_key master_key signing_key
    ssh_key deploy_key account_key service_key sa_key gcp_key gcloud_key crypt_key api_token access_token auth_token
    refresh_token oauth_token bot_token github_token gitlab_token npm_token pypi_token slack_token hf_token
    db_password database_password root_password admin_password mysql_password postgres_password redis_password
    smtp_password keystore_password user_password vault_pass vault_password vault_pass_file vault_password_file
    gh_token openai_key anthropic_key gemini_key unseal_keys vault_keys root_token _mnemonic
    recovery_codes backup_codes seed_phrase recovery_phrase kubeconfig firebase_adminsdk
    """)
_PHRASES = tuple(word for word in _WORDS if "_" in word[1:])  # these too, after other words
_FIRST_WORDS = ("credentials_", "creds_", "secrets_", "secret_", "kubeconfig_", "firebase_adminsdk_")
_PLACES = frozenset(_names("prod production dev development stage staging test testing local live qa"))
_ADMIN = "firebase_adminsdk"  # in the middle of the names that Firebase's console gives to keys
# words of files about secrets, and folders of files that only mention them: texts, manifests, interfaces of contracts
_ABOUT = frozenset(
    _names("""
    example examples sample template dist schema policy baseline external sealed detect scan rotate common weak mock
    """)
)
_ABOUT_FOLDERS = frozenset(
    _names("""
    locale locales i18n l10n lang langs translations messages templates .github contracts artifacts abi abis
    """)
)

_TOKENS = "auth.json"  # of Composer and some agents; deeper in a project, it is usually a translation
_HARMLESS = _names(".pub .example .sample .template .dist .tmpl .defaults -example _example -sample")
_EXAMPLES = ("example.env", "sample.env", "template.env", "dist.env")
_PUBLIC_KEYSTORE = "/android/app/debug.keystore"  # every React Native project has the same
_PUBLIC = frozenset(("cacert", "ca-cert", "ca_cert", "ca-bundle", "ca_bundle", "ca-certificates", "fullchain", "chain"))
_PUBLIC_STARTS = ("public.", "public_", "public-", "publickey", "pubkey")
_PUBLIC_ENDS = _names(".public _public -public public_key public-key publickey pubkey .pub _pub -pub")

# what marks a copy of a file, as editors, package managers, file managers, archivers and users write it
_COPY_ENDS = (
    *("~", ".bak", ".bck", ".bk", ".bkp", ".backup", ".back", ".old", ".orig", ".original", ".save", ".saved", ".sav"),
    *(".swp", ".swo", ".swn", ".copy", ".prev", ".previous", ".new", ".last", ".tmp", ".temp", ".disabled", ".off"),
    *(".rpmsave", ".rpmnew", ".rpmorig", ".dpkg-old", ".dpkg-new", ".dpkg-dist", ".ucf-old", ".pacsave", ".pacnew"),
    *(".mine", ".part", ".crdownload", "-backup", "_backup", "-bak", "_bak", "-old", "_old", "-copy", "_copy"),
    *(" - copy", " copy", " (copy)", ".gz", ".bz2", ".xz", ".zst", ".zip", ".7z", ".rar", ".tar", ".tgz"),
)
_COPY_STARTS = (".#", "copy of ", "backup of ", "backup_", "backup-", "old_", "old-", "bak_")
_MAX_COPIES = 8  # marks that are removed from one name
_SEPARATORS = str.maketrans("- ", "__")
_DATE = frozenset("0123456789-_:tz")

DEPENDENCIES = frozenset(("node_modules", ".venv", "venv", "site-packages", "bower_components", "__pycache__"))


def looks_secret(path: str, root: Path | None = None) -> bool:
    """Whether a path, with `/`, looks like a secret. Ignores case.

    Args:
        root: what it is relative to, if known. Only for `auth.json`, which needs a look at the folder.
    """
    folders, _, last = path.casefold().rpartition("/")
    name = _original(last)
    if name.endswith(_HARMLESS) or f"/{folders}/{name}".endswith(_PUBLIC_KEYSTORE):
        return False
    if "." in folders and (
        not _FOLDERS.isdisjoint(folders.split("/")) or any(each in f"/{folders}/" for each in _FOLDER_PATHS)
    ):
        return True
    if name == _TOKENS and (root is None or not folders or "/." in f"/{folders}" or _is_of_composer(root, path)):
        return True
    return any(_is_key(each) or _is_other(each, folders) for each in _spellings(name))


def _is_of_composer(root: Path, path: str) -> bool:
    return os.path.exists(root / path.rpartition("/")[0] / "composer.json")


def is_shipped(path: str) -> bool:
    """Whether a file that looks like a secret is public, because it is a key or certificate of an installed package.

    Programs need these (certifi, pytest-httpbin).
    """
    *folders, last = path.casefold().split("/")
    packages = (inner for outer, inner in pairwise(folders) if outer in DEPENDENCIES)
    return any(not name.startswith(".") for name in packages) and _is_key(_original(last))


def globs() -> Sequence[str]:
    """Patterns for `rg --iglob` that match all names that look like secrets, and others.

    Made from the tables: each pattern has a text that all names contain that match an entry, however they are marked.
    """
    ends = {end for end in (*_KEY_ENDS, *_ENDS) if "." not in end[1:]}
    texts = {*ends, *_STARTS, *_STEMS, *_WORDS, *_FIRST_WORDS, _ADMIN, "id_"}
    needed = [text for text in texts if not any(other != text and other in text for other in texts)]
    files = {*_EXACT, _TOKENS, *_KEY_ENDS, *_ENDS} - ends
    inside = (*(f"/{name}/*" for name in _FOLDERS), *(f"{path}*" for path in _FOLDER_PATHS), *map(_marked, _PATHS))
    names = (*(f"*{text.replace('_', '?')}*" for text in needed), *(f"*{_marked(name)}" for name in files))
    return (*sorted(names), *(f"**{path}" for path in sorted(inside)))


def _marked(path: str) -> str:
    """A pattern for a path and its copies, which have marks around the name or before its ending."""
    folders, slash, name = path.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    return f"{folders}{slash}{'*' if slash else ''}{stem}{'*' if stem else ''}{dot}{ending}*"


def _original(name: str) -> str:
    """A name without what marks it as a copy."""
    for _ in range(_MAX_COPIES):
        shorter = _without_mark(name)
        if shorter == name or not shorter.strip("."):
            break
        name = shorter
    return name


def _without_mark(name: str) -> str:
    if name.endswith(_COPY_ENDS):
        return name.removesuffix(next(end for end in _COPY_ENDS if name.endswith(end)))
    if name.startswith(_COPY_STARTS):
        return name.removeprefix(next(start for start in _COPY_STARTS if name.startswith(start)))
    if name.startswith("#") and name.endswith("#"):
        return name[1:-1]
    rest, _, last = name.rpartition(".")
    if last[:1].isdecimal() and _DATE.issuperset(last):
        return rest
    rest, bracket, last = name.rpartition(" (")
    return rest if bracket and last[:-1].isdecimal() and last.endswith(")") else name


def _spellings(name: str) -> Iterator[str]:
    """A name, also without the dot at its beginning, and without a mark of a copy before its ending."""
    yield name
    plain = name.lstrip(".")
    if plain != name:
        yield plain
    stem, dot, ending = name.rpartition(".")
    original = _original(stem) if stem else stem
    if original != stem:
        yield f"{original}{dot}{ending}"


def _is_key(name: str) -> bool:
    """Whether a name is that of a key, a certificate or a store of them."""
    if name.endswith(_KEY_ENDS):
        stem = name.rpartition(".")[0]
        is_public = (
            stem in _PUBLIC or stem.startswith(_PUBLIC_STARTS) or stem.endswith(_PUBLIC_ENDS) or stem == "public"
        )
        return not is_public or "private" in stem
    # a key such as id_rsa has no suffix, unlike id_map.py
    return name.startswith("id_") and "." not in name


def _is_other(name: str, folders: str) -> bool:
    if name in _EXACT or f"/{folders}/{name}".endswith(_PATHS):
        return True
    if name.endswith(_ENDS):
        return not name.endswith(_EXAMPLES)
    if name.startswith(_ANY_START):
        ends = next(ends for start, ends in _STARTS.items() if name.startswith(start))
        return not ends or name.endswith(ends)
    return _is_named_in_words(name) and _ABOUT_FOLDERS.isdisjoint(folders.split("/"))


def _is_named_in_words(name: str) -> bool:
    """Whether the words of a data file's name say that it contains secrets."""
    stem, dot, ending = name.lstrip(".").rpartition(".")
    if not dot:
        word = ending.translate(_SEPARATORS)
        return word in _BARE or word.endswith(_PHRASES) or _is_of_place(word)
    if ending not in _DATA:
        return False
    first, *rest = stem.translate(_SEPARATORS).split(".")
    if len(rest) == 1 and rest[0] not in _PLACES:
        first, rest = rest[0], [first]  # app.secrets.json, unlike secrets.prod.json
    elif not _PLACES.issuperset(rest):
        return False
    return _is_secret_word(first) and _ABOUT.isdisjoint("_".join((first, *rest)).split("_"))


def _is_secret_word(word: str) -> bool:
    return word in _STEMS or word.endswith(_WORDS) or _ADMIN in word or _is_of_place(word)


def _is_of_place(word: str) -> bool:
    """Whether it names secrets of one environment, such as `secrets_prod`."""
    return word.startswith(_FIRST_WORDS) and word.rpartition("_")[2] in _PLACES
