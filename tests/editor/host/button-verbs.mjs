// The rows of buttons in titles, and the menus that their three dots open. A button is identified by the beginning of
// its label, because VS Code appends the keyboard shortcut.
//
// A click is a press and a release. An element that is redrawn between the two does not get the click, and an element that closes
// on the press gets no click either. So the verbs ask the element whether it got the event, and only repeat the action if it did not.

export function buttonVerbs({ page, act }) {
  const menu = page.locator(".monaco-menu");
  const entry = (label) => menu.locator(".action-menu-item", { hasText: label }).first();

  /** Clicks on one element. Throws if the element did not get `event`. */
  async function click(locator, { event = "click", ...options } = {}) {
    const { element, received } = await listening(locator, event);
    const failed = await element.click(options).then(
      () => undefined,
      (error) => error,
    );
    if (await received()) return;
    throw failed ?? new Error("the target of the click was redrawn under the pointer");
  }

  async function listening(locator, event) {
    const element = await locator.elementHandle({ timeout: 500 });
    const state = await element.evaluateHandle((node, name) => {
      const record = { received: false };
      node.addEventListener(name, () => (record.received = true), { capture: true });
      return record;
    }, event);
    return { element, received: () => state.evaluate((record) => record.received) };
  }

  /** Opens a menu with `open()` and chooses an entry. */
  async function choose(open, label) {
    if (!(await menu.count())) await open();
    try {
      await entry(label).waitFor();
      const { element, received } = await listening(entry(label), "mouseup");
      // a menu ignores the mouse at first, and closes once an entry has been chosen
      for (let tries = 0; tries < 20 && (await menu.count()); tries += 1)
        await element.click({ timeout: 500 }).catch(() => {});
      if (await received()) return;
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
        if (!(await button.count())) await choose(() => more.click(), label);
        else {
          // an earlier attempt may have opened the menu, before the button was there; Escape in the menu closes it
          if (await menu.count()) await menu.locator(".actions-container").first().press("Escape");
          await click(button);
        }
      }),

    labels: (actions) =>
      actions.locator(".action-label").evaluateAll((all) => all.map((each) => each.getAttribute("aria-label"))),
  };
}
