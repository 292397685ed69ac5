"""docs/faults.md 183: names of files that programs run or follow automatically, and similar names, between spaces."""

PROTECTED = """
.vscode/settings.json .vscode/tasks.json sub/.vscode/new.json .idea/x .devcontainer/x .devcontainer.json
a.code-workspace x.sublime-project .fleet/run.json .zed/tasks.json .vs/x .nova/Configuration.json .theia/settings.json
.settings/x.prefs .helix/config.toml .helix/languages.toml .nvim/init.lua .exrc .vimrc .gvimrc .lvimrc .nvimrc
.nvim.lua .dir-locals.el .dir-locals-2.el .emacs.d/init.el .kakrc .gitpod.yml .replit .stackblitzrc
.codesandbox/tasks.json .idx/dev.nix devfile.yaml .latexmkrc latexmkrc .git/hooks/pre-commit .git/config .git
sub/.git/config .husky/pre-commit .husky/_/husky.sh .githooks/x .git-hooks/x .gitmodules .gitattributes
sub/.gitattributes .gitconfig .lefthook/pre-commit/x lefthook.yml lefthook.yaml lefthook.toml lefthook.json
lefthook-local.yml lefthook-local.toml .lefthook.yml .lefthook-local.yml .config/lefthook.yml
.config/lefthook-local.yml .pre-commit-config.yaml .pre-commit-config.yml prek.toml .lintstagedrc .lintstagedrc.json
.lintstagedrc.js .lintstagedrc.mjs lint-staged.config.js lint-staged.config.ts .huskyrc .huskyrc.json husky.config.js
.simple-git-hooks.cjs simple-git-hooks.json .overcommit.yml captainhook.json grumphp.yml hk.pkl .hg/hgrc sub/.hg/hgrc
.hg .hgrc .jj/repo/config.toml .jj/workspace-config.toml _darcs/prefs/defaults .github/workflows/ci.yml
.github/actions/x/action.yml .gitlab-ci.yml .gitlab/ci/x.yml .circleci/config.yml .buildkite/pipeline.yml .travis.yml
azure-pipelines.yml azure-pipelines.yaml .azure-pipelines/x Jenkinsfile Jenkinsfile.release .drone.yml .drone.star
.woodpecker.yml .woodpecker/x.yaml appveyor.yml bitbucket-pipelines.yml .forgejo/workflows/x.yml
.gitea/workflows/x.yml .semaphore/semaphore.yml .cirrus.yml .teamcity/settings.kts cloudbuild.yaml buildspec.yml
.tekton/x.yaml .build.yml .readthedocs.yaml netlify.toml .envrc sub/.envrc .autoenv .rvmrc .bashrc .bash_profile
.profile home/.zshrc .zshenv .kshrc .cshrc .xonshrc .config/fish/config.fish .inputrc .editrc .xinitrc .screenrc
.tmux.conf .psqlrc .sqliterc .ssh/config .ssh/rc .config/autostart/x.desktop .gdbinit sub/.gdbinit .gdbearlyinit
.lldbinit .lldbinit-Xcode .pdbrc .irbrc .pryrc .Rprofile .Renviron .ghci .iex.exs .ocamlinit .erlang .guile .sbclrc
.octaverc .ipython/profile_default/startup/x.py sitecustomize.py usercustomize.py .user.ini mise.toml .mise.toml
mise.local.toml .mise.local.toml mise.production.toml .mise/config.toml .mise/tasks/build mise/config.toml
.config/mise/config.toml .config/mise.toml .rtx.toml devbox.json .npmrc .yarnrc .yarnrc.yml
.yarn/releases/yarn-4.1.0.cjs .yarn/plugins/@yarnpkg/plugin-x.cjs .yarn/sdks/typescript/bin/tsc .pnpmfile.cjs
.pnpmfile.mjs .corepack.env bunfig.toml .pypirc pip.conf pip.ini .pydistutils.cfg .condarc .gemrc .cargo/config.toml
rust-toolchain rust-toolchain.toml .mvn/extensions.xml .mvn/jvm.config .mvn/maven.config
.mvn/wrapper/maven-wrapper.properties .mavenrc gradle/wrapper/gradle-wrapper.jar
gradle/wrapper/gradle-wrapper.properties .sbtopts .jvmopts .bazelrc .bazeliskrc .bazelversion tools/bazel .buckconfig
ansible.cfg AGENTS.md docs/AGENTS.md AGENTS.override.md AGENT.md CLAUDE.md CLAUDE.local.md GEMINI.md QWEN.md WARP.md
.claude/settings.json .claude-plugin/plugin.json .cursor/x .cursorrules .windsurf/x .windsurfrules .clinerules
.clinerules/x.md .roo/x .roorules .roorules-code .roomodes .kilocode/x .codex/config.toml opencode.json opencode.jsonc
.opencode/agent/x.md .aider.conf.yml .continue/x .junie/guidelines.md .aiassistant/rules/x.md .kiro/x
.amazonq/rules/x.md .mcp.json .gemini/settings.json .qwen/settings.json .agents/x .goosehints .augment/rules/x.md
.augment-guidelines .trae/rules/x.md .openhands/setup.sh .factory/x crush.json .rules .fairleadignore
.github/copilot-instructions.md .github/instructions/x.md .github/prompts/x.md .github/chatmodes/x.md
.github/hooks/x.json
"""

ORDINARY = """
package.json src/main.py .gitignore .github/README.md .github/ISSUE_TEMPLATE/x.md .github/dependabot.yml
workflows/ci.yml vscode/settings.json docs/agents.markdown git/hooks/x .editorconfig ..foo .env my.git/x a~1 .hgignore
.hgtags my.hg/hgrc hg/hgrc README.md CLAUDE.md.bak code-workspace 日本/.hidden lefthook lefthook-local hooks/pre-commit
husky/x lintstagedrc.json src/lint-staged.ts src/lefthook/index.ts pre-commit.md captainhook.md hk.py jenkins.md
Jenkins docs/Jenkinsfile-notes.md drone.yml azure.yml buildspec.md bashrc bashrc.md zshrc.txt profile.ts
src/profile.py inputrc gdbinit.md irbrc.rb rprofile.R ghci.md mise.md mise.toml.md mise/README.md config/mise.md
yarn/releases/x .yarn/cache/x.zip .yarn/install-state.gz .yarnclean yarn.lock .pnp.cjs pnpmfile.md bun.lock pip.py
requirements.txt pyproject.toml setup.py conftest.py cargo/config.toml Cargo.toml rust-toolchain.md mvn/jvm.config
pom.xml build.gradle gradle.properties gradle/libs.versions.toml bazel.md tools/bazel.py BUILD.bazel ansible.md
Makefile Dockerfile docker-compose.yml tsconfig.json eslint.config.js .eslintrc.json .prettierrc .pylintrc .rspec
.node-version .nvmrc .tool-versions .python-version opencode.md src/opencode.ts cursor/x codex/config.toml agents/x
rules/x.md mcp.json.md helix/languages.toml nvim/init.lua sub/init.lua claude/settings.json darcs/prefs/x
jj/repo/config.toml
"""
