// A command's output as a terminal shows it: limited in size, with a header and a closing line. Pure.

import { t } from "@vscode/l10n";
import { duration } from "../../ui/format";
import type { CommandEnded, CommandStarted } from "../../wire/protocol";
import { lineText, visibleText } from "../../ui/shownText";

/** When the output is more than twice this long, it is cut to about this many of its last characters. */
const KEPT_CHARACTERS = 500_000;
/** Where a command runs, by its mode. */
const MODE_TEXTS = { sandboxed: t("in the sandbox"), workspace: t("outside the sandbox") } as const;

export class CommandOutput {
  private readonly header: string;
  private body = "";
  private isTruncated = false;

  constructor(readonly started: CommandStarted) {
    const network = started.network ? t("with the network") : "";
    const services = started.services.length > 0 ? t("with {0}", visibleText(started.services.join(", "))) : "";
    const where = [MODE_TEXTS[started.mode], network, services, visibleText(started.cwd)].filter(Boolean).join(" · ");
    this.header = `${bold(`$ ${withCrLf(visibleText(started.command))}`)}\r\n${dim(where)}\r\n`;
  }

  /** The title of the terminal. */
  get name(): string {
    const { command, handle } = this.started;
    const short = lineText(command).slice(0, 40);
    return handle === null ? short : `${handle}: ${short}`;
  }

  /** The header and the output so far, for a terminal that is opened while or after the command runs. */
  get text(): string {
    const mark = this.isTruncated ? `${dim(t("[... earlier output omitted ...]"))}\r\n` : "";
    return this.header + mark + this.body;
  }

  /** Appends output, and returns it as the terminal expects it. */
  add(text: string): string {
    const shown = withCrLf(text);
    this.body += shown;
    if (this.body.length > 2 * KEPT_CHARACTERS) {
      const start = this.body.length - KEPT_CHARACTERS;
      const lineEnd = this.body.indexOf("\n", start);
      // a progress bar may write a very long line
      const isInLine = lineEnd < 0 || lineEnd === this.body.length - 1;
      this.body = this.body.slice(isInLine ? start : lineEnd + 1);
      this.isTruncated = true;
    }
    return shown;
  }

  /** Appends the closing line, and returns it. */
  end({ ended, exitCode, seconds }: CommandEnded): string {
    const words = {
      exited: t("exit {0}", exitCode ?? ""),
      timeout: t("killed after its time limit"),
      stopped: t("stopped"),
      failed: t("could not be started"),
    }[ended];
    const gap = this.body === "" || this.body.endsWith("\n") ? "" : "\n";
    return this.add(`\x1b[0m${gap}${dim(`[${words} · ${duration(seconds)} · ${MODE_TEXTS[this.started.mode]}]`)}\n`);
  }
}

const withCrLf = (text: string): string => text.replace(/\r?\n/g, "\r\n");
const bold = (text: string): string => `\x1b[1m${text}\x1b[0m`;
const dim = (text: string): string => `\x1b[2m${text}\x1b[0m`;
