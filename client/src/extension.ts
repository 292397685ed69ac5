// Creates the views and registers the commands.

import { t } from "@vscode/l10n";
import "./ui/l10n";
import * as vscode from "vscode";
import { NoticeActions } from "./features/questions/noticeActions";
import { Approvals } from "./features/questions/approvals";
import { Conversation } from "./features/conversation/conversation";
import { Offers } from "./context/offers";
import type { ServerOffer, Skill } from "./wire/protocolStates";
import type { TypedCommand } from "./features/conversation/slashCommands";
import { PromptBox } from "./features/conversation/promptBox";
import { ConversationActions } from "./features/conversation/conversationActions";
import { ReviewCursor } from "./features/review/cursor";
import { registerCodeAnswers } from "./features/code/answers";
import { EditorTasks } from "./features/code/editorTasks";
import { decorateFiles } from "./features/review/decorations";
import { Diffs } from "./features/review/diffs";
import { followEditor } from "./features/review/followEditor";
import { isEditRow, ReviewProgress, type CheckRow, type EditRow } from "./features/review/editRows";
import { EditsView } from "./features/review/editsView";
import { registerTaskDocuments } from "./context/taskDocuments";
import { watchTerminals } from "./context/terminalCommands";
import { watchEditors } from "./context/editorContext";
import { registerHelp } from "./server/help";
import { adoptSessions } from "./features/sessions/adoption";
import { restoreSessions } from "./features/sessions/restore";
import { ChosenModels } from "./server/chosenModels";
import { BoxTerminals } from "./features/sessions/boxTerminals";
import { HostedAgents } from "./server/hostedAgents";
import { ErrorHelp } from "./server/errorHelp";
import { ModelAccess } from "./server/modelAccess";
import { ModelPicker } from "./server/modelPicker";
import { Notices } from "./features/questions/notices";
import { Checks } from "./features/plan/checks";
import { PlanEdits } from "./features/plan/planEdits";
import type {
  CommandNode,
  FileNode,
  PlanNode,
  RunningNode,
  StepNode,
  SubagentNode,
  WaitingNode,
} from "./features/plan/planNodes";
import { PlanView } from "./features/plan/planView";
import { Pages } from "./features/sessions/pages";
import { Prompts } from "./features/sessions/prompt";
import { hidesLens, InlineChanges } from "./features/review/inlineChanges";
import { ProposedFiles } from "./features/review/proposedFiles";
import { method, serverCommand, type ApproveParams, type AskParams, type DecideParams } from "./wire/protocol";
import { showProposedProblems } from "./features/review/problems";
import { Questions } from "./features/questions/questions";
import { watchForNotifications } from "./features/questions/systemNotifications";
import { Review } from "./features/review/review";
import { withKnownRow, type Commands } from "./ui/rowCommands";
import { Runs } from "./features/sessions/runs";
import { setUpModel } from "./server/modelSetup";
import { AgentServer } from "./server/server";
import { ToolServerSignIn } from "./server/toolServerSignIn";
import { answerRequest } from "./server/typedMessages";
import { exportConversation } from "./features/sessions/exports";
import { endRecording, exampleRecording, offerExample, openExample } from "./features/sessions/example";
import { Races } from "./features/sessions/races";
import { Rewinds } from "./features/sessions/rewinds";
import { Sessions } from "./features/sessions/sessions";
import type { SessionNode } from "./features/sessions/sessionRows";
import { SessionsView } from "./features/sessions/sessionsView";
import { NeededChangesSearch } from "./features/review/neededChanges";
import { SmallestSets } from "./features/review/smallestSets";
import { TogetherChecks } from "./features/review/togetherChecks";
import { DiffContents } from "./features/review/diffContents";
import { baseUri, proposedUri } from "./features/review/diffUris";
import { watchContextKeys } from "./features/status/contextKeys";
import { SpokenProgress } from "./features/status/spokenProgress";
import { showModelItem, showStatusItems } from "./features/status/status";
import { Store } from "./state/store";
import { ToolServers } from "./features/toolServers/toolServers";
import type { ServerNode } from "./features/toolServers/serverRows";
import { ToolServersView } from "./features/toolServers/toolServersView";
import { Terminals } from "./features/plan/terminals";
import { showInformation } from "./ui/show";

/** Where the files of the review are saved, so that the count goes on in the next window. */
const REVIEWED_KEY = "fairlead.reviewedFiles";
const WALKTHROUGH = "fairlead.fairlead#start";

let server: AgentServer | undefined;
const loadedAt = performance.now();

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel("Fairlead", { log: true });
  const store = new Store();
  const approvals = new Approvals(store, (params) => agent.request(method.tryRule, params));
  const questions = new Questions(store);
  const recording = (): string | undefined => exampleRecording(context.extensionPath);
  const agent = new AgentServer(context, store, log, recording, (client) => {
    answerRequest(client, method.approve, (params, token) => approvals.ask(params, token));
    answerRequest(client, method.ask, (params, token) => questions.ask(params, token));
    answerRequest(client, method.authorize, (params, token) => toolServerSignIn.authorize(params, token));
    answerRequest(client, method.terminalOutput, (params) => boxTerminals.show(params));
    answerRequest(client, method.enter, (params) => toolServerSignIn.enter(params));
    registerCodeAnswers(client);
  });
  const toolServerSignIn = new ToolServerSignIn(agent);
  const boxTerminals = new BoxTerminals(agent);
  const modelAccess = new ModelAccess(context.secrets, agent, () => recording() !== undefined, endRecording);
  const chosenModels = new ChosenModels(store, agent, modelAccess);
  const modelPicker = new ModelPicker(store, agent, modelAccess, chosenModels, () => setUp());
  const hostedAgents = new HostedAgents(store, agent, context.workspaceState, () => promptBox.mode);
  const errorHelp = new ErrorHelp(agent, modelAccess, modelPicker, (sessionId) =>
    hostedAgents.signIn(sessionId === undefined ? undefined : store.get(sessionId)?.hosted),
  );
  const setUp = (): Promise<void> => setUpModel(modelAccess, agent, errorHelp, () => conversation.isVisible);
  const isSeen = (sessionId: string): boolean => conversation.shows(sessionId);
  const notices: Notices = new Notices(store, (action) => noticeActions.perform(action), isSeen);
  const warm = (): void => {
    void agent.warm();
  };
  const serverOffers = new Offers(
    agent,
    async (params) => (await agent.request(method.toolServersOffers, params)).servers,
  );
  const skills = new Offers(agent, async (params) => (await agent.request(method.skillsList, params)).skills);
  const typedCommands = new Offers<TypedCommand>(agent, async (params) => [
    ...(await agent.request(method.skillsList, params)).skills,
    ...(await hostedAgents.commands()),
  ]);
  const offers = (): Promise<readonly ServerOffer[]> => serverOffers.soon(store.active?.id);
  const usableSkills = (): Promise<readonly Skill[]> => skills.of(store.active?.id);
  const prompts = new Prompts(context.workspaceState, offers, usableSkills, () => {
    warm();
    conversation.cancelFocus();
  });
  const runs = new Runs(store, agent, prompts, modelAccess, errorHelp, isSeen, serverOffers);
  const races: Races = new Races(store, agent, prompts, runs, (id) => diffs.openSession(id));
  const editorTasks = new EditorTasks((...task) => runs.runOn(...task));
  const noticeActions = new NoticeActions(store, approvals, questions, (id) => runs.continueRun(id));
  const restored = restoreSessions(context, agent, store);
  const diffContents = new DiffContents(store, agent, restored);
  const proposedFiles = new ProposedFiles(store, agent, diffContents);
  const diffs = new Diffs(store, context.workspaceState, restored, () => {
    // a view that the user has closed stays closed
    const view = editsView.isVisible ? "edits.focus" : conversation.isVisible ? "showConversation" : undefined;
    return vscode.commands.executeCommand(view ? `fairlead.${view}` : "workbench.action.focusActiveEditorGroup");
  });
  const review = new Review(store, agent);
  const reviewProgress = new ReviewProgress(
    context.workspaceState.get<readonly string[]>(REVIEWED_KEY, []),
    (files) => void context.workspaceState.update(REVIEWED_KEY, files),
  );
  const editsView: EditsView = new EditsView(store, reviewProgress);
  const inlineChanges = new InlineChanges(store, agent);
  const cursor = new ReviewCursor(store, review, diffs, inlineChanges, (uri) => approvals.confirm(uri));
  const sessions = new Sessions(store, agent, runs);
  const features = {
    notices: noticeActions,
    questions,
    approvals,
    runs,
    sessions,
    diffs,
  };
  const conversationActions = new ConversationActions(
    store,
    features,
    () => serverOffers.of(store.active?.id),
    () => typedCommands.of(store.active?.id),
  );
  const agentFiles = new Offers(agent, async (params) => (await agent.request(method.skillsList, params)).agents);
  const shownId = (): string | undefined => store.active?.id;
  const promptBox: PromptBox = new PromptBox(
    context.workspaceState,
    serverOffers,
    typedCommands,
    agentFiles,
    shownId,
    () => {
      warm();
      void hostedAgents.update();
    },
  );
  const rewinds = new Rewinds(
    store,
    agent,
    runs,
    () => sessions.showOther(),
    (prompt) => conversation.offer(prompt),
  );
  const conversation: Conversation = new Conversation(
    context.extensionUri,
    store,
    conversationActions,
    () => prompts.history,
    promptBox,
    chosenModels,
    hostedAgents,
    modelAccess,
    (session, prompt) => rewinds.rewind(session, prompt),
    {
      read: async (sessionId, file) => {
        const sides = [baseUri(sessionId, file), proposedUri(sessionId, file)];
        const [base, proposed] = await Promise.all(sides.map((uri) => diffContents.read(uri)));
        return [base?.text ?? "", proposed?.text ?? ""];
      },
      decide: async (decision, params) => {
        await review.decide(decision, params);
        await diffs.removeDecidedFiles();
      },
    },
  );
  const spokenProgress = new SpokenProgress(store, isSeen, (sessionId) => runs.stop(sessionId));
  conversation.onDidChangeVisibility(() => {
    notices.update();
    spokenProgress.update();
  });
  const pages = new Pages(store, agent, restored);
  const planEdits = new PlanEdits(store, agent);
  const terminals = new Terminals(store, agent);
  const checks = new Checks(store, agent, planEdits, terminals);
  const smallestSets = new SmallestSets(store, agent, review, diffs, (...question) => checks.choose(...question));
  const neededChanges = new NeededChangesSearch(store, agent, (...question) => checks.choose(...question));
  const togetherChecks = new TogetherChecks(store, agent, diffs);
  server = agent;

  const planView = new PlanView(store, planEdits, warm);
  const sessionsView = new SessionsView(store);
  const toolServers: ToolServers = new ToolServers(store, agent, () => toolServersView.isVisible);
  const toolServersView: ToolServersView = new ToolServersView(
    store,
    () => toolServers.list(),
    (node, isOn) => toolServers.switchTool(node, isOn),
  );
  const trees = [editsView, planView, sessionsView, toolServersView];
  const onUnknownRow = async (): Promise<void> => {
    for (const tree of trees) tree.refresh();
    await showInformation(t("That row just changed. Try again."));
  };
  const commands: Commands = {
    runTask: (prompt?: unknown) => runs.runTask(typeof prompt === "string" ? prompt : undefined),
    createRules: () => runs.createRules(),
    createSkill: () => runs.createSkill(),
    runTaskDocument: () => runs.runDocument(),
    completeMention: () => {
      prompts.completeMention();
    },
    followUp: () => runs.followUp(),
    race: () => races.race(),
    planFirst: () => runs.planFirst(),
    go: () => runs.go(),
    continueRun: (node?: Partial<WaitingNode>) => runs.continueRun(node?.sessionId),
    answer: () => noticeActions.openFirst(),
    ask: () => runs.sendQuestion(),
    runOnSelection: () => editorTasks.runOnSelection(),
    fixCommand: () => editorTasks.fixCommand(),
    explain: () => editorTasks.explain(),
    runOnFiles: (uri?: vscode.Uri, selected?: vscode.Uri[]) => runs.runOnFiles(selected ?? (uri ? [uri] : [])),
    stop: () => runs.stop(),
    tell: () => sessions.steer(),
    setApiKey: () => errorHelp.setKey(chosenModels.current, store.active?.id),
    setUpModel: setUp,
    openExample: () => openExample(context.extensionPath),
    showKeys: () =>
      vscode.commands.executeCommand("workbench.action.openGlobalKeybindings", `@ext:${context.extension.id}`),
    openSettings: () => vscode.commands.executeCommand("workbench.action.openSettings", `@ext:${context.extension.id}`),
    getStarted: () => vscode.commands.executeCommand("workbench.action.openWalkthrough", WALKTHROUGH),
    showConversation: () => conversation.show(),
    rewind: () => rewinds.pick(),
    find: () => conversation.find(),
    previousMessage: () => {
      conversation.jump(-1);
    },
    nextMessage: () => {
      conversation.jump(1);
    },
    goToMessage: () => conversation.goToMessage(),
    newSession: () => conversation.newSession(),
    findSession: () => sessions.find(),
    chooseAgent: () => hostedAgents.choose(),
    // a hosted agent has models of its own
    chooseModel: () => (store.hosted === "" ? modelPicker.choose() : hostedAgents.chooseOption()),
    signInAgent: () => hostedAgents.signIn(),
    openBoxTerminal: () => boxTerminals.open(),
    openConversation: () => {
      conversation.openEditor();
    },
    showPlanHistory: () => pages.showHistory(),
    copyRecord: () => pages.copyRecord(),
    copyRecordAsJson: () => pages.copyRecordAsJson(),
    exportConversation: () => exportConversation(store, agent, context.globalState),
    writeCommitMessage: (source?: Partial<vscode.SourceControl>) => pages.writeCommitMessage(source?.rootUri),
    showCosts: () => pages.showCosts(),
    showCommandRules: () => pages.showCommandRules(),
    showSkills: () => pages.showSkills(),
    showHooks: () => pages.showHooks(),
    reviewAll: () => diffs.openAll(),
    adoptSessions: () => adoptSessions(agent),
    addStep: (node?: Partial<PlanNode>) => planEdits.add(node),
    nextChange: () => cursor.goTo("next"),
    previousChange: () => cursor.goTo("previous"),
    acceptAll: () =>
      diffs.updateMultiDiffWhile(() => review.decideAll("accept", ({ id }) => checks.allowsAcceptAll(id))),
    rejectAll: () => diffs.updateMultiDiffWhile(() => review.decideAll("reject")),
    acceptFocused: () =>
      editsView.withFocused((row) => (row ? cursor.decideRow("accept", row, { advance: true }) : onUnknownRow())),
    rejectFocused: () =>
      editsView.withFocused((row) => (row ? cursor.decideRow("reject", row, { advance: true }) : onUnknownRow())),
    rejectFocusedWithReason: () =>
      editsView.withFocused((row) => (row ? cursor.rejectRowWithReason(row, { advance: true }) : onUnknownRow())),
    acceptActive: () => cursor.decideFile("accept"),
    rejectActive: () => cursor.decideFile("reject"),
    acceptShown: () => cursor.decideShown("accept"),
    rejectShown: () => cursor.decideShown("reject"),
    acceptHunk: () => cursor.decideHunk("accept"),
    rejectHunk: () => cursor.decideHunk("reject"),
    acceptThread: (thread: vscode.CommentThread) => cursor.decideThread("accept", thread),
    rejectThread: (thread: vscode.CommentThread) => cursor.decideThread("reject", thread),
    openThread: (thread: vscode.CommentThread) => cursor.openThread(thread),
    runCheck: (node?: Partial<StepNode>) => checks.run(node),
    checkWithoutChange: (node?: Partial<StepNode>) => checks.runWithoutChange(node),
    checkAccepted: () => checks.runOnAccepted(),
    findSmallestSet: () => smallestSets.find(),
    findNeededChanges: () => neededChanges.find(),
    checkTogether: () => togetherChecks.check(),
    acceptNeeded: () => smallestSets.accept(),
    undoReview: async (options?: vscode.TextDocumentShowOptions) => {
      const back = await cursor.undoOrRedo("undo", options?.preserveFocus);
      if (back && options?.preserveFocus) await editsView.focus(back);
    },
    redoReview: () => cursor.undoOrRedo("redo"),
    addToolServer: () => toolServers.add(),
    showToolServers: () => toolServers.show(),
    restartServer: () => agent.restart(),
    showLog: () => {
      log.show();
    },
  };
  const rowCommands: Commands = {
    showChange: (params: DecideParams) => diffs.openTarget(params),
    stopSession: ({ sessionId }: SessionNode) => runs.stop(sessionId),
    retryRun: ({ sessionId }: WaitingNode) => runs.retryFailed(sessionId),
    showSession: ({ sessionId }: Pick<SessionNode, "sessionId">) => sessions.show(sessionId),
    continueSession: (node?: SessionNode) => sessions.continueSession(node?.sessionId),
    renameSession: (node: SessionNode) => sessions.rename(node),
    renameFocusedSession: () => sessionsView.withFocused((node) => sessions.rename(node)),
    deleteSession: async (node: SessionNode) => {
      await sessions.delete(node);
      if (!store.get(node.sessionId)) await promptBox.setDraft(node.sessionId, "");
    },
    restartToolServer: (node?: ServerNode) => toolServers.restart(node),
    signInToToolServer: async (node?: ServerNode) => {
      await toolServerSignIn.signIn(node?.server.name);
      await toolServers.list();
    },
    showToolServerOutput: (node: ServerNode) => toolServers.showOutput(node),
    openToolServerDefinition: (node: ServerNode) => toolServers.openDefinition(node),
    removeToolServer: (node: ServerNode) => toolServers.remove(node),
    reviewStep: ({ sessionId, item }: StepNode) => diffs.openStepDiffs(sessionId, item.id, item.content),
    fix: (document: vscode.TextDocument, problems: vscode.Diagnostic[]) => editorTasks.fix(document, problems),
    showProblem: ({ sessionId, item }: StepNode) => diffs.openStepProblem(sessionId, item.id),
    openStepFile: ({ sessionId, uri, item }: FileNode) => diffs.openStepFile(sessionId, uri, item),
    showCommand: (node: CommandNode | RunningNode) => {
      terminals.show(node);
    },
    showSubagent: (call: { sessionId: string; callId: string }) => pages.showSubagent(call),
    stopSubagent: (node: SubagentNode) => sessions.stopSubagent(node),
    tellSubagent: (node: SubagentNode) => sessions.tellSubagent(node),
    stopCommand: (node: RunningNode) => terminals.stop(node),
    rewordStep: (step: StepNode) => planEdits.reword(step),
    rewordFocused: () => planView.withFocused((step) => planEdits.reword(step)),
    dropFocused: () => planView.withFocused((step) => planEdits.drop(step)),
    setCheck: (step: StepNode) => checks.setCheck(step),
    dropStep: (step: StepNode) => planEdits.drop(step),
    restoreStep: () => planEdits.restore(),
    holdStep: (step: StepNode) => planEdits.setHeld(step, true),
    releaseStep: (step: StepNode) => planEdits.setHeld(step, false),
    undoStep: ({ sessionId, item }: StepNode) => review.undoStep(sessionId, item.id, item.content),
    markStepDone: (step: StepNode) => planEdits.markDone(step),
    accept: (row: EditRow) => cursor.decideRow("accept", row),
    reject: (row: EditRow) => cursor.decideRow("reject", row),
    acceptProposed: (row: EditRow) => cursor.decideRow("accept", row, { resolution: "proposed" }),
    keepMine: (row: EditRow) => cursor.decideRow("reject", row),
    restoreProposed: (row: EditRow) => cursor.decideRow("accept", row, { resolution: "proposed" }),
    keepDeleted: (row: EditRow) => cursor.decideRow("reject", row),
    showCheck: ({ sessionId, result }: CheckRow) => {
      checks.showOutput(sessionId, result);
    },
    rejectWithReason: (row?: unknown) => (isEditRow(row) ? cursor.rejectRowWithReason(row) : cursor.rejectWithReason()),
    openDiff: (row: EditRow) =>
      row.kind === "file" || row.kind === "hunk"
        ? diffs.open(row.sessionId, row.file, row.kind === "hunk" ? row.hunk : undefined)
        : undefined,
    showApproval: ({ approval }: { approval: ApproveParams }) => approvals.showDialog(approval),
    allowCommand: ({ approval }: { approval: ApproveParams }) => approvals.choose(approval, "allow_once"),
    rejectCommand: ({ approval }: { approval: ApproveParams }) => approvals.choose(approval, "reject"),
    answerQuestion: ({ question }: { question: AskParams }) => {
      questions.open(question);
    },
  };
  for (const [name, run] of Object.entries({ ...commands, ...withKnownRow(rowCommands, onUnknownRow) })) {
    context.subscriptions.push(vscode.commands.registerCommand(`fairlead.${name}`, run));
  }
  // the client handles these commands itself: before an accept, it saves what the user typed in a diff; afterwards it
  // shows what failed
  agent.commandOverrides.set(serverCommand.accept, (params) =>
    cursor.decideFromCodeLens("accept", params as DecideParams),
  );
  agent.commandOverrides.set(serverCommand.reject, (params) =>
    cursor.decideFromCodeLens("reject", params as DecideParams),
  );
  agent.hidesLens = (document, params) => hidesLens(store, document, params as DecideParams);
  const offerExampleTask = (): void => {
    void offerExample(context.workspaceState, prompts);
  };
  offerExampleTask();
  log.info(`activated in ${(performance.now() - loadedAt).toFixed(1)} ms`);
  context.subscriptions.push(
    log,
    agent,
    diffContents,
    proposedFiles,
    diffs,
    conversation,
    conversationActions,
    inlineChanges,
    sessions,
    pages,
    terminals,
    notices,
    editorTasks,
    toolServers,
    ...trees,
    watchContextKeys(store),
    followEditor(store, cursor, inlineChanges, editsView),
    showStatusItems(store, () => reviewProgress.count(store.sessions)),
    chosenModels,
    hostedAgents,
    modelAccess,
    showModelItem(store, chosenModels, hostedAgents),
    spokenProgress,
    watchForNotifications(store),
    decorateFiles(store),
    showProposedProblems(store),
    vscode.workspace.onDidGrantWorkspaceTrust(offerExampleTask),
    vscode.workspace.onDidChangeWorkspaceFolders(() => void restoreSessions(context, agent, store)),
    registerHelp(),
    registerTaskDocuments(offers, usableSkills),
    watchEditors(),
    watchTerminals(),
  );
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}
