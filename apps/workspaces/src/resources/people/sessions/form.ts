import { Refusal } from '@keystead/refusal';

/** Reads a form from an unread body. Throws `too-large`. */
export async function readForm(
  stream: AsyncIterable<Uint8Array> | undefined,
  mostBytes: number,
): Promise<URLSearchParams> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of stream ?? []) {
    size += piece.length;
    if (size > mostBytes) throw new Refusal('too-large', 'the form is too large');
    pieces.push(piece);
  }
  return new URLSearchParams(Buffer.concat(pieces).toString('utf8'));
}
