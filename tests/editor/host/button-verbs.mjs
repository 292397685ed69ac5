// Rows of buttons, as every title has one, and the menus behind their three dots. A button is identified by how its label
// begins, because VS Code adds the keys to it.
//
// A click is a press and a release. What is redrawn between the two does not get it, and what closes by the press
// never hears of the click: so it is asked of the element itself whether it counted, and what counted is not repeated.

export function buttonVerbs({ page, act }) {
  const menu = page.locator(".monaco-menu");
  const entry = (label) => menu.locator(".action-menu-item", { hasText: label }).first();

  /** Clicks on one element; an error says that it did not count, which `event` decides. */
  async function click(locator, { event = "click", ...options } = {}) {
    const { element, heard } = await listening(locator, event);
    const failed = await element.click(options).then(
      () => undefined,
      (error) => error,
    );
    if (await heard()) return;
    throw failed ?? new Error("the target of the click was redrawn under the pointer");
  }

  async function listening(locator, event) {
    const element = await locator.elementHandle({ timeout: 500 });
    const state = await element.evaluateHandle((node, name) => {
      const kept = { heard: false };
      node.addEventListener(name, () => (kept.heard = true), { capture: true });
      return kept;
    }, event);
    return { element, heard: () => state.evaluate((kept) => kept.heard) };
  }

  /** Opens a menu by `open()` and chooses an entry of it. */
  async function choose(open, label) {
    if (!(await menu.count())) await open();
    try {
      await entry(label).waitFor();
      const { element, heard } = await listening(entry(label), "mouseup");
      // it ignores the mouse in its first moments, and is gone when it did not
      for (let tries = 0; tries < 20 && (await menu.count()); tries += 1)
        await element.click({ timeout: 500 }).catch(() => {});
      if (await heard()) return;
      throw new Error(`the menu was gone before "${label}" was chosen`);
    } catch (error) {
      await page.keyboard.press("Escape");
      throw error;
    }
  }

  return {
    choose,
    click,

    press: (where, actions, label) =>
      act(`the button "${label}" in ${where}`, async () => {
        const button = actions.locator(`.action-label[aria-label^="${label}"]`);
        const more = actions.locator('.action-label[aria-label^="More Actions"]');
        if (await button.count()) await click(button);
        else await choose(() => more.click(), label);
      }),

    labels: (actions) =>
      actions.locator(".action-label").evaluateAll((all) => all.map((each) => each.getAttribute("aria-label"))),
  };
}
