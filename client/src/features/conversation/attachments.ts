// The files that the user attaches to a task with a dialog.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import { MAX_PICTURE } from "./messages";
import { mentionsOf } from "../../context/contextItems";

const PICTURES = /\.(png|jpe?g|gif|webp)$/i;

interface Chosen {
  /** Mentions of the files in the workspace; undefined if there are none. */
  readonly mentions: string | undefined;
  /** The pictures outside of the workspace, as base64. */
  readonly pictures: readonly { readonly name: string; readonly data: string }[];
  /** How many files can be neither mentioned nor sent. */
  readonly others: number;
}

/** Lets the user choose files. */
export async function chooseFiles(): Promise<Chosen> {
  const uris =
    (await vscode.window.showOpenDialog({ canSelectMany: true, title: t("Attach"), openLabel: t("Attach") })) ?? [];
  const isInside = (uri: vscode.Uri): boolean => vscode.workspace.getWorkspaceFolder(uri) !== undefined;
  const outside = uris.filter((uri) => !isInside(uri));
  const read = await Promise.all(outside.filter(({ path }) => PICTURES.test(path)).map(readPicture));
  const pictures = read.filter((picture) => picture !== undefined);
  const mentions = mentionsOf(uris.filter(isInside).map(String));
  return { mentions, pictures, others: outside.length - pictures.length };
}

async function readPicture(uri: vscode.Uri): Promise<{ name: string; data: string } | undefined> {
  const { size } = await vscode.workspace.fs.stat(uri);
  if (size > MAX_PICTURE) return undefined;
  const data = Buffer.from(await vscode.workspace.fs.readFile(uri)).toString("base64");
  return { name: uri.path.split("/").at(-1) ?? "", data };
}
