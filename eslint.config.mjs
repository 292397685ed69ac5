import js from "@eslint/js";
import { defineConfig, globalIgnores } from "eslint/config";
import globals from "globals";
import typescript from "typescript-eslint";

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
    files: ["client/src/**"],
    ignores: ["client/src/ui/showMessage.ts"],
    rules: {
      "no-restricted-syntax": [
        "error",
        {
          selector: "MemberExpression[property.name=/^show(Information|Warning|Error)Message$/]",
          message: "Use ui/showMessage.ts: links in the text would work.",
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
