// Sends and receives the messages of the protocol with the types of their methods.

import type { CancellationToken } from "vscode";
import type {
  DidChangeConfigurationParams,
  LanguageClient,
  TextDocumentContentParams,
  TextDocumentContentResult,
} from "vscode-languageclient/node";
import type * as wire from "../wire/protocol";

/** The requests to the server: those of the protocol, and those of LSP that the language client does not send. */
export interface ClientRequests extends wire.ClientRequests {
  readonly "workspace/textDocumentContent": { params: TextDocumentContentParams; result: TextDocumentContentResult };
}

/** The same for notifications. */
export interface ClientNotifications extends wire.ClientNotifications {
  readonly "workspace/didChangeConfiguration": DidChangeConfigurationParams;
}

export function sendRequest<Name extends keyof ClientRequests>(
  client: LanguageClient,
  name: Name,
  params: ClientRequests[Name]["params"],
  token?: CancellationToken,
): Promise<ClientRequests[Name]["result"]> {
  return token ? client.sendRequest(name, params, token) : client.sendRequest(name, params);
}

export function onNotification<Name extends keyof wire.ServerNotifications>(
  client: LanguageClient,
  name: Name,
  handle: (params: wire.ServerNotifications[Name]) => void,
): void {
  client.onNotification(name, handle);
}

export function answerRequest<Name extends keyof wire.ServerRequests>(
  client: LanguageClient,
  name: Name,
  answer: (
    params: wire.ServerRequests[Name]["params"],
    token: CancellationToken,
  ) => Promise<wire.ServerRequests[Name]["result"]>,
): void {
  client.onRequest(name, answer);
}
