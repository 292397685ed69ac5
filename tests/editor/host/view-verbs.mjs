// Views in the side bar or the panel: trees, their rows, buttons and titles. A view is identified by its title.

import { buttonVerbs } from "./button-verbs.mjs";
import { exactly } from "./exactly.mjs";

// How many times in a row the rows of a view must be unchanged before a verb acts on a row.
const STEADY_LOOKS = 3;
// In ms. A click on a twistie that has had no effect by then is repeated.
const TOGGLE_LIMIT = 2000;

export function viewVerbs({ page, until, act }) {
  const pane = (view) =>
    page.locator(".pane").filter({ has: page.locator(".pane-header h3.title", { hasText: exactly(view) }) });
  const actions = (view) => pane(view).locator(".pane-header .actions");
  const buttons = buttonVerbs({ page, act });
  const hover = page.locator(".workbench-hover-container .monaco-hover");

  /** The rows of a view, in order. Only the visible rows exist. */
  function readRows(view) {
    // in one call: VS Code reuses the elements of rows, so an element from an earlier call may now show a different row
    return pane(view).evaluateAll(([found]) => {
      const hex = (color) =>
        color &&
        `#${(color.match(/\d+/g) ?? [])
          .slice(0, 3)
          .map((part) => Number(part).toString(16).padStart(2, "0"))
          .join("")}`;
      return [...(found?.querySelectorAll(".monaco-list-row") ?? [])]
        .filter((row) => !row.closest(".monaco-tree-sticky-container"))
        .map((row) => {
          const icon = row.querySelector(".custom-view-tree-node-item-icon");
          const box = row.querySelector(".custom-view-tree-node-item-checkbox");
          const expanded = row.getAttribute("aria-expanded");
          const badge = row.querySelector(
            "[class*='monaco-decoration-itemBadge'], [class*='monaco-decoration-bubbleBadge']",
          );
          return {
            index: Number(row.dataset.index),
            level: Number(row.getAttribute("aria-level")),
            label: row.querySelector(".label-name")?.textContent ?? "",
            description: row.querySelector(".label-description")?.textContent ?? "",
            icon: [...(icon?.classList ?? [])]
              .filter((name) => /^codicon-(?!colored)/.test(name))
              .map((name) => name.replace("codicon-", ""))
              .join(" "),
            color: hex(icon?.style.color),
            badge: badge ? getComputedStyle(badge, "::after").content.replaceAll('"', "") : "",
            checked: box ? box.getAttribute("aria-checked") === "true" : undefined,
            expanded: expanded === null ? undefined : expanded === "true",
            selected: row.getAttribute("aria-selected") === "true",
            focused: row.matches(".monaco-list:focus .focused"),
            name: row.getAttribute("aria-label") ?? "",
          };
        })
        .sort((one, other) => one.index - other.index);
    });
  }

  /** `which` is a label, an index, or a predicate on the fields of a row. */
  async function locate(view, which) {
    const rows = await readRows(view);
    const found =
      typeof which === "number"
        ? rows[which]
        : rows.find(typeof which === "function" ? which : (row) => row.label === which);
    if (!found) throw new Error(`no row ${which} in "${view}"`);
    // by position and label, because another row may be at this position by the time of the click
    const named = page.locator(".label-name", { hasText: exactly(found.label) });
    return pane(view)
      .locator(`.monaco-list-rows > .monaco-list-row[data-index="${found.index}"]`)
      .filter({ has: named });
  }

  /** Acts on a row once consecutive checks have found the same rows, because VS Code does not know the rows during a refresh. */
  function onRow(what, view, which, action) {
    let last = "";
    let looks = 0;
    return act(`${what} of row ${which} in "${view}"`, async () => {
      const rows = JSON.stringify(await readRows(view));
      looks = rows === last ? looks + 1 : 0;
      last = rows;
      if (looks < STEADY_LOOKS) throw new Error(`the rows of "${view}" have just changed`);
      await leaveHover();
      await action(await locate(view, which));
    });
  }

  /** Moves the pointer away if a hover is visible, because the hover may cover other rows. */
  async function leaveHover() {
    if (!(await hover.count())) return;
    await page.mouse.move(0, 0);
    // the hover of the focused row stays; if it covers the row to act on, the action fails and is repeated
    await hover
      .first()
      .waitFor({ state: "detached", timeout: 200 })
      .catch(() => {});
  }

  async function viewTitles() {
    return page
      .locator(".pane-header h3.title")
      .evaluateAll((titles) => titles.filter((title) => title.offsetParent).map((title) => title.textContent));
  }

  return {
    viewTitles,

    /**
     * Waits until `wanted(rows)` is true (by default, until there are rows) and returns the rows of a view, each as
     * `{ index, level, label, description, icon, color, badge, checked, expanded, selected, focused, name }`. `icon` is for example
     * "sync modifier-spin", `color` is #rrggbb if the icon has a color, `badge` comes from a FileDecorationProvider, `focused` means
     * the keyboard focus, and `name` is what a screen reader says.
     */
    rows: (view, wanted = (rows) => rows.length > 0) =>
      until(`the rows of "${view}"`, async () => {
        const rows = await readRows(view);
        return wanted(rows) && rows;
      }),

    clickRow: (view, which) => onRow("a click", view, which, (row) => buttons.click(row.locator(".label-name"))),
    /** Expands a collapsed row, or collapses an expanded one. */
    toggleRow: async (view, which) => {
      const expanded = async () => (await locate(view, which)).getAttribute("aria-expanded");
      const before = await until(`row ${which} in "${view}"`, expanded);
      const toggled = page.locator(`[aria-expanded="${before !== "true"}"]`);
      await onRow("the twistie", view, which, async (row) => {
        if ((await expanded()) === before) await row.locator(".monaco-tl-twistie").click();
        await row.and(toggled).waitFor({ timeout: TOGGLE_LIMIT });
      });
    },

    /** Clicks on a row's checkbox. */
    clickBox: (view, which) =>
      onRow("the checkbox", view, which, (row) => buttons.click(row.locator(".custom-view-tree-node-item-checkbox"))),

    /** Clicks on an inline button of a row, given the beginning of its label. */
    rowAction: (view, which, label) =>
      onRow(`the button "${label}"`, view, which, async (row) => {
        await row.hover();
        await buttons.click(row.locator(`.actions .action-label[aria-label^="${label}"]`));
      }),
    rowActions: async (view, which) => {
      const row = await until(`row ${which} in "${view}"`, () => locate(view, which));
      await act(`the pointer over row ${which}`, async () => {
        await leaveHover();
        await row.hover();
      });
      return buttons.labels(row.locator(".actions"));
    },
    /** Chooses an entry of a row's context menu. */
    rowMenu: (view, which, label) =>
      onRow(`the entry "${label}" in the menu`, view, which, (row) =>
        buttons.choose(() => row.locator(".label-name").click({ button: "right" }), label),
      ),

    /** The text of the hover over a row. */
    tooltip: async (view, which) => {
      return until(`the hover of row ${which} in "${view}"`, async () => {
        // a hover that is visible appears again only after the pointer has moved away
        await page.mouse.move(0, 0);
        if (await hover.count()) return undefined;
        await (await locate(view, which)).locator(".label-name").hover();
        await hover.last().waitFor();
        return (await hover.last().innerText()).trim();
      });
    },

    /** Clicks on a button in a view's title, or on the entry with that name in its overflow menu. */
    viewTitleAction: async (view, label) => {
      await act(`the title of "${view}"`, () => pane(view).locator(".pane-header").hover());
      await buttons.press(`the title of "${view}"`, actions(view), label);
    },
    viewTitleActions: async (view) => {
      await act(`the title of "${view}"`, () => pane(view).locator(".pane-header").hover());
      return buttons.labels(actions(view));
    },

    viewDescription: async (view) => {
      await until(`the view "${view}"`, () => pane(view).isVisible());
      return (await pane(view).locator(".pane-header .description").allTextContents()).join("");
    },
    /** Waits for the line of text above the tree of a view (`TreeView.message`), and returns it. */
    viewMessage: (view) =>
      until(`the message of "${view}"`, async () =>
        (await pane(view).locator(".tree-explorer-viewlet-tree-view > .message:not(.hide)").allInnerTexts()).join("\n"),
      ),

    /** Waits for the text of an empty view and returns it, including the labels of its buttons. */
    welcome: (view) =>
      until(`the welcome text of "${view}"`, async () =>
        (await pane(view).locator(".welcome-view-content").innerText()).trim(),
      ),

    describeViews: async () => {
      const lines = [];
      for (const view of await viewTitles()) {
        lines.push(
          `view "${view}": ${(await pane(view).locator(".pane-header .description").allTextContents()).join("")}`,
        );
        for (const row of await readRows(view)) {
          const box = { true: "[x] ", false: "[ ] " }[row.checked] ?? "";
          lines.push(`${"  ".repeat(row.level)}${box}(${row.icon}) ${row.label}  ${row.description}`);
        }
        const welcome = pane(view).locator(".welcome-view-content");
        if (await welcome.isVisible()) lines.push(`  ${(await welcome.innerText()).trim().replaceAll("\n", "\n  ")}`);
      }
      return lines.join("\n");
    },
  };
}
