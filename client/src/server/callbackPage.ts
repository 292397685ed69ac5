// A page on this machine that the browser is sent back to after a sign-in.

import http from "node:http";
import type { AddressInfo } from "node:net";

const PATH = "/callback";

export interface CallbackPage {
  readonly url: string;
  /** Resolves with the address of the page that the browser has asked for, with its query. */
  readonly asked: Promise<string>;
  close(): void;
}

/** Opens the page. Only this machine reaches it. `text`: what the browser shows. */
export async function openCallbackPage(text: string): Promise<CallbackPage> {
  let resolve: (url: string) => void = () => undefined;
  const asked = new Promise<string>((done) => {
    resolve = done;
  });
  const server = http.createServer((request, response) => {
    const [path, query = ""] = (request.url ?? "").split("?");
    if (request.method !== "GET" || path !== PATH) {
      response.writeHead(404, { connection: "close" }).end();
      return;
    }
    response.writeHead(200, {
      "content-type": "text/plain; charset=utf-8",
      "referrer-policy": "no-referrer",
      connection: "close",
    });
    response.end(text);
    resolve(`${url}?${query}`);
  });
  await new Promise<void>((done, fail) => {
    server.once("error", fail).listen(0, "127.0.0.1", done);
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${PATH}`;
  return { url, asked, close: () => void server.close() };
}
