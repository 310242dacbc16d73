// Encrypts short texts with AES-256-GCM, so that only whoever has the key can read or make them.

import { createCipheriv, createDecipheriv } from "node:crypto";

const cipher = "aes-256-gcm";
export const ivBytes = 12;
const tagBytes = 16;

/** `context` is needed to decrypt, and is not in the result. No `iv` may be used for two different texts. */
export function encrypt(key: Buffer, context: Buffer, text: string, iv: Buffer): string {
  const encryption = createCipheriv(cipher, key, iv).setAAD(context);
  const bytes = Buffer.concat([encryption.update(text), encryption.final()]);
  return Buffer.concat([iv, encryption.getAuthTag(), bytes]).toString("base64url");
}

/** Returns undefined when it was encrypted with another key or context, or was changed. */
export function decrypt(key: Buffer, context: Buffer, encrypted: string): string | undefined {
  const bytes = Buffer.from(encrypted, "base64url");
  // The decoder skips what it does not know, so that several texts would mean the same bytes.
  if (bytes.length <= ivBytes + tagBytes || bytes.toString("base64url") !== encrypted)
    return undefined;
  const decryption = createDecipheriv(cipher, key, bytes.subarray(0, ivBytes))
    .setAAD(context)
    .setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
  try {
    const text = decryption.update(bytes.subarray(ivBytes + tagBytes));
    return Buffer.concat([text, decryption.final()]).toString();
  } catch {
    return undefined;
  }
}
