import assert from "node:assert/strict";
import { test } from "node:test";
import { proxyVariables } from "../src/server/proxy";

const PROXY = "http://user:secret@proxy.corp:8080";
const LOCAL = "localhost,127.0.0.1,::1";
const settings = { proxy: PROXY, proxySupport: "override", noProxy: [], isFromElsewhere: false };

const CASES = {
  "the proxy is for both kinds of address": {
    settings,
    wanted: { http_proxy: PROXY, https_proxy: PROXY, no_proxy: LOCAL },
  },
  "its exceptions are a list": {
    settings: { ...settings, noProxy: [".corp", "10.0.0.1"] },
    wanted: { http_proxy: PROXY, https_proxy: PROXY, no_proxy: `${LOCAL},.corp,10.0.0.1` },
  },
  "without a proxy there are no exceptions": { settings: { ...settings, proxy: "", noProxy: [".corp"] }, wanted: {} },
  "spaces around it do not matter": {
    settings: { ...settings, proxy: ` ${PROXY} ` },
    wanted: { http_proxy: PROXY, https_proxy: PROXY, no_proxy: LOCAL },
  },
  "a value of the wrong type counts as none": {
    settings: { ...settings, noProxy: "localhost,.corp" },
    wanted: { http_proxy: PROXY, https_proxy: PROXY, no_proxy: LOCAL },
  },
  "null is no proxy": { settings: { ...settings, proxy: null }, wanted: {} },
  "it counts if the settings come from another machine": {
    settings: { ...settings, isFromElsewhere: true },
    wanted: { http_proxy: PROXY, https_proxy: PROXY, no_proxy: LOCAL },
  },
  "it does not count if it is on the localhost of another machine": {
    settings: { ...settings, proxy: "http://127.0.0.1:7890", isFromElsewhere: true },
    wanted: {},
  },
  "it does not count if it is off": { settings: { ...settings, proxySupport: "off" }, wanted: {} },
  "it does not count if it speaks SOCKS": { settings: { ...settings, proxy: "socks5://proxy.corp:1080" }, wanted: {} },
  "it does not count if it is not an address": { settings: { ...settings, proxy: "http://" }, wanted: {} },
  "a variable in capital letters wins": {
    settings,
    environment: { HTTPS_PROXY: "http://other:1" },
    wanted: { http_proxy: PROXY, no_proxy: LOCAL },
  },
  "a variable in small letters wins": {
    settings,
    environment: { https_proxy: "http://other:1", http_proxy: "http://other:1" },
    wanted: {},
  },
  "a variable for all addresses wins": { settings, environment: { ALL_PROXY: "http://other:1" }, wanted: {} },
  "the exceptions of the environment win": {
    settings: { ...settings, noProxy: [".corp"] },
    environment: { NO_PROXY: "intranet" },
    wanted: { http_proxy: PROXY, https_proxy: PROXY },
  },
  "an empty variable counts as none": {
    settings,
    environment: { HTTP_PROXY: "", https_proxy: " " },
    wanted: { http_proxy: PROXY, https_proxy: PROXY, no_proxy: LOCAL },
  },
};

for (const [name, { settings: given, wanted, ...rest }] of Object.entries(CASES)) {
  test(`the proxy of VS Code: ${name}`, () => {
    assert.deepEqual(proxyVariables(given, "environment" in rest ? rest.environment : {}), wanted);
  });
}
