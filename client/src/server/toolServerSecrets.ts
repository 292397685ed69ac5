// The user's sign-ins to tool servers in VS Code's secret storage, by the server's keys for them.

import type { SecretStorage } from "vscode";
import type { SecretChangedParams } from "../wire/protocol";

/** One secret with all sign-ins as JSON, because not every VS Code can list its secrets. */
export const TOOL_SERVER_SECRETS = "fairlead.toolServerSecrets";

export class ToolServerSecrets {
  /** What this window has saved last. */
  private own: string | undefined;
  private saving = Promise.resolve();

  constructor(private readonly secrets: Pick<SecretStorage, "get" | "store">) {}

  async read(): Promise<Record<string, string>> {
    return JSON.parse((await this.secrets.get(TOOL_SERVER_SECRETS)) ?? "{}") as Record<string, string>;
  }

  /** Whether another window has changed them. */
  async isChangedElsewhere(): Promise<boolean> {
    await this.saving;
    return (await this.secrets.get(TOOL_SERVER_SECRETS)) !== this.own;
  }

  /** Saves a sign-in, or removes it. One after the other, so that none is lost. */
  save({ key, value }: SecretChangedParams): Promise<void> {
    this.saving = this.saving
      .catch(() => undefined)
      .then(async () => {
        // JSON has no undefined, so a removed one is not in it
        this.own = JSON.stringify({ ...(await this.read()), [key]: value ?? undefined });
        await this.secrets.store(TOOL_SERVER_SECRETS, this.own);
      });
    return this.saving;
  }
}
