// A race: several models or agents do the same task at the same time, and the user reviews one of the results.

import { t } from "@vscode/l10n";
import { orShowWarning, showFailure } from "../../server/errors";
import type { AgentServer } from "../../server/server";
import type { Store } from "../../state/store";
import { countText, oneOrMany } from "../../ui/format";
import { pick, pickSeveral, showInformation, showWarning, withProgress } from "../../ui/show";
import { method, type RaceResult, type Standing } from "../../wire/protocol";
import type { Prompts } from "./prompt";
import { runnerRows, standingRows, type Runner } from "./raceRows";
import type { Runs } from "./runs";

const TITLE = t("Agent: Race");
const SHOW_RANKING = t("Show Ranking");
/** How many runs take part: each has a layer of its own, and they share the processors. */
const MAX_RUNS = 8;
/** In characters. */
const MAX_TITLE = 80;

interface RaceRun {
  readonly sessionId: string;
  readonly runner: Runner;
}

export class Races {
  constructor(
    private readonly store: Store,
    private readonly server: AgentServer,
    private readonly prompts: Prompts,
    private readonly runs: Runs,
    /** Opens the diff of all changes of a session. */
    private readonly openReview: (sessionId: string) => Promise<void>,
  ) {}

  /** Asks for the task and for who does it, lets them do it, and shows the ranking. */
  async race(): Promise<void> {
    if (!(await this.runs.isReady())) return;
    const prompt = await this.prompts.ask(TITLE);
    if (prompt === undefined) return;
    void this.prompts.remember(prompt);
    try {
      const runners = await this.chooseRunners();
      if (!runners) return;
      const result = await this.run(prompt, runners);
      if (result) await this.report(result);
    } catch (error) {
      showFailure(error);
    }
  }

  private async chooseRunners(): Promise<readonly Runner[] | undefined> {
    const [models, { agents }] = await Promise.all([
      this.server.request(method.models, {}),
      this.server.request(method.hostedAgents, {}),
    ]);
    const placeholder = t("Choose two or more. Each does the task in a session of its own.");
    const rows = await pickSeveral(runnerRows(models, agents), { title: TITLE, placeholder });
    const runners = rows?.flatMap(({ runner }) => runner ?? []);
    if (!runners || (runners.length > 1 && runners.length <= MAX_RUNS)) return runners;
    void showInformation(t("A race needs 2 to {0} models or agents.", MAX_RUNS));
    return undefined;
  }

  /** Runs the task by each, and then ranks the runs. Returns undefined if the user cancels. */
  private async run(prompt: string, runners: readonly Runner[]): Promise<RaceResult | undefined> {
    return withProgress({ title: t("Race"), cancellable: true }, async (report, token) => {
      const started = await Promise.all(runners.map((runner) => this.start(runner, prompt)));
      let ended = 0;
      const showCount = (): void => {
        report(t("{0} of {1} have ended", ended, started.length));
      };
      const stop = (): void => {
        for (const { sessionId } of started) {
          if (this.store.get(sessionId)?.running) void orShowWarning(() => this.runs.stop(sessionId));
        }
      };
      token.onCancellationRequested(stop);
      showCount();
      await Promise.all(
        started.map(async ({ sessionId }) => {
          await this.runs.runSilently(sessionId, prompt);
          ended++;
          showCount();
        }),
      );
      if (token.isCancellationRequested) return undefined;
      report(t("Comparing the results with the checks"));
      return this.server.request(method.rankRace, { sessionIds: started.map(({ sessionId }) => sessionId) }, token);
    });
  }

  private async start(runner: Runner, prompt: string): Promise<RaceRun> {
    const title = `${runner.title}: ${prompt.trim().split("\n", 1)[0] ?? ""}`.slice(0, MAX_TITLE);
    const { sessionId } = await this.server.request(method.createSession, { title });
    const { endpoint, model, hosted = "" } = runner;
    if (endpoint !== undefined && model !== undefined) {
      await this.server.ensurePackages(endpoint);
      await this.server.request(method.chooseModel, { sessionId, endpoint, model });
    }
    this.store.setHosted(sessionId, hosted);
    return { sessionId, runner };
  }

  private async report(result: RaceResult): Promise<void> {
    const [first] = result.standings;
    const show = first?.proof === "failed" ? showWarning : showInformation;
    const text = first ? t("The race has ended. First: {0}. {1}", first.title, result.why) : result.why;
    if ((await show(text, SHOW_RANKING)) === SHOW_RANKING) await this.choose(result);
  }

  /** Shows the ranking, opens the run that the user chooses, and offers to delete the others. */
  private async choose({ standings, why }: RaceResult): Promise<void> {
    const texts = { title: TITLE, placeholder: t("Choose a run to review"), prompt: why };
    const chosen = await pick(standingRows(standings), texts, true);
    if (!chosen) return;
    const { sessionId } = chosen.standing;
    this.store.show(sessionId);
    await this.openReview(sessionId);
    await this.offerToDelete(standings.filter((other) => other.sessionId !== sessionId));
  }

  private async offerToDelete(others: readonly Standing[]): Promise<void> {
    const remove = oneOrMany(others.length, t("Delete the Other"), t("Delete the Others"));
    const text = t("The other runs of the race can still be reviewed ({0}).", countText(others.length, "session"));
    if ((await showInformation(text, remove)) !== remove) return;
    const detail = t("Their conversations and proposed changes will be lost. Your files stay unchanged.");
    const question = t("Delete {0}?", countText(others.length, "session"));
    if ((await showWarning(question, { modal: true, detail }, t("Delete"))) === undefined) return;
    for (const { sessionId } of others) {
      const deleted = await orShowWarning(() => this.server.request(method.deleteSession, { sessionId }));
      if (deleted !== undefined) this.store.remove(sessionId);
    }
  }
}
