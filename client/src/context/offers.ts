// What the user can choose while typing: what tool servers offer, and skills. Requested from the agent's server, never
// on its own.

import type { AgentServer } from "../server/server";

/** How long an answer is reused while the user types, in milliseconds. */
const VALID_MS = 3000;
/** How long completions wait for an answer, in milliseconds. A later answer is used for the next completions. */
const WAIT_MS = 1000;

export class Offers<Offer> {
  private last:
    | { readonly sessionId: string | undefined; readonly at: number; readonly offers: Promise<readonly Offer[]> }
    | undefined;

  /** `request` asks the server, for a session or, without an id, for a new one. */
  constructor(
    private readonly server: Pick<AgentServer, "isInstalled">,
    private readonly request: (params: { sessionId?: string }) => Promise<readonly Offer[]>,
  ) {}

  /** Returns what is offered in a session, or in a new one. Never throws: without an answer, it is nothing. */
  of(sessionId: string | undefined): Promise<readonly Offer[]> {
    const { last } = this;
    if (last && last.sessionId === sessionId && Date.now() - last.at <= VALID_MS) return last.offers;
    const offers = this.ask(sessionId).catch(() => []);
    this.last = { sessionId, at: Date.now(), offers };
    return offers;
  }

  /** As `of`, but returns nothing if the answer takes long. */
  soon(sessionId: string | undefined): Promise<readonly Offer[]> {
    const nothing = new Promise<readonly Offer[]>((resolve) => setTimeout(resolve, WAIT_MS, []));
    return Promise.race([this.of(sessionId), nothing]);
  }

  private async ask(sessionId: string | undefined): Promise<readonly Offer[]> {
    if (!(await this.server.isInstalled())) return [];
    return this.request(sessionId === undefined ? {} : { sessionId });
  }
}
