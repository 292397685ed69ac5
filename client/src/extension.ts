// Where everything is put together: the views, and the table of commands.

import * as vscode from "vscode";
import { Approvals } from "./approvals";
import { Conversation } from "./conversation";
import type { EditRow } from "./editRows";
import { EditsView } from "./editsView";
import { registerHelp } from "./help";
import { PlanView } from "./planView";
import { Prompts } from "./prompt";
import type { ApproveParams } from "./protocol";
import { Review } from "./review";
import { Runs } from "./runs";
import { AgentServer } from "./server";
import { Status } from "./status";
import { Store } from "./state";

let server: AgentServer | undefined;
const loaded = performance.now();

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel("Fairlead", { log: true });
  const store = new Store();
  const approvals = new Approvals(store);
  const agent = new AgentServer(context, store, approvals, log);
  const runs = new Runs(store, agent, new Prompts(context.workspaceState), context.secrets);
  const review = new Review(store, agent);
  const conversation = new Conversation(store);
  server = agent;

  const commands: Record<string, (...given: never[]) => unknown> = {
    runTask: (prompt?: unknown) => runs.runTask(typeof prompt === "string" ? prompt : undefined),
    runTaskDocument: () => runs.runDocument(),
    followUp: () => runs.followUp(),
    stop: () => runs.stop(),
    setApiKey: () => runs.setApiKey(),
    showConversation: () => conversation.show(),
    reviewAll: () => review.reviewAll(),
    acceptAll: () => review.decideAll("accept"),
    rejectAll: () => review.decideAll("reject"),
    accept: (row?: EditRow) => review.decideRow("accept", row),
    reject: (row?: EditRow) => review.decideRow("reject", row),
    acceptActive: () => review.decideActive("accept"),
    rejectActive: () => review.decideActive("reject"),
    openDiff: (row: EditRow) => review.openDiff(row),
    showApproval: ({ approval }: { approval: ApproveParams }) => approvals.show(approval),
    allowCommand: ({ approval }: { approval: ApproveParams }) => {
      approvals.decide(approval, "allow_once");
    },
    rejectCommand: ({ approval }: { approval: ApproveParams }) => {
      approvals.decide(approval, "reject");
    },
    restartServer: () => agent.restart(),
    showLog: () => {
      log.show();
    },
  };
  for (const [name, run] of Object.entries(commands)) {
    context.subscriptions.push(vscode.commands.registerCommand(`fairlead.${name}`, run));
  }
  log.info(`activated in ${(performance.now() - loaded).toFixed(1)} ms`);
  context.subscriptions.push(log, agent, review, conversation, new PlanView(store), new EditsView(store), new Status(store), registerHelp());
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}
