// The HTML of the conversation's webview. It loads only its own script and style sheet; pictures are embedded. Pure.

interface Sources {
  readonly script: string;
  /** The script that colors code, which the page loads when it shows code. */
  readonly codeScript: string;
  readonly style: string;
  /** The source from which VS Code serves the extension's files, for the content security policy. */
  readonly cspSource: string;
  readonly nonce: string;
  /** The display language; English if it is absent. */
  readonly language?: string;
  /** The translations into that language, by their English texts. */
  readonly texts?: Record<string, string>;
}

export function pageHtml({
  script,
  codeScript,
  style,
  cspSource,
  nonce,
  language = "en",
  texts = {},
}: Sources): string {
  const policy = `default-src 'none'; style-src ${cspSource}; script-src 'nonce-${nonce}'; img-src data:`;
  return `<!DOCTYPE html>
<html lang="${language}" data-texts="${attribute(JSON.stringify(texts))}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Conversation</title>
<link rel="stylesheet" href="${style}">
</head>
<body>
<main id="conversation"></main>
<script nonce="${nonce}" src="${script}" data-code="${attribute(codeScript)}"></script>
</body>
</html>
`;
}

function attribute(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
}
