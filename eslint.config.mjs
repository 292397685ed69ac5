import fs from "node:fs";
import js from "@eslint/js";
import { defineConfig, globalIgnores } from "eslint/config";
import globals from "globals";
import typescript from "typescript-eslint";

/** The functions of VS Code that show a text. */
const SHOWING = [
  "show(Information|Warning|Error)Message",
  "(show|create)(QuickPick|InputBox)",
  "setStatusBarMessage",
  "createStatusBarItem",
  "createTerminal",
  "createTreeView",
  "registerTreeDataProvider",
  "createCommentController",
  "createTextEditorDecorationType",
  "registerHoverProvider",
  "registerInlayHintsProvider",
  "withProgress",
];
/** The classes of VS Code that contain a text. */
const TEXTS = [
  "TreeItem",
  "MarkdownString",
  "Hover",
  "CodeLens",
  "Diagnostic",
  "CompletionItem",
  "InlayHint",
  "QuickInputButton",
];

/** Two words, or a tag: what a text of the server contains. */
const PROSE = String.raw`/[A-Za-z]{2,} [A-Za-z]{2,}|^\^?<\(?\w/`;

/** The layers of the client, the lowest first. A layer imports only those below it. */
const LAYERS = ["wire", "state", "ui", "server", "context", "features"];
const FEATURES = fs.readdirSync(new URL("client/src/features", import.meta.url));

/** Forbids the imports of a layer whose path, which is relative, matches one of the patterns. */
const layerRule = (layer) => {
  const above = [...LAYERS.slice(LAYERS.indexOf(layer) + 1).map((name) => `${name}/`), "extension$"];
  const patterns = [
    {
      regex: `^\\..*/(${above.join("|")})`,
      message: `${layer}/ imports only the layers below it: move down what both need, or pass it in (ARCHITECTURE.md).`,
    },
  ];
  if (layer === "features")
    patterns.push({
      regex: `^\\.\\./(.*/)?(${FEATURES.join("|")})/`,
      message: "A feature imports no other feature: move down what both need, or let the extension pass it in.",
    });
  if (layer === "wire" || layer === "state")
    patterns.push({ regex: "^vscode$", message: `${layer}/ is tested without VS Code.` });
  return { files: [`client/src/${layer}/**`], rules: { "no-restricted-imports": ["error", { patterns }] } };
};

export default defineConfig(
  globalIgnores([".venv/", ".build/", "dist/", "server/", "**/scenarios/", "**/goldens/", "**/fixtures/"]),
  js.configs.recommended,
  {
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      eqeqeq: "error",
      "no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      "no-var": "error",
      "prefer-const": "error",
    },
  },
  { files: ["**/*.mjs"], languageOptions: { globals: globals.node } },
  { files: ["tests/editor/**", "benchmarks/editor/**"], languageOptions: { globals: globals.browser } },
  {
    files: ["client/**/*.ts"],
    extends: [typescript.configs.strictTypeChecked, typescript.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      // Every promise is awaited or handled, so that errors reach the user.
      "@typescript-eslint/no-floating-promises": "error",
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
    },
  },
  {
    // Every text that VS Code shows goes through one module, which knows what each surface makes of a text.
    files: ["client/src/**"],
    ignores: ["client/src/ui/show.ts", "client/src/features/conversation/webview/**"],
    rules: {
      "no-restricted-syntax": [
        "error",
        {
          selector: `MemberExpression[property.name=/^(${SHOWING.join("|")})$/]`,
          message: "Use ui/show.ts: links, icons or hidden characters in a text would work.",
        },
        {
          selector: `NewExpression > MemberExpression.callee[object.name='vscode'][property.name=/^(${TEXTS.join("|")})$/]`,
          message: "Use ui/show.ts: links, icons or hidden characters in a text would work.",
        },
        {
          selector:
            "AssignmentExpression > MemberExpression.left[property.name=/^(description|message|tooltip|badge|detail)$/]",
          message: "Use ui/show.ts: the text may hide a part of itself.",
        },
        {
          selector: "Literal[value=/^vscode\\.(diff|changes)$/]",
          message: "Use ui/show.ts: the title may hide a part of itself.",
        },
        ...[
          `Literal[regex.pattern=${PROSE}]`,
          `CallExpression[callee.property.name=/^(startsWith|endsWith|includes|indexOf|split)$/] > Literal[value=${PROSE}]`,
          `BinaryExpression[operator=/^[!=]==$/] > Literal[value=${PROSE}]`,
        ].map((selector) => ({ selector, message: "Ask for a kind on the wire instead of recognizing a text." })),
      ],
    },
  },
  ...LAYERS.map(layerRule),
  {
    // In the webview, text becomes HTML in one module, which removes what is not allowed.
    files: ["client/src/features/conversation/webview/**"],
    ignores: ["client/src/features/conversation/webview/markdown.ts"],
    rules: {
      "no-restricted-syntax": [
        "error",
        {
          selector: "MemberExpression[property.name=/^(innerHTML|outerHTML|insertAdjacentHTML|srcdoc|write)$/]",
          message: "Use elements.ts or markdown.ts: the text would become HTML.",
        },
      ],
    },
  },
  {
    files: ["client/test/**"],
    rules: {
      "@typescript-eslint/no-floating-promises": [
        "error",
        { allowForKnownSafeCalls: [{ from: "package", name: "test", package: "node:test" }] },
      ],
      // The test states the type of a golden.
      "@typescript-eslint/no-unnecessary-type-parameters": "off",
    },
  },
);
