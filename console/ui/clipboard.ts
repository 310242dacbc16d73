// Copies text to the clipboard, and says so.

import { tellDone, tellFailure } from "../state/notices.ts";

export async function copyText(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    tellDone(`Copied ${what}.`);
  } catch {
    tellFailure(new Error("The browser does not allow this page to use the clipboard."));
  }
}
