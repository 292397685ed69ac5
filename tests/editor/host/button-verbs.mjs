// Rows of buttons, as every title has one, and the menus behind their three dots. A button is told by how its label
// begins, because VS Code adds the keys to it.

export function buttonVerbs({ page, until }) {
  const entry = (label) => page.locator(".monaco-menu .action-menu-item", { hasText: label }).first();

  /** Chooses an entry of the open menu. */
  async function choose(label) {
    await until(`the menu entry "${label}"`, () => entry(label).isVisible());
    // A menu ignores the mouse in its first moments: a click has counted when the menu is gone.
    await until(`the end of the menu with "${label}"`, async () => {
      await entry(label)
        .click({ timeout: 500 })
        .catch(() => {});
      return !(await page.locator(".monaco-menu").count());
    });
  }

  return {
    choose,

    press: async (where, actions, label) => {
      const button = actions.locator(`.action-label[aria-label^="${label}"]`);
      const more = actions.locator('.action-label[aria-label^="More Actions"]');
      const pressed = await until(`the button "${label}" in ${where}`, async () => {
        if (await button.count()) {
          await button.click();
          return "button";
        }
        await more.click();
        if (
          await entry(label)
            .isVisible()
            .catch(() => false)
        )
          return "menu";
        // Neither is there yet.
        await entry(label)
          .waitFor({ timeout: 500 })
          .catch(() => page.keyboard.press("Escape"));
        return (await entry(label).isVisible()) && "menu";
      });
      if (pressed === "menu") await choose(label);
    },

    labels: (actions) =>
      actions.locator(".action-label").evaluateAll((all) => all.map((each) => each.getAttribute("aria-label"))),
  };
}
