// Reads the state of the workspace's repositories from VS Code's own Git extension. This module does not run Git
// itself.

import * as vscode from "vscode";
import { realFolders, toWorkspaceUri, workspacePath } from "../ui/folders";
import type { ChangedFile, GitState } from "../wire/protocol";
import { renameFiles } from "./gitDiffs";

interface Change {
  readonly uri: vscode.Uri;
  /** `Status` of the Git extension's API. */
  readonly status: number;
}

/** The part of the Git extension's API (version 1) that is used here. */
interface Repository {
  readonly rootUri: vscode.Uri;
  /** Where the user writes the message of the next commit. */
  readonly inputBox: { value: string };
  readonly state: {
    readonly HEAD: { readonly name?: string; readonly commit?: string } | undefined;
    readonly indexChanges: readonly Change[];
    readonly workingTreeChanges: readonly Change[];
    readonly mergeChanges: readonly Change[];
    /** Missing in older versions of the extension, which list the untracked files in `workingTreeChanges`. */
    readonly untrackedChanges?: readonly Change[];
  };
  /** Reads the files' status from Git now and updates `state`. */
  status(): Promise<void>;
  /** Returns the diff between the last commit and the index (`cached`), or between the index and the working tree. */
  diff(cached: boolean): Promise<string>;
}

interface GitApi {
  readonly repositories: readonly Repository[];
  /** Returns the repository that contains a file or folder. */
  getRepository(uri: vscode.Uri): Repository | null;
}

interface GitExtension {
  readonly enabled: boolean;
  getAPI(version: 1): GitApi;
}

interface WorkspaceRepository {
  /** The name of the workspace folder in the repository, or the repository's workspace path. */
  readonly name: string;
  readonly repository: Repository;
  /** Returns the URI that a file has in the workspace. Git may know the file by its real path. */
  readonly workspaceUri: (uri: vscode.Uri) => vscode.Uri;
}

/** The maximum number of changed files in a context, and of untracked files in the diff of a repository. */
const MAX_FILES = 20;
/** The states by the `Status` of the Git extension's API. All later numbers are conflicts. */
const STATES: readonly ChangedFile["state"][] = [
  ...["modified", "added", "deleted", "renamed", "added"], // in the index
  ...["modified", "deleted", "untracked", "untracked", "added", "renamed", "modified"], // in the working tree
] as ChangedFile["state"][];

/**
 * Returns the branches, the number of changed files in the workspace, and at most `MAX_FILES` of these files. Leaves out
 * a repository without a branch or commit. Null if no repository is left, or if VS Code's Git is off or has not started.
 */
export function gitState(): GitState | null {
  const repositories = workspaceRepositories().filter(({ repository }) => branchOf(repository) !== "");
  if (repositories.length === 0) return null;
  const branches = repositories.map(({ name, repository }) => {
    const branch = branchOf(repository);
    return repositories.length === 1 ? branch : `${branch} (${name})`;
  });
  const changed = repositories.flatMap((each) => [...changedFiles(each)]);
  const files = changed.slice(0, MAX_FILES).map(([uri, status]) => ({ uri, state: STATES[status] ?? "conflict" }));
  return { branch: branches.join(", "), changed: changed.length, files };
}

function branchOf({ state: { HEAD: head } }: Repository): string {
  return head?.name ?? (head?.commit === undefined ? "" : `no branch, at commit ${head.commit.slice(0, 8)}`);
}

/** Whether there are uncommitted changes in the workspace. It is fast, because completions need it at each key. */
export function hasChanges(): boolean {
  return workspaceRepositories().some(({ repository, workspaceUri }) =>
    changesOf(repository).some(({ uri }) => isInWorkspace(workspaceUri(uri))),
  );
}

/**
 * Returns the uncommitted changes in the workspace as a diff with workspace paths, in which an untracked file has only a
 * header; empty if there are none, undefined without a repository. Lists at most `MAX_FILES` untracked files of each
 * repository. Rejects if Git cannot read a repository.
 */
export async function uncommittedChanges(): Promise<string | undefined> {
  const repositories = workspaceRepositories();
  if (repositories.length === 0) return undefined;
  return (await Promise.all(repositories.map(uncommittedDiff))).join("");
}

/**
 * Returns the inputs for commit messages, with the names of their repositories. If `root` is the folder of a
 * repository, returns only the input of that repository.
 */
export function commitInputs(
  root?: vscode.Uri,
): readonly { readonly name: string; readonly input: Repository["inputBox"] }[] {
  const wanted = gitApi()?.repositories.find(({ rootUri }) => rootUri.toString() === root?.toString());
  const repositories = wanted ? [{ name: workspacePath(wanted.rootUri), repository: wanted }] : workspaceRepositories();
  return repositories.map(({ name, repository }) => ({ name, input: repository.inputBox }));
}

async function uncommittedDiff(each: WorkspaceRepository): Promise<string> {
  const { repository, workspaceUri } = each;
  await repository.status(); // otherwise `state` can be older than the diffs
  const [staged, unstaged] = await Promise.all([repository.diff(true), repository.diff(false)]);
  const uriOf = (path: string): vscode.Uri => workspaceUri(vscode.Uri.joinPath(repository.rootUri, path));
  const diffs = [staged, unstaged].map((diff) =>
    renameFiles(
      diff,
      (path) => workspacePath(uriOf(path)),
      (path) => isInWorkspace(uriOf(path)),
    ),
  );
  const untracked = [...changedFiles(each)].filter(([, status]) => STATES[status] === "untracked");
  const names = untracked.slice(0, MAX_FILES).map(([uri]) => {
    const name = workspacePath(vscode.Uri.parse(uri));
    return `diff --git a/${name} b/${name}\nnew file, untracked\n`;
  });
  return [...diffs, ...names].map((part) => (part === "" || part.endsWith("\n") ? part : `${part}\n`)).join("");
}

const isInWorkspace = (uri: vscode.Uri): boolean => vscode.workspace.getWorkspaceFolder(uri) !== undefined;

/** Returns the status of the workspace's files that differ from the last commit, by URI. */
function changedFiles({ repository, workspaceUri }: WorkspaceRepository): ReadonlyMap<string, number> {
  const changes = changesOf(repository).map(({ uri, status }) => ({ uri: workspaceUri(uri), status }));
  return new Map(changes.filter(({ uri }) => isInWorkspace(uri)).map(({ uri, status }) => [uri.toString(), status]));
}

/** Returns the changes in a repository. May contain a file several times; the last one has the status that counts. */
function changesOf({ state }: Repository): readonly Change[] {
  return [...state.indexChanges, ...state.workingTreeChanges, ...(state.untrackedChanges ?? []), ...state.mergeChanges];
}

/**
 * Returns the repositories of the workspace's folders, each once: the one that contains a folder, with the folder's name,
 * or else those below it, with their workspace paths. Empty if VS Code's Git is off or has not started.
 */
function workspaceRepositories(): WorkspaceRepository[] {
  const api = gitApi();
  if (!api) return [];
  const found = new Map<string, WorkspaceRepository>();
  const add = (name: string, repository: Repository): void => {
    const root = repository.rootUri;
    if (!found.has(root.toString())) {
      found.set(root.toString(), { name, repository, workspaceUri: toWorkspaceUri(root) });
    }
  };
  for (const { uri, name, real } of realFolders()) {
    const around = api.getRepository(uri) ?? api.getRepository(real);
    if (around) {
      add(name, around);
      continue;
    }
    for (const repository of api.repositories) {
      const root = toWorkspaceUri(repository.rootUri)(repository.rootUri);
      const folder = vscode.workspace.getWorkspaceFolder(root);
      if (folder?.uri.toString() === uri.toString()) add(workspacePath(root), repository);
    }
  }
  return [...found.values()];
}

/** Returns the Git extension's API; undefined if VS Code's Git is off or has not started. */
function gitApi(): GitApi | undefined {
  const extension = vscode.extensions.getExtension<GitExtension>("vscode.git");
  return extension?.isActive && extension.exports.enabled ? extension.exports.getAPI(1) : undefined;
}
