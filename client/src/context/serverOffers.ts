// What the tool servers offer to the user: prompts and resources. Requested from the agent's server, never on its own.

import type { AgentServer } from "../server/server";
import { method } from "../wire/protocol";
import type { ServerOffer } from "../wire/protocolStates";

/** How long an answer is reused while the user types, in milliseconds. */
const VALID_MS = 3000;
/** How long completions wait for an answer, in milliseconds. A later answer is used for the next completions. */
const WAIT_MS = 1000;

export class ServerOffers {
  private last:
    | { readonly sessionId: string | undefined; readonly at: number; readonly offers: Promise<readonly ServerOffer[]> }
    | undefined;

  constructor(private readonly server: Pick<AgentServer, "isInstalled" | "request">) {}

  /** Returns what the servers of a session, or of a new one, offer. Never throws: without an answer, it is nothing. */
  of(sessionId: string | undefined): Promise<readonly ServerOffer[]> {
    const { last } = this;
    if (last && last.sessionId === sessionId && Date.now() - last.at <= VALID_MS) return last.offers;
    const offers = this.request(sessionId).catch(() => []);
    this.last = { sessionId, at: Date.now(), offers };
    return offers;
  }

  /** As `of`, but returns nothing if the answer takes long. */
  soon(sessionId: string | undefined): Promise<readonly ServerOffer[]> {
    const nothing = new Promise<readonly ServerOffer[]>((resolve) => setTimeout(resolve, WAIT_MS, []));
    return Promise.race([this.of(sessionId), nothing]);
  }

  private async request(sessionId: string | undefined): Promise<readonly ServerOffer[]> {
    if (!(await this.server.isInstalled())) return [];
    const params = sessionId === undefined ? {} : { sessionId };
    return (await this.server.request(method.toolServersOffers, params)).servers;
  }
}
