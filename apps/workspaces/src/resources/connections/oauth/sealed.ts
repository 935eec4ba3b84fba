import type { Keyring } from '@keystead/keyring';

/** A secret string in its stored form; null and undefined are unchanged. */
export function sealedBytes(
  keyring: Keyring,
  table: string,
  row: string,
  column: string,
  text: string | null | undefined,
): Uint8Array<ArrayBuffer> | null | undefined {
  if (text === null || text === undefined) return text;
  return new Uint8Array(keyring.seal(Buffer.from(text, 'utf8'), { table, row, column }));
}
