// The HTML of the conversation's webview. It loads nothing but its own script and style sheet. Pure.

interface Sources {
  readonly script: string;
  readonly style: string;
  /** What VS Code serves the extension's files from, for the content security policy. */
  readonly cspSource: string;
  readonly nonce: string;
}

export function pageHtml({ script, style, cspSource, nonce }: Sources): string {
  const policy = `default-src 'none'; style-src ${cspSource}; script-src 'nonce-${nonce}'`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Conversation</title>
<link rel="stylesheet" href="${style}">
</head>
<body>
<main id="conversation"></main>
<script nonce="${nonce}" src="${script}"></script>
</body>
</html>
`;
}
