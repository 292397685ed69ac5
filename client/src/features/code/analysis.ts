// Waits until language support has reported the problems in files that were just opened. Does not import VS Code, so
// that tests need no editor.

/** How long an analysis may take, in milliseconds: a file without problems may never get a report. */
const LIMIT = 3000;
/**
 * An analysis has ended when this many milliseconds have passed since the last report. Several extensions may report
 * about a file, and TypeScript reports syntax errors before other problems.
 */
const SETTLE = 500;

/** Calls the listener with the files that each report is about, until the result is disposed. */
type Subscribe = (onReport: (files: readonly string[]) => void) => { dispose(): void };

export class Analyses {
  private readonly running = new Map<string, Promise<void>>();

  constructor(private readonly subscribe: Subscribe) {}

  /** Starts waiting for the reports about a file. Call it right before the file is opened. */
  begin(file: string): void {
    if (this.running.has(file)) return;
    const ended = new Promise<void>((resolve) => {
      const limit = setTimeout(end, LIMIT);
      let settling: NodeJS.Timeout | undefined;
      const subscription = this.subscribe((files) => {
        if (!files.includes(file)) return;
        clearTimeout(settling);
        settling = setTimeout(end, SETTLE);
      });
      function end(): void {
        clearTimeout(limit);
        clearTimeout(settling);
        subscription.dispose();
        resolve();
      }
    });
    this.running.set(file, ended);
    void ended.then(() => this.running.delete(file));
  }

  /** Waits until the analysis of a file has ended. Returns at once if none is running. */
  async whenEnded(file: string): Promise<void> {
    await this.running.get(file);
  }
}
