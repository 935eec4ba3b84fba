/** Bytes in base64. */
export function base64Of(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

/** A string in base64, as UTF-8. */
export const base64OfText = (text: string): string => base64Of(new TextEncoder().encode(text));

/** The bytes of base64, whose line breaks are ignored; undefined if it is malformed. */
export function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  const text = base64.replace(/\s+/g, '');
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined;
  try {
    return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** Decodes bytes as UTF-8. Undefined if they are not valid UTF-8. */
export function utf8Of(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
