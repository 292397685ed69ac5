// The editor area: tabs, text, diffs, the buttons above an editor.

import { buttonVerbs } from "./button-verbs.mjs";
import { exactly } from "./exactly.mjs";

export function editorVerbs({ page, until, act }) {
  const group = page.locator(".editor-group-container.active");
  const textEditor = group.locator(".editor-instance .monaco-editor").first();

  // VS Code draws the lines in any order, at their vertical position, and a blank as U+00A0.
  const linesOf = (locator) =>
    locator.evaluate((editor) =>
      [...editor.querySelectorAll(".view-lines > .view-line")]
        .sort((one, other) => parseFloat(one.style.top) - parseFloat(other.style.top))
        .map((line) => line.textContent.replaceAll("\u00a0", " ")),
    );

  const entry = (file) =>
    group
      .locator(".multiDiffEntry")
      .filter({ has: page.locator(".file-path .label-name", { hasText: exactly(file) }), visible: true })
      .first();
  const diff = (side, file) =>
    (file ? entry(file) : group.locator(".monaco-diff-editor").first()).locator(`.editor.${side}`);

  async function tabs() {
    // in one call: VS Code reuses the elements of tabs, so an element from an earlier call may now show a different tab
    return page.evaluate(() => {
      // The badge of a FileDecorationProvider, which VS Code draws with a style sheet.
      const badgeOf = (tab) => {
        const label = tab.querySelector("[class*='monaco-decoration-itemBadge']");
        return label ? getComputedStyle(label, "::after").content.replaceAll('"', "") : "";
      };
      return [...document.querySelectorAll(".tabs-container .tab")].map((tab) => ({
        // The extension of the file name is a separate element.
        label: [...tab.querySelectorAll(".label-name, .label-suffix")].map((part) => part.textContent).join(""),
        // The text of a FileDecorationProvider follows the path.
        path: (tab.querySelector(".monaco-icon-label")?.getAttribute("aria-label") ?? "")
          .split(" • ")[0]
          .replaceAll("\\", "/"),
        active: tab.classList.contains("active"),
        dirty: tab.classList.contains("dirty"),
        badge: badgeOf(tab),
        preview: Boolean(tab.querySelector(".monaco-icon-label.italic")),
      }));
    });
  }

  const buttons = buttonVerbs({ page, act });
  const lens = (title, file) => (file ? entry(file) : group).locator(".codelens-decoration a", { hasText: title });

  /**
   * Clicks on a line and goes to its end. Throws if the line moves meanwhile, for example because a CodeLens appears
   * above it, so that `act` repeats the click.
   */
  async function clickLineIn(editor, text) {
    const line = editor.locator(".view-line", { hasText: text }).first();
    await line.click();
    await page.keyboard.press("End");
    await editor.locator(".cursors-layer .cursor").first().waitFor({ state: "attached", timeout: 500 });
    const top = (element) => element.style.top;
    const cursor = await editor.locator(".cursors-layer .cursor").first().evaluate(top);
    if (cursor !== (await line.evaluate(top))) throw new Error("the cursor is on another line");
  }

  return {
    /** Every tab: `{ label, path, active, dirty, badge, preview }`. */
    tabs,
    tab: (label, wanted = (tab) => tab.active) =>
      until(`the tab "${label}"`, async () => (await tabs()).find((tab) => tab.label === label && wanted(tab))),
    /** Clicks on the first tab with that label. Only the press must reach the tab, because it may replace the tab. */
    clickTab: (label) =>
      act(`the tab "${label}"`, async () => {
        const index = (await tabs()).findIndex((tab) => tab.label === label);
        if (index < 0) throw new Error("there is no such tab");
        const tab = page.locator(".tabs-container .tab").nth(index);
        await buttons.click(tab, { event: "mousedown", position: { x: 20, y: 12 } });
      }),

    /** Waits until `wanted(lines)` is true and returns the visible lines of the active text editor. */
    editorLines: (wanted = () => true) =>
      until("the text of the editor", async () => {
        const lines = await linesOf(textEditor);
        return wanted(lines) && lines;
      }),

    /**
     * Waits for a diff and returns the visible lines of one side, 'original' or 'modified'. In a multi-file diff, `file` is the
     * name in an entry's header.
     */
    diffLines: (side, { file, wanted = (lines) => lines.length > 0 } = {}) =>
      until(`the ${side} side of the diff${file ? ` of ${file}` : ""}`, async () => {
        const lines = await linesOf(diff(side, file));
        return wanted(lines) && lines;
      }),
    /** Waits until a multi-file diff has at least `count` files, and returns their names in its headers. */
    diffFiles: (count = 1) =>
      until(`a multi-file diff of ${count}`, async () => {
        // VS Code keeps hidden entries of other diffs
        const headers = group
          .locator(".multiDiffEntry .file-path .title.modified .label-name")
          .filter({ visible: true });
        const names = await headers.allTextContents();
        return names.length >= count && names;
      }),

    /** Puts the cursor at the end of a line in one side of the diff. A part of its text identifies the line. */
    clickDiffLine: (text, { side = "modified", file } = {}) =>
      act(`the line "${text}" in the ${side} side`, () => clickLineIn(diff(side, file), text)),

    /**
     * Waits until the keyboard focus is in a text of the active editor. An editor that opens gets the focus last, after its
     * text and the selection of the command that opened it.
     */
    editorFocus: () =>
      until("the focus in the editor", async () => (await group.locator(".monaco-editor.focused").count()) > 0),

    /** The CodeLens titles in the active editor, in order. */
    lenses: (wanted = (titles) => titles.length > 0) =>
      until("a CodeLens", async () => {
        const titles = await group.locator(".codelens-decoration a").allTextContents();
        return wanted(titles) && titles;
      }),
    /** Clicks on the first CodeLens with that title. In a multi-file diff, `file` is the name in an entry's header. */
    clickLens: (title, { file } = {}) =>
      act(`the CodeLens "${title}"`, () => buttons.click(lens(title, file).first(), { event: "mouseup" })),

    /** Clicks on a button above the active editor, or on the entry with that name in the overflow menu. */
    titleAction: (label) => buttons.press("the title of the editor", group.locator(".editor-actions"), label),

    /** Opens a file of the workspace by its path, with Quick Open. */
    openFile: async (file) => {
      const name = exactly(file.split("/").at(-1));
      await act(`the file "${file}"`, async () => {
        const input = page.locator(".quick-input-widget .quick-input-filter input");
        if (!(await input.isVisible())) await page.keyboard.press("F1");
        await input.fill(file);
        await page
          .locator(".quick-input-list .monaco-list-row")
          .filter({ has: page.locator(".label-name", { hasText: name }) })
          .first()
          .click();
      });
      await until(
        `the editor of "${file}"`,
        async () =>
          (await tabs()).some((tab) => tab.active && tab.path.endsWith(`/${file}`)) &&
          (file.endsWith(".ipynb") ? page.locator(".notebook-editor .monaco-list").first() : textEditor).isVisible(),
      );
    },

    /** Types at the cursor. With `at`, first goes to the 'start' or the 'end' of the text. */
    typeText: async (text, { at } = {}) => {
      await act("the keyboard focus in the editor", () =>
        textEditor.locator(".native-edit-context, textarea.inputarea").first().focus(),
      );
      const keys = { start: "ControlOrMeta+Home", end: "ControlOrMeta+End" }[at];
      if (keys) await page.keyboard.press(keys);
      await page.keyboard.insertText(text);
    },
    /** Puts the cursor at the end of a line of the active text editor. A part of its text identifies the line. */
    clickLine: (text) => act(`the line "${text}"`, () => clickLineIn(textEditor, text)),
    /** Chooses an entry of the context menu at the cursor. `path` lists its submenus, and then the entry itself. */
    editorMenu: (path) =>
      act(`the entry "${path.join(" > ")}" of the editor's menu`, async () => {
        const menu = page.locator(".monaco-menu");
        if (!(await menu.count())) await page.keyboard.press("Shift+F10");
        for (const label of path) {
          const name = page.locator(".action-label", { hasText: exactly(label) });
          await menu.locator(".action-menu-item", { has: name }).last().click({ timeout: 1000 });
        }
        // a menu ignores the mouse at first; if it is still open, the action fails and is repeated
        await menu.first().waitFor({ state: "hidden", timeout: 1000 });
      }),
    /** Types into whatever has the focus. */
    insertText: (text) => page.keyboard.insertText(text),
    /** Saves the active editor and waits until it is clean. */
    save: async () => {
      await page.keyboard.press("ControlOrMeta+s");
      await until("the saved editor", async () => (await tabs()).every((tab) => !tab.active || !tab.dirty));
    },

    /** The inner frame of a webview, for locators in its content. */
    webview: () => page.frameLocator("iframe.webview.ready").last().frameLocator("#active-frame"),

    describeEditors: async () => {
      const names = (await tabs()).map((tab) => `${tab.active ? "*" : ""}${tab.label}${tab.dirty ? " (unsaved)" : ""}`);
      const lines = [`tabs: ${names.join(" | ")}`];
      if (await group.locator(".monaco-diff-editor").count()) {
        for (const side of ["original", "modified"]) {
          lines.push(`${side}:`, ...(await linesOf(diff(side))).map((line) => `  ${line}`));
        }
      } else if (await textEditor.count()) {
        lines.push("text:", ...(await linesOf(textEditor)).map((line) => `  ${line}`));
      }
      return lines.join("\n");
    },
  };
}
