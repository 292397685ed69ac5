// Takes the place of VS Code's native watchdog, which ends a hanging extension host; keeper.mjs ends everything here.
export function start() {}
export function exit(code = 0) {
  process.exit(code);
}
