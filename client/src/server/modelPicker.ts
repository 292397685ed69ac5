// The model picker: lets the user choose the model of the shown session, or of new ones, from what the servers list.

import { t } from "@vscode/l10n";
import * as vscode from "vscode";
import type { Store } from "../state/store";
import { method, type ModelsResult, type TryResult } from "../wire/protocol";
import type { ChosenModel } from "../wire/protocolStates";
import { effortLabel } from "../ui/modelTexts";
import { askForText, pick, pickBox, showBriefly, showRows, type PickButton, type PickTexts } from "../ui/show";
import type { ChosenModels } from "./chosenModels";
import { messageOf, showFailure } from "./errors";
import type { ModelAccess } from "./modelAccess";
import { effortChoices, modelNameProblem, pickerRows, type ModelRow, type PickerRow } from "./modelRows";
import type { AgentServer } from "./server";
import { endpointTitle } from "./settings";

const TITLE = t("Agent: Choose Model");
/** The search in the settings editor for the settings that decide which model answers. */
const MODEL_SETTINGS = "@id:fairlead.model,fairlead.effort,fairlead.endpoint,fairlead.endpoints,fairlead.baseUrl";
const ICONS: Readonly<Record<PickerRow["kind"], string>> = {
  heading: "",
  model: "blank", // in line with the others
  key: "key",
  problem: "warning",
  endpoint: "add",
  other: "edit",
  effort: "dashboard",
  settings: "gear",
};

interface ShownRow extends PickTexts {
  readonly row: PickerRow;
}

/** A model to use. Without an effort, that of the settings applies; an empty one is the model's default. */
export type Selection = Pick<ChosenModel, "endpoint" | "model"> & Partial<Pick<ChosenModel, "effort">>;

/** What a small request to a model showed; undefined while it has no answer. */
type Tried = Pick<TryResult, "works" | "message"> | undefined;

export class ModelPicker {
  /** What the server listed last. Shown at once, until it has answered again. */
  private listed: ModelsResult["endpoints"] = [];

  constructor(
    private readonly store: Store,
    private readonly server: AgentServer,
    private readonly access: ModelAccess,
    private readonly models: ChosenModels,
    private readonly setUp: () => Promise<void>,
  ) {}

  /**
   * Lets the user choose. Shows why if it fails. `isRefreshed`: servers are asked again that were asked before. Returns
   * whether the user chose a model or an effort.
   */
  async choose(isRefreshed = false): Promise<boolean> {
    try {
      const row = await this.pickRow(isRefreshed);
      return row !== undefined && (await this.perform(row));
    } catch (error) {
      showFailure(error);
      return false;
    }
  }

  private async perform(row: PickerRow): Promise<boolean> {
    const { current } = this.models;
    switch (row.kind) {
      case "model": {
        const { endpoint, model, efforts } = row;
        if (efforts.length === 0) return this.use({ endpoint, model });
        const effort = await this.pickEffort(row, efforts);
        return effort !== undefined && this.use({ endpoint, model, effort });
      }
      case "effort": {
        const levels = this.effortsOf(current);
        const effort = await this.pickEffort(current, levels);
        return effort !== undefined && this.use({ ...current, effort });
      }
      case "other": {
        const model = await askModel(current.endpoint, current.model);
        return model !== "" && this.use({ ...current, model });
      }
      case "key":
        return (await this.access.setApiKey(row.endpoint)) !== undefined && this.chooseAgain();
      case "problem":
        return this.solve(row.endpoint, row.detail ?? "");
      case "endpoint":
        await this.setUp();
        return false;
      case "settings":
        await vscode.commands.executeCommand("workbench.action.openSettings", MODEL_SETTINGS);
        return false;
      case "heading":
        return false;
    }
  }

  private async chooseAgain(): Promise<boolean> {
    await this.server.sendApiKey();
    return this.choose(true);
  }

  /** Offers what may help if the server of an endpoint could not list its models. */
  private async solve(endpoint: string, problem: string): Promise<boolean> {
    const again = { label: t("Ask Again"), icon: "refresh" };
    const key = { label: t("Set Key..."), icon: "key" };
    const name = { label: t("Type the Model's Name..."), icon: "edit" };
    const settings = { label: t("Model Settings"), icon: "gear" };
    const placeholder = t("The models could not be listed");
    const texts = { title: endpointTitle(endpoint), placeholder, prompt: problem };
    const chosen = await pick([again, key, name, settings], texts);
    if (chosen === again || (chosen === key && (await this.access.setApiKey(endpoint)))) return this.chooseAgain();
    if (chosen === settings) await vscode.commands.executeCommand("workbench.action.openSettings", MODEL_SETTINGS);
    if (chosen !== name) return false;
    const model = await askModel(endpoint);
    return model !== "" && this.use({ endpoint, model });
  }

  /** Asks for a level of effort. Returns undefined if the user closes the box. */
  private async pickEffort(
    { endpoint, model, effort }: ChosenModel,
    levels: readonly string[],
  ): Promise<string | undefined> {
    const rows = effortChoices(levels, effort).map((level) => {
      return { label: effortLabel(level), icon: level === effort ? "check" : "blank", level };
    });
    const placeholder = t("How much {0} thinks, if it supports this", model || endpointTitle(endpoint));
    return (await pick(rows, { title: TITLE, placeholder }))?.level;
  }

  private effortsOf({ endpoint, model }: ChosenModel): readonly string[] {
    const group = this.listed.find(({ name }) => name === endpoint);
    return group?.models.find(({ name }) => name === model)?.efforts ?? [];
  }

  /** Makes it the model of a session, by default the shown one; without a session, that of new ones. Returns true. */
  async use(selection: Selection, sessionId = this.sessionId): Promise<true> {
    if (sessionId === undefined) {
      await this.makeDefault(selection);
      return true;
    }
    await this.server.ensurePackages(selection.endpoint);
    const { model } = await this.server.request(method.chooseModel, { ...selection, sessionId });
    showBriefly(t("The next task of this session uses {0}.", model || endpointTitle(selection.endpoint)));
    return true;
  }

  /** Writes the model to the user's settings. */
  async makeDefault({ endpoint, model, effort }: Selection): Promise<void> {
    const byDefault = await this.server.request(method.chooseModel, {});
    const settings = vscode.workspace.getConfiguration("fairlead");
    // the base URL belongs to the endpoint that was configured until now
    const moved = endpoint === byDefault.endpoint ? {} : { endpoint, baseUrl: undefined };
    const changes = {
      ...moved,
      model,
      ...(effort === undefined || effort === settings.get("effort") ? {} : { effort: effort || undefined }),
    };
    for (const [name, value] of Object.entries(changes))
      await settings.update(name, value, vscode.ConfigurationTarget.Global);
    await this.server.ensurePackages(endpoint);
    showBriefly(t("New sessions use {0}.", model || endpointTitle(endpoint)));
  }

  /** The shown session, if the server has it; undefined: the choice is for new sessions. */
  private get sessionId(): string | undefined {
    const { active } = this.store;
    return active?.row && !active.row.openElsewhere ? active.id : undefined;
  }

  /** What is known before the server answers: what it listed last, and the models of the sessions. */
  private get known(): ModelsResult {
    const recent = this.store.listed.flatMap(({ row }) => row?.model ?? []);
    return { endpoints: this.listed, chosen: this.models.current, recent };
  }

  /** Shows the list, and keeps it open while models are tried. Returns the row that the user chooses, if any. */
  private pickRow(isRefreshed: boolean): Promise<PickerRow | undefined> {
    const { sessionId } = this;
    const placeholder =
      sessionId === undefined
        ? t("Choose the model of new sessions.")
        : t("Choose the model for the next task of this session.");
    const refresh = { icon: "refresh", tooltip: t("Ask the Servers Again"), press: () => void load(true) };
    const box = pickBox<ShownRow>({ title: TITLE, placeholder }, [refresh]);
    const tried = new Map<string, Tried>();
    let shown = this.known;
    let pending = 0;
    const draw = (): void => {
      const rows = pickerRows(shown).map((row) => shownRow(row, tried, buttonsOf(row)));
      showRows(box, rows, (one, other) => isSame(one.row, other.row));
    };
    const whileBusy = async (work: () => Promise<void>): Promise<void> => {
      pending += 1;
      box.busy = true;
      try {
        await work();
      } finally {
        pending -= 1;
        box.busy = pending > 0;
      }
    };
    const load = (asksAgain: boolean): Promise<void> =>
      whileBusy(async () => {
        try {
          const about = sessionId === undefined ? {} : { sessionId };
          // at once what is known, then what the servers answer
          for (const given of [{ ask: [] }, { refresh: asksAgain }]) {
            shown = await this.server.request(method.models, { ...about, ...given });
            this.listed = shown.endpoints;
            draw();
          }
        } catch (error) {
          box.hide();
          showFailure(error);
        }
      });
    const tryModel = (row: ModelRow): Promise<void> =>
      whileBusy(async () => {
        tried.set(keyOf(row), undefined);
        draw();
        tried.set(keyOf(row), await this.try(row));
        draw();
      });
    const buttonsOf = (row: PickerRow): PickButton[] => {
      if (row.kind !== "model") return [];
      const selection = { endpoint: row.endpoint, model: row.model, effort: row.isChosen ? row.effort : "" };
      const makeDefault = (): void => void this.makeDefault(selection).catch(showFailure);
      return [
        { icon: "beaker", tooltip: t("Try with a Small Request"), press: () => void tryModel(row) },
        { icon: "pin", tooltip: t("Make It the Default"), press: makeDefault },
      ];
    };
    Object.assign(box, { matchOnDescription: true, keepScrollPosition: true });
    draw();
    box.show();
    void load(isRefreshed);
    return new Promise((resolve) => {
      box.onDidAccept(() => {
        resolve(box.selectedItems[0]?.row.row);
        box.hide();
      });
      box.onDidHide(() => {
        resolve(undefined);
        box.dispose();
      });
    });
  }

  private async try({ endpoint, model, effort }: ModelRow): Promise<Tried> {
    try {
      await this.server.ensurePackages(endpoint);
      return await this.server.request(method.tryModel, { endpoint, model, ...(effort !== "" && { effort }) });
    } catch (error) {
      return { works: false, message: messageOf(error) };
    }
  }
}

/** Asks for the name of a model of an endpoint. Returns an empty text if the user closes the box. */
async function askModel(endpoint: string, value = ""): Promise<string> {
  const prompt = t("The model's name, as {0} knows it.", endpointTitle(endpoint));
  return (await askForText({ title: TITLE, prompt }, { value, problem: modelNameProblem }))?.trim() ?? "";
}

function shownRow(row: PickerRow, tried: ReadonlyMap<string, Tried>, buttons: readonly PickButton[]): ShownRow {
  const isTried = row.kind === "model" && tried.has(keyOf(row));
  const result = tried.get(keyOf(row));
  const ownIcon = row.kind === "model" && row.isChosen ? "check" : ICONS[row.kind];
  return {
    ...row,
    row,
    buttons,
    isHeading: row.kind === "heading",
    icon: !isTried ? ownIcon : !result ? "loading~spin" : result.works ? "pass" : "error",
    ...(isTried && { detail: result?.message ?? t("Waiting for the answer...") }),
  };
}

const isSame = (one: PickerRow, other: PickerRow): boolean =>
  keyOf(one) === keyOf(other) && ("isRecent" in one && one.isRecent) === ("isRecent" in other && other.isRecent);

const keyOf = (row: PickerRow): string =>
  row.kind === "model" ? `${row.endpoint} ${row.model}` : `${row.kind} ${"endpoint" in row ? row.endpoint : row.label}`;
