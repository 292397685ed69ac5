// The parts of the window around the editors: palette, input boxes, dialogs, notifications, status bar, activity bar.

import { buttonVerbs } from "./button-verbs.mjs";
import { exactly } from "./exactly.mjs";

export function workbenchVerbs({ page, until, act }) {
  const { click } = buttonVerbs({ page, act });
  const quick = page.locator(".quick-input-widget");
  const input = quick.locator(".quick-input-filter input");
  const dialogBox = page.locator(".monaco-dialog-box");
  const toastBox = page.locator(".notification-toast");
  // a message that shows progress has links instead of buttons
  const toastButtons = ".notification-list-item-buttons-container .monaco-button, .notification-list-item-message a";

  const quickRow = (label) =>
    quick
      .locator(".quick-input-list .monaco-list-row")
      .filter({ has: page.locator(".quick-input-list-label .label-name", { hasText: exactly(label) }) })
      .first();

  /**
   * The open input box or list, as `{ title, value, placeholder, message, items: [{ label, description }] }`; undefined
   * if none is open.
   */
  async function quickInput() {
    if (!(await quick.isVisible())) return undefined;
    return quick.evaluate((widget) => {
      const text = (selector, root = widget) => {
        const element = root.querySelector(selector);
        return element && element.offsetParent ? element.textContent.trim() : "";
      };
      const box = widget.querySelector(".quick-input-filter input");
      return {
        title: text(".quick-input-title"),
        value: box.value,
        isPassword: box.type === "password",
        placeholder: box.placeholder,
        message: text(".quick-input-message"),
        items: [...widget.querySelectorAll(".quick-input-list .monaco-list-row")]
          .filter((row) => row.offsetParent)
          .map((row) => ({
            label: text(".quick-input-list-label .label-name", row),
            description: text(".quick-input-list-label .label-description", row),
          })),
      };
    });
  }

  const isPalette = (open) => open?.value.startsWith(">") || /name of a command/.test(open?.placeholder ?? "");

  /** Waits for an input box or a list other than the palette, with this title if one is given. */
  function asked(title) {
    return until(title ? `an input box titled "${title}"` : "an input box", async () => {
      const open = await quickInput();
      return open && !isPalette(open) && (!title || open.title === title) && open;
    });
  }

  async function toasts() {
    return toastBox.evaluateAll(
      (boxes, buttons) =>
        boxes.map((box) => ({
          message: box.querySelector(".notification-list-item-message")?.textContent.trim() ?? "",
          severity: /codicon-(info|warning|error)/.exec(
            box.querySelector(".notification-list-item-icon")?.className ?? "",
          )?.[1],
          source:
            box
              .querySelector(".notification-list-item-source")
              ?.textContent.replace(/^Source: /, "")
              .trim() ?? "",
          buttons: [...box.querySelectorAll(buttons)].map((button) => button.textContent.trim()),
        })),
      toastButtons,
    );
  }

  const toastWith = (text) =>
    toastBox.filter({ has: page.locator(".notification-list-item-message", { hasText: text }) }).first();

  async function dialog() {
    if (!(await dialogBox.isVisible())) return undefined;
    return dialogBox.evaluate((box) => ({
      message: box.querySelector(".dialog-message")?.innerText.trim() ?? "",
      detail: box.querySelector(".dialog-message-detail")?.innerText.trim() ?? "",
      buttons: [...box.querySelectorAll(".dialog-buttons .monaco-button")].map((button) => button.textContent.trim()),
    }));
  }

  async function statusItems() {
    return page.locator(".statusbar-item").evaluateAll((items) =>
      items
        .filter((item) => item.offsetParent)
        .map((item) => ({
          id: item.id,
          text: item.textContent.trim(),
          label: item.getAttribute("aria-label") ?? "",
          icons: [...item.querySelectorAll(".codicon")].flatMap((icon) =>
            [...icon.classList].filter((name) => name.startsWith("codicon-")),
          ),
        })),
    );
  }

  const findStatus = async (id) => (await statusItems()).find((item) => item.id === id || item.id.endsWith(`.${id}`));
  const containerIcon = (title) =>
    page.locator(".activitybar .action-item").filter({
      has: page.locator(`.action-label[aria-label="${title}"], .action-label[aria-label^="${title} "]`),
    });

  // the palette finds the commands by both words; the documentation leaves out the first
  const fullTitle = (title) => (title.startsWith("Agent: ") ? `Fairlead ${title}` : title);

  /** Runs a command from the palette by its exact title, as in "Agent: Run Task". */
  const runCommand = (title) =>
    act(`the command "${title}" in the palette`, async () => {
      await typeIntoPalette(title);
      await click(quickRow(fullTitle(title)));
    });

  // Gives up early and is repeated: an obstacle (a palette that is closing, a dialog that gets the key) is soon gone.
  async function typeIntoPalette(text) {
    if (!isPalette(await quickInput())) await page.keyboard.press("F1");
    await input.waitFor({ timeout: 500 });
    // waits longer than that: on a busy machine, the list of all commands takes some time
    await input.fill(">");
    await input.fill(`>${text}`);
  }

  return {
    runCommand,

    /** Like `runCommand`, but with the keyboard only. */
    typeCommand: async (title) => {
      await page.keyboard.press("F1");
      await until("the palette", async () => isPalette(await quickInput()));
      await page.keyboard.insertText(title);
      await until(
        `"${title}" first in the palette`,
        async () => (await quickInput()).items[0]?.label === fullTitle(title),
      );
      await page.keyboard.press("Enter");
    },

    /** The titles that the palette offers for `typed`. Closes the palette again. */
    commands: async (typed) => {
      await act("the palette", () => typeIntoPalette(typed));
      const found = await until(`the commands with "${typed}"`, async () => {
        const titles = (await quickInput()).items.map((item) => item.label);
        if (titles.join() === "No matching commands") return [];
        return titles.length > 0 && titles.every((title) => title.includes(typed)) && titles;
      });
      await act("closing the palette", async () => {
        await page.keyboard.press("Escape");
        await quick.waitFor({ state: "hidden", timeout: 500 });
      });
      return found;
    },

    quickInput: asked,

    /** Types into the open input box; `accept: false` leaves it open. */
    fillInput: async (text, { title, accept = true } = {}) => {
      await asked(title);
      await act(`typing into the input box`, () => input.fill(text));
      // into the box, because VS Code gives the focus back to a page some time after a list that was open before has gone
      if (accept) await input.press("Enter");
    },

    /** Chooses an entry of the open list by its exact label. `isInNext`: the next list has such an entry too. */
    pick: async (label, { title, isInNext = false } = {}) => {
      await asked(title);
      await act(`the entry "${label}" of the list`, async () => {
        await page.mouse.move(0, 0); // the hover of the row under a resting pointer covers the next one
        await click(quickRow(label));
      });
      // the next box may have the same title
      await until("the end of the list", async () => isInNext || !(await quickRow(label).isVisible()));
    },

    press: (keys) => page.keyboard.press(keys),

    /** Waits for a notification that contains `text`, and returns it as `{ message, severity, source, buttons }`. */
    toast: (text, timeout) =>
      until(
        `a notification with "${text}"`,
        async () => (await toasts()).find((each) => each.message.includes(text)),
        timeout,
      ),
    toasts,
    toastButton: (text, button) =>
      act(`the button "${button}" of the notification "${text}"`, () =>
        click(toastWith(text).locator(toastButtons, { hasText: exactly(button) })),
      ),
    /** Closes a notification that `toast` has found. It may be gone already: VS Code hides some after a time. */
    closeToast: (text) =>
      until(`closing the notification "${text}"`, async () => {
        const toast = toastWith(text);
        // until it is gone: while it fades out, it could be mistaken for the next one with this text
        if ((await toast.count()) === 0) return true;
        await toast.hover();
        await toast.locator('.action-label[aria-label^="Clear Notification"]').click();
        return false;
      }),

    /** Waits for a modal dialog: `{ message, detail, buttons }`. `dialog.now()` returns undefined if there is none. */
    dialog: Object.assign(() => until("a dialog", dialog), { now: dialog }),
    pressDialog: (button) =>
      act(`the button "${button}" of the dialog`, () =>
        click(dialogBox.locator(".dialog-buttons .monaco-button", { hasText: exactly(button) })),
      ),

    /** Trusts the workspace of a window in restricted mode. The page for workspace trust must be open. */
    trustWorkspace: async () => {
      await act('the button "Trust"', () =>
        click(page.locator(".workspace-trust-editor .monaco-button", { hasText: exactly("Trust") })),
      );
      await until("a trusted workspace", async () => !(await findStatus("status.workspaceTrust")));
    },

    /** Waits for a status bar item by the id that the extension gave it: `{ id, text, label, icons }`. */
    statusItem: (id, wanted = () => true) =>
      until(`the status bar item "${id}"`, async () => {
        const item = await findStatus(id);
        return item && wanted(item) && item;
      }),
    clickStatus: (id) =>
      act(`the status bar item "${id}"`, async () =>
        click(page.locator(`[id="${(await findStatus(id)).id}"] .statusbar-item-label`)),
      ),

    /** Shows a view container with its command. A click on its icon would close it if the loading window has just shown it. */
    showContainer: async (title) => {
      await runCommand(`View: Show ${title}`);
      await until(`the container "${title}"`, () => containerIcon(title).and(page.locator(".checked")).count());
    },

    /** The badge on a container's icon: `{ text, label }`, or undefined if there is none. */
    viewBadge: async (container) => {
      const icon = await until(
        `the icon "${container}" in the activity bar`,
        async () => (await containerIcon(container).count()) && containerIcon(container),
      );
      const badge = icon.locator(".badge-content");
      if (!(await badge.isVisible())) return undefined;
      return {
        text: await badge.textContent(),
        label: (await icon.getAttribute("aria-label")).replace(`${container} - `, ""),
      };
    },

    /** A color of the current theme, as `#rrggbb`, to compare with a row's color. */
    themeColor: (id) =>
      page
        .locator(".monaco-workbench")
        .first()
        .evaluate(
          (workbench, name) => {
            const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d");
            canvas.fillStyle = getComputedStyle(workbench).getPropertyValue(name).trim();
            return canvas.fillStyle;
          },
          `--vscode-${id.replaceAll(".", "-")}`,
        ),

    describeWorkbench: async () => {
      const lines = [];
      const open = await quickInput();
      if (open) {
        lines.push(`input box "${open.title}": ${open.value || `(${open.placeholder})`} ${open.message}`);
        lines.push(...open.items.slice(0, 12).map((item) => `  - ${item.label} ${item.description}`));
      }
      const modal = await dialog();
      if (modal) lines.push(`dialog: ${modal.message} | ${modal.detail} [${modal.buttons.join("] [")}]`);
      for (const each of await toasts())
        lines.push(`notification (${each.severity}): ${each.message} [${each.buttons.join("] [")}]`);
      lines.push(`status bar: ${(await statusItems()).map((item) => item.text || item.label).join(" | ")}`);
      return lines.join("\n");
    },
  };
}
