// Pictures that the user pastes into the prompt or drops on it: their bytes as base64, and a small version for their
// chip.

import { t } from "@vscode/l10n";
import { MAX_PICTURE, type Intention } from "../messages";

/** The maximum size of a picture in a chip, in physical pixels: two per CSS pixel. */
const MAX_HEIGHT = 40;
const MAX_WIDTH = 80;

type AddPicture = Extract<Intention, { kind: "addPicture" }>;

/** Reads a picture from a file. Returns a text for the user if the file cannot be sent. */
export async function readPicture(file: File): Promise<AddPicture | string> {
  if (file.size > MAX_PICTURE) return t("{0} is too large. The limit for a picture is 5 MB.", file.name);
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (!isPicture(bytes))
    return t("{0} is not a picture that the model can read. Use PNG, JPEG, GIF or WebP.", file.name);
  return { kind: "addPicture", name: file.name, data: base64(bytes), thumbnail: await thumbnail(file) };
}

/** Whether the bytes begin like those of a picture that models can read. The server checks this too. */
export function isPicture(bytes: Uint8Array): boolean {
  const start = String.fromCharCode(...bytes.subarray(0, 12));
  const signatures = ["\x89PNG\r\n\x1a\n", "\xff\xd8\xff", "GIF87a", "GIF89a"];
  return signatures.some((each) => start.startsWith(each)) || /^RIFF[^]{4}WEBP/.test(start);
}

export function base64(bytes: Uint8Array): string {
  const parts: string[] = [];
  for (let start = 0; start < bytes.length; start += 0x8000)
    parts.push(String.fromCharCode(...bytes.subarray(start, start + 0x8000)));
  return btoa(parts.join(""));
}

/** Returns a small version as a `data:` URL; an empty text if the picture cannot be drawn. */
async function thumbnail(file: File): Promise<string> {
  let picture: ImageBitmap;
  try {
    picture = await createImageBitmap(file);
  } catch {
    return "";
  }
  const scale = Math.min(1, MAX_HEIGHT / picture.height, MAX_WIDTH / picture.width);
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(picture.width * scale));
  canvas.height = Math.max(1, Math.round(picture.height * scale));
  canvas.getContext("2d")?.drawImage(picture, 0, 0, canvas.width, canvas.height);
  picture.close();
  return canvas.toDataURL("image/png");
}
