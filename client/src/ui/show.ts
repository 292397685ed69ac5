// The only module that hands text to VS Code's own surfaces: messages, dialogs, the status bar, trees, boxes, titles,
// terminals. Any of these texts may contain what a model, its server, a repository or the name of a file says. So each is
// made safe here, by what its surface does with it (`shownText.ts`), and an icon or a link is passed apart from the text.
// ESLint forbids VS Code's functions elsewhere, and the types below leave out the properties that would take a text.

import * as vscode from "vscode";
import { MessageType, type ShowMessageParams } from "vscode-languageclient/node";
import type { Row } from "./row";
import { iconText, lineText, messageText, tooltipText, visibleText } from "./shownText";

/** How long a short message stays in the status bar, in milliseconds. */
const BRIEF_TIME = 5000;
/** In characters. A longer text would displace the other items of the status bar. */
const MAX_STATUS = 200;
/** After how long work is shown as going on, in milliseconds. */
const LONG_TIME = 300;

type Show = typeof vscode.window.showInformationMessage;

/** As a function of VS Code that shows a message. Only a dialog shows a text as it is, without links. */
const through =
  (show: (message: string, ...rest: never[]) => Thenable<unknown>): Show =>
  (message: string, ...rest: unknown[]) => {
    const [options] = rest as [vscode.MessageOptions | undefined];
    if (options?.modal !== true) return show(messageText(message), ...(rest as never[]));
    const detail = options.detail === undefined ? {} : { detail: visibleText(options.detail) };
    return show(visibleText(message), ...([{ ...options, ...detail }, ...rest.slice(1)] as never[]));
  };

export const showInformation = through((...given) => vscode.window.showInformationMessage(...given));
export const showWarning = through((...given) => vscode.window.showWarningMessage(...given));
export const showError = through((...given) => vscode.window.showErrorMessage(...given));

const BY_TYPE: Partial<Record<MessageType, Show>> = {
  [MessageType.Error]: showError,
  [MessageType.Warning]: showWarning,
  [MessageType.Info]: showInformation,
};

/** Shows what the server asks to show (`window/showMessage`, also as a request). A log message is not shown. */
export function showFromServer({ type, message }: ShowMessageParams): null {
  void BY_TYPE[type]?.(message);
  return null;
}

/** Shows a message in the status bar for a few seconds. */
export function showBriefly(message: string): void {
  vscode.window.setStatusBarMessage(iconText(message, "", MAX_STATUS), BRIEF_TIME);
}

/** Shows a notification while `work` runs. It can be cancelled if `cancellable` is set. */
export function withProgress<Result>(
  { title, cancellable = false }: { title: string; cancellable?: boolean },
  work: (report: (message: string) => void, token: vscode.CancellationToken) => Thenable<Result>,
): Thenable<Result> {
  const location = vscode.ProgressLocation.Notification;
  return vscode.window.withProgress(
    { location, title: messageText(title), cancellable },
    (progress: vscode.Progress<{ message: string }>, token) =>
      work((message) => {
        progress.report({ message: messageText(message) });
      }, token),
  );
}

/**
 * Shows a notification while `work` goes on, but not one that would only flash: VS Code shows at most three new
 * notifications in 0.8 s and drops further ones, such as the result of the work.
 */
export async function withProgressIfLong<Result>(title: string, work: Promise<Result>): Promise<Result> {
  const timer = setTimeout(() => void withProgress({ title }, () => work.catch(() => undefined)), LONG_TIME);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
  }
}

/** Shows a progress bar in a view until `ended` resolves. */
export function showViewProgress(viewId: string, ended: Promise<void>): void {
  void vscode.window.withProgress({ location: { viewId } }, () => ended);
}

/** What an item of the status bar shows. */
export interface StatusTexts {
  readonly icon: string;
  readonly text: string;
  readonly tooltip: string;
}

/** An item of the status bar without the properties that take a text; see `showStatus`. */
export type StatusItem = Omit<vscode.StatusBarItem, "text" | "tooltip" | "name" | "accessibilityInformation">;

/** Makes an item at the left of the status bar. `name` is what VS Code's menus call it. */
export function statusItem(id: string, name: string, priority: number): StatusItem {
  const item = vscode.window.createStatusBarItem(id, vscode.StatusBarAlignment.Left, priority);
  item.name = name;
  return item;
}

export function showStatus(item: StatusItem, { icon, text, tooltip }: StatusTexts): void {
  Object.assign(item, { text: iconText(text, icon, MAX_STATUS), tooltip: tooltipText(tooltip) });
  item.show();
}

type TreeTextProperty = "label" | "description" | "tooltip" | "accessibilityInformation";
/** A row of a tree, whose texts cannot be replaced. */
export type TreeItem = Omit<vscode.TreeItem, TreeTextProperty> & Readonly<Pick<vscode.TreeItem, TreeTextProperty>>;

export function treeItem(
  texts: Pick<Row, "label" | "description" | "tooltip" | "screenReaderLabel">,
  collapsible = vscode.TreeItemCollapsibleState.None,
): TreeItem {
  const item = new vscode.TreeItem({ label: lineText(texts.label) }, collapsible);
  item.description = lineText(texts.description);
  item.tooltip = tooltipText(texts.tooltip);
  item.accessibilityInformation = { label: lineText(texts.screenReaderLabel) };
  return item;
}

type HeaderProperty = "title" | "description" | "message" | "badge";
/** A view without the properties that take a text; see `showHeader`. */
export type View<Kind> = Omit<Kind, HeaderProperty>;

export function treeView<Node>(id: string, options: vscode.TreeViewOptions<Node>): View<vscode.TreeView<Node>> {
  return vscode.window.createTreeView(id, options);
}

interface Header {
  readonly description?: string;
  /** The text above the rows. */
  readonly message?: string;
  readonly badge?: vscode.ViewBadge | undefined;
}

/** Sets what a view shows around its content. What is left out stays as it is. */
export function showHeader(view: View<vscode.TreeView<unknown> | vscode.WebviewView>, header: Header): void {
  const shown = view as vscode.TreeView<unknown>;
  if (header.description !== undefined) shown.description = lineText(header.description);
  if (header.message !== undefined) {
    const message = lineText(header.message);
    // VS Code delays a refresh of the rows that follows a change of the message
    if (message !== (shown.message ?? "")) shown.message = message;
  }
  if ("badge" in header)
    shown.badge = header.badge && { value: header.badge.value, tooltip: lineText(header.badge.tooltip) };
}

/** A button of a quick pick, or of one of its rows. */
export interface PickButton {
  readonly icon: string;
  readonly tooltip: string;
  readonly press: () => unknown;
}

interface ShownButton extends vscode.QuickInputButton {
  readonly press: () => unknown;
}

const shownButton = ({ icon, tooltip, press }: PickButton): ShownButton => ({
  iconPath: new vscode.ThemeIcon(icon),
  tooltip: lineText(tooltip),
  press,
});

/** A row of a quick pick. */
export interface PickTexts {
  readonly icon?: string;
  readonly label: string;
  readonly description?: string;
  readonly detail?: string;
  readonly isHeading?: boolean;
  /** Whether the row is shown even if it does not contain what the user types. */
  readonly alwaysShow?: boolean;
  /** Only in a `pickBox`. */
  readonly buttons?: readonly PickButton[];
}

/** What a box says, apart from its rows. */
interface BoxTexts {
  readonly title: string;
  readonly placeholder?: string;
  /** May have several lines. Quick picks show it since VS Code 1.108. */
  readonly prompt?: string;
}

interface ShownRow<Row> extends vscode.QuickPickItem {
  readonly row: Row;
}

function shownRow<Row extends PickTexts>(row: Row): ShownRow<Row> {
  const { icon = "", label, description, detail, isHeading = false, alwaysShow = false, buttons = [] } = row;
  return {
    row,
    label: isHeading ? lineText(label) : iconText(label, icon),
    ...(description === undefined ? {} : { description: iconText(description) }),
    ...(detail === undefined ? {} : { detail: iconText(detail) }),
    kind: isHeading ? vscode.QuickPickItemKind.Separator : vscode.QuickPickItemKind.Default,
    alwaysShow,
    buttons: buttons.map(shownButton),
  };
}

const shownBox = ({ title, placeholder, prompt }: BoxTexts): object => ({
  title: lineText(title),
  ...(placeholder === undefined ? {} : { placeholder: lineText(placeholder) }),
  ...(prompt === undefined ? {} : { prompt: messageText(prompt) }),
});

/** Lets the user choose a row. Returns undefined if the user closes the box. */
export async function pick<Row extends PickTexts>(
  rows: readonly Row[],
  texts: BoxTexts,
  ignoreFocusOut = false,
): Promise<Row | undefined> {
  const { title, placeholder = "", prompt } = texts;
  const shown = {
    title: lineText(title),
    placeHolder: lineText(placeholder),
    ignoreFocusOut,
    matchOnDescription: true,
  };
  const options = { ...shown, ...(prompt !== undefined && { prompt: messageText(prompt) }) };
  return (await vscode.window.showQuickPick(rows.map(shownRow), options))?.row;
}

/** Lets the user choose several rows. Returns undefined if the user closes the box. */
export async function pickSeveral<Row extends PickTexts>(
  rows: readonly Row[],
  { title, placeholder = "" }: BoxTexts,
): Promise<readonly Row[] | undefined> {
  const options = {
    title: lineText(title),
    placeHolder: lineText(placeholder),
    ignoreFocusOut: true,
    matchOnDescription: true,
    canPickMany: true as const,
  };
  return (await vscode.window.showQuickPick(rows.map(shownRow), options))?.map(({ row }) => row);
}

/** A quick pick without the properties that take a text; see `showRows`. */
export type PickBox<Row> = Omit<vscode.QuickPick<ShownRow<Row>>, "title" | "placeholder" | "items">;

/** Makes a quick pick. Its buttons, and those of its rows, do what they say and leave it open. */
export function pickBox<Row extends PickTexts>(texts: BoxTexts, buttons: readonly PickButton[] = []): PickBox<Row> {
  const box = vscode.window.createQuickPick<ShownRow<Row>>();
  box.onDidTriggerItemButton(({ button }) => (button as ShownButton).press());
  box.onDidTriggerButton((button) => {
    if ("press" in button) (button as ShownButton).press();
  });
  return Object.assign(box, shownBox(texts), { buttons: buttons.map(shownButton) });
}

/** Shows rows in a quick pick. With `isSame`, the row that the user has reached stays the active one. */
export function showRows<Row extends PickTexts>(
  box: PickBox<Row>,
  rows: readonly Row[],
  isSame?: (one: Row, other: Row) => boolean,
): void {
  const active = box.activeItems[0]?.row;
  const items = rows.map(shownRow);
  Object.assign(box, { items });
  const same = active && isSame && items.find(({ row }) => isSame(row, active));
  if (same) box.activeItems = [same];
}

/** An input box without the properties that take a text. */
export type TextBox = Omit<vscode.InputBox, "title" | "placeholder" | "prompt" | "validationMessage">;

export function textBox(texts: BoxTexts): TextBox {
  return Object.assign(vscode.window.createInputBox(), shownBox(texts));
}

/** What is wrong with a text that the user types, or a note about one that can be entered. */
export interface CheckedText {
  readonly message: string;
  readonly isProblem: boolean;
}

/** What the user types in a box, and how VS Code checks it. */
interface Input extends Pick<vscode.InputBoxOptions, "value" | "password" | "ignoreFocusOut"> {
  /** Returns what is wrong with a text; undefined if nothing is. */
  readonly problem?: (text: string) => string | undefined;
  /** As `problem`, asynchronously. */
  readonly check?: (text: string) => Promise<CheckedText>;
}

/** Asks for a text. Returns undefined if the user closes the box. */
export function askForText(texts: BoxTexts, { problem, check, ...input }: Input = {}): Thenable<string | undefined> {
  const { title, placeholder = "", prompt = "" } = texts;
  const options = { title: lineText(title), placeHolder: lineText(placeholder), prompt: messageText(prompt) };
  // without it, VS Code need not wait for this extension when the user presses Enter
  const validateInput = check
    ? async (text: string): Promise<vscode.InputBoxValidationMessage> => {
        const { message, isProblem } = await check(text);
        const { Error, Info } = vscode.InputBoxValidationSeverity;
        return { message: messageText(message), severity: isProblem ? Error : Info };
      }
    : problem && ((text: string) => messageText(problem(text) ?? ""));
  return vscode.window.showInputBox({ ...options, ...input, ...(validateInput && { validateInput }) });
}

/** Opens a diff of two documents in an editor with this title. */
export async function openDiff(
  [left, right]: readonly [vscode.Uri, vscode.Uri],
  title: string,
  options: vscode.TextDocumentShowOptions,
): Promise<void> {
  await vscode.commands.executeCommand("vscode.diff", left, right, lineText(title), options);
}

/** Opens a multi-file diff; each resource is the file and its two sides. `title` must be a `lineText`. */
export async function openMultiDiff(title: string, resources: readonly vscode.Uri[][]): Promise<void> {
  await vscode.commands.executeCommand("vscode.changes", lineText(title), resources);
}

/** Opens a terminal. VS Code draws icons in the list of terminals, but not in their other titles. */
export function terminal(name: string, pty: vscode.Pseudoterminal): vscode.Terminal {
  return vscode.window.createTerminal({ name: lineText(name).replaceAll("$(", "$ ("), pty, isTransient: true });
}

/** Opens a terminal in a folder that runs a program, with these variables in addition to those of the editor. */
export const programTerminal = (
  name: string,
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd: string,
): vscode.Terminal =>
  vscode.window.createTerminal({
    name: lineText(name).replaceAll("$(", "$ ("),
    shellPath: program,
    shellArgs: [...args],
    env,
    cwd,
    isTransient: true,
  });

/** Makes an error in a document. Its message may have several lines. */
export function errorIn(range: vscode.Range, message: string, source: string): vscode.Diagnostic {
  const error = new vscode.Diagnostic(range, tooltipText(message), vscode.DiagnosticSeverity.Error);
  error.source = lineText(source);
  return error;
}

/** Makes a completion, without the text that it inserts. */
export function completionItem(
  { label, description }: { readonly label: string; readonly description: string },
  kind: vscode.CompletionItemKind,
): vscode.CompletionItem {
  return new vscode.CompletionItem({ label: iconText(label), description: lineText(description) }, kind);
}

/** Sets the title of a CodeLens or a code action. */
export function showTitle(titled: { title: string }, title: string): void {
  titled.title = iconText(title);
}

/** The comments of Fairlead. VS Code shows the label in its list of comments. */
export const commentController = (): vscode.CommentController =>
  vscode.comments.createCommentController("fairlead", "Fairlead");

/** What a comment thread shows. */
interface ThreadTexts {
  readonly author: string;
  readonly label: string | undefined;
  /** Markdown with HTML, made visible and escaped by the caller. */
  readonly body: string;
}

/** Creates an expanded comment thread that the user cannot reply to. */
export function commentThread(
  controller: vscode.CommentController,
  uri: vscode.Uri,
  range: vscode.Range | undefined,
  { author, label, body }: ThreadTexts,
): vscode.CommentThread {
  const markdown = new vscode.MarkdownString(body);
  markdown.supportHtml = true;
  const comment: vscode.Comment = {
    body: markdown,
    mode: vscode.CommentMode.Preview,
    author: { name: lineText(author) },
    ...(label === undefined ? {} : { label: lineText(label) }),
  };
  // above the first line, a thread is only shown if it was created without a range
  const thread = controller.createCommentThread(uri, range as unknown as vscode.Range, [comment]);
  thread.canReply = false;
  thread.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded;
  return thread;
}

/** A decoration without text. */
export const marks = (
  options: Pick<
    vscode.DecorationRenderOptions,
    "isWholeLine" | "backgroundColor" | "border" | "borderColor" | "overviewRulerColor" | "overviewRulerLane"
  >,
): vscode.TextEditorDecorationType => vscode.window.createTextEditorDecorationType(options);
