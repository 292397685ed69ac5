"""docs/faults.md 182: settings of Git and files in a `.git`, and whether commands may see them. One per line.

`{n}` is replaced with n letters and digits, so that no token is in this file.
"""

import re

HIDDEN = """
[sendemail] smtpPass = hunter2
[sendemail] smtpPassword = hunter2
[sendemail "work"] smtppass = "hunter2"
[imap] pass = hunter2
[imap] PASS=hunter2
[mail] pw = hunter2
[ftp] pwd = hunter2
[db] dbPwd = hunter2
[tool] password = hunter2
[tool] passwd = hunter2
[tool] passphrase = hunter2
[tool] api-key = hunter2
[tool] api_key = hunter2
[tool] apikey = hunter2
[tool] apiKey = hunter2
[tool] auth = hunter2
[tool] authorization = hunter2
[tool] private-key = hunter2
[tool] privateKey = hunter2
[tool] access-key = hunter2
[tool] accessKey = hunter2
[tool] accountKey = hunter2
[tool] secret = hunter2
[tool] client-secret = hunter2
[tool] token = hunter2
[tool] oauthToken = hunter2
[tool] bearer = hunter2
[tool] cookie = hunter2
[tool] credentials = hunter2
[tool] creds = hunter2
[tool] jwt = hunter2
[tool] pat = hunter2
[tool] sas = hunter2
[tool] dsn = hunter2
[tool] otp = hunter2
[tool] key = hunter2
[tool] connectionString = hunter2
[http] extraHeader = Authorization: Basic hunter2
[http "https://example.org/"] extraheader = X-Auth: hunter2
[http] cookieFile = hunter2
[github] oauth-token = hunter2
[jira] passcode = hunter2
[remote "s3"] annex-s3creds = hunter2
[x] sessionid = hunter2
[x] licenseKey = hunter2
[core] sshCommand = sshpass -p hunter2 ssh
[core] sshCommand = sshpass -phunter2 ssh
[core] gitProxy = proxy --pass hunter2
[sendemail] smtpServerOption = --pass=hunter2
[imap] tunnel = ssh -o Pass=hunter2
[alias] up = !curl -u me:hunter2 https://example.org
[alias] up = !curl --user me:hunter2 https://example.org
[alias] up = !curl --user=me:hunter2 https://example.org
[filter "x"] smudge = !openssl enc -d -k hunter2
[filter "x"] clean = enc -pass pass:hunter2
[x] y = Basic hunter2
[gitlab] token = hunter2
[hub] oauthtoken = hunter2
[user] [github] token = hunter2
[alias] up = !curl -H 'Authorization: hunter2' https://example.org
[alias] in = !PASSWORD=hunter2 deploy
[credential] helper = "!f() { echo password=hunter2; }; f"
# password = hunter2
; pw = hunter2
#auth = hunter2
[tool] x = ghp_{36}
[tool] x = gho_{36}
[tool] x = ghs_{36}
[tool] x = github_pat_{22}_{59}
[tool] x = glpat-{20}
[tool] x = gldt-{20}
[tool] x = glrt-{20}
[tool] x = ATATT3{40}
[tool] x = ATBB{32}
[tool] x = npm_{36}
[tool] x = pypi-{60}
[tool] x = dckr_pat_{27}
[tool] x = rubygems_{48}
[tool] x = sk-{48}
[tool] x = sk-ant-api03-{80}
[tool] x = sk-proj-{48}
[tool] x = gsk_{52}
[tool] x = hf_{34}
[tool] x = r8_{37}
[tool] x = xai-{80}
[tool] x = AKIA2{15}
[tool] x = ASIA2{15}
[tool] x = AIza{35}
[tool] x = LTAI5{20}
[tool] x = abc8Q~{34}
[tool] x = sha256~{43}
[tool] x = ya29.{60}
[tool] x = GOCSPX-{28}
[tool] x = dop_v1_{64}
[tool] x = dapi{32}
[tool] x = hvs.{90}
[tool] x = sk_live_{24}
[tool] x = rk_test_{24}
[tool] x = whsec_{32}
[tool] x = shpat_{32}
[tool] x = sq0atp-{22}
[tool] x = xoxb-{12}-{12}-{24}
[tool] x = xapp-{30}
[tool] x = SG.{22}.{43}
[tool] x = xkeysib-{64}
[tool] x = lin_api_{40}
[tool] x = ntn_{46}
[tool] x = figd_{40}
[tool] x = PMAK-{24}
[tool] x = glsa_{32}
[tool] x = sntrys_{60}
[tool] x = tskey-auth-{30}
[tool] x = nfp_{36}
[tool] x = pul-{40}
[tool] x = eyJ{30}.eyJ{30}.{40}
[tool] x = https://hooks.slack.com/services/T{8}/B{8}/{24}
[tool] x = "-----BEGIN OPENSSH PRIVATE KEY-----"
[tool] x = AGE-SECRET-KEY-1{58}
[tool] x = "gh"p_{36}
[tool] x = {40}
[tool] x = user:{10} {40}
[remote "o"] pushOption = ghp_{36}
[branch "main"] description = use glpat-{20} here
[alias] x = !curl -u me:ghp_{36} https://example.org
[url "git@example.org:"] x = npm_{36} ; a comment
"""

# what is hidden in an address, after the colon: the rest of the setting stays
IN_ADDRESS = """
hunter2: [remote "o"] url = https://me:hunter2@example.org/x.git
hunter2: [remote "o"] url = https://hunter2@example.org/x.git
hunter2: [remote "o"] pushurl = "https://me:hunter2@example.org/x.git"
hunter2: [remote "o"] url = ssh://me:hunter2@example.org/x.git
hunter2: [http] proxy = http://me:hunter2@proxy:8080
hunter2: [http] proxy = socks5://me:hunter2@proxy:1080
hunter2: [lfs] url = https://me:hunter2@example.org/info/lfs
hunter2: [url "https://me:hunter2@example.org/"] insteadOf = gh:
hunter2: [url "https://hunter2@example.org/"] insteadOf = gh:
hunter2: [http "https://example.org/?private_token=hunter2"] sslVerify = true
hunter2: [submodule "s"] url = https://me:hunter2@example.org/s.git
ghp_: [url "ghp_{36}"] insteadOf = gh:
"""

SHOWN = """
[user] name = Ada
[user] email = ada@example.org
[user] signingKey = 0123456789ABCDEF0123456789ABCDEF01234567
[user] signingKey = ~/.ssh/id_ed25519.pub
[core] bare = false
[core] repositoryFormatVersion = 0
[core] fileMode = true
[core] autocrlf = input
[core] excludesFile = ~/.gitignore
[core] hooksPath = .husky
[core] sshCommand = ssh -i ~/.ssh/work
[core] editor = code --wait
[init] defaultBranch = main
[remote "origin"] url = https://example.org/team/x.git
[remote "origin"] url = git@example.org:team/x.git
[remote "origin"] url = ssh://git@example.org/team/x.git
[remote "origin"] fetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"] remote = origin
[branch "main"] merge = refs/heads/main
[branch "feature/keyboard"] merge = refs/heads/feature/keyboard
[branch "main"] rebase = true
[branch "main"] vscode-merge-base = origin/main
[submodule "s"] url = ../s.git
[submodule] recurse = true
[pull] rebase = true
[push] autoSetupRemote = true
[push] default = simple
[fetch] prune = true
[merge] conflictStyle = zdiff3
[diff] algorithm = histogram
[diff "lockb"] textconv = bun
[rebase] autoStash = true
[commit] gpgSign = true
[gpg] format = ssh
[gpg "ssh"] allowedSignersFile = ~/.ssh/allowed_signers
[tag] sort = version:refname
[color "status"] added = green
[alias] lg = log --graph --pretty=format:'%h %s'
[alias] st = status -sb
[alias] root = !pwd
[filter "lfs"] clean = git-lfs clean -- %f
[filter "lfs"] required = true
[lfs] repositoryFormatVersion = 0
[lfs "https://example.org/x.git/info/lfs"] access = basic
[credential] helper = cache --timeout=300
[credential "https://example.org"] username = ada
[sendemail] smtpServer = smtp.example.org
[sendemail] smtpUser = ada
[sendemail] smtpServerPort = 587
[http] sslVerify = true
[http] postBuffer = 524288000
[http] proxy = http://proxy.example.org:8080
[url "git@example.org:"] insteadOf = https://example.org/
[include] path = ../team.cfg
[safe] directory = /srv/x
[extensions] worktreeConfig = true
[gc] auto = 0
[index] version = 4
[feature] manyFiles = true
[svn-remote "svn"] url = https://example.org/svn
[gitflow "branch"] master = main
[maintenance] strategy = incremental
[author] name = Ada
# a comment
"""

# files in a `.git`, which are separated by white space
HIDDEN_FILES = """
config.bak config~ config.orig config.lock .config.swp credentials .git-credentials token .env id_rsa
git-crypt/keys/default git-crypt/x annex/creds/x branches/origin remotes/origin info/token info/credentials
hooks/.env hooks/deploy.pem modules/sub/config.bak modules/a/b/config~ modules/a/b/modules/c/credentials
modules/readme worktrees/w/token lfs/credentials.json sourcetreeconfig notes.txt CREDENTIALS TOKEN svn/x
"""
SHOWN_FILES = """
HEAD FETCH_HEAD ORIG_HEAD MERGE_HEAD MERGE_MSG MERGE_MODE COMMIT_EDITMSG SQUASH_MSG BISECT_LOG AUTO_MERGE
index description packed-refs shallow sharedindex.0123456789abcdef0123456789abcdef01234567
objects/info/alternates refs/heads/x logs/HEAD logs/refs/heads/x info/exclude info/attributes
info/sparse-checkout hooks/pre-commit hooks/_/husky.sh rr-cache/x/preimage rebase-merge/done rebase-apply/next
sequencer/todo lfs/objects/x annex/objects/x modules/sub/HEAD modules/sub/index modules/a/b/HEAD
modules/a/b/modules/c/HEAD worktrees/w/HEAD worktrees/w/gitdir worktrees/w/commondir worktrees/w/index
"""

_ALPHABET = "a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTuVwXyZ"


def lines(text: str) -> list[str]:
    """The lines of a text above, with tokens."""
    return [
        re.sub(r"\{(\d+)\}", lambda size: (_ALPHABET * 3)[: int(size[1])], line) for line in text.strip().splitlines()
    ]
