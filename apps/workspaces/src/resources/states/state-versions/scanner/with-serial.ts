import type { Readable } from 'node:stream';
import { NoState } from './parse-state';
import { StateReader } from './state-reader';

/**
 * The bytes of a state with another serial, otherwise unchanged. The state is opened twice, to find the position and to
 * copy it, and is never completely in memory. A state without a serial does not change.
 */
export async function* withSerial(
  open: () => Promise<Readable | undefined>,
  serial: bigint,
): AsyncGenerator<Uint8Array> {
  const range = await findSerial(await open());
  const stream = await open();
  if (!stream) return;
  let at = 0;
  for await (const piece of stream as AsyncIterable<Buffer>) {
    const end = at + piece.length;
    if (range === undefined || end <= range.from || at >= range.to) {
      yield piece;
    } else {
      if (at <= range.from) {
        yield piece.subarray(0, range.from - at);
        yield Buffer.from(String(serial));
      }
      if (end > range.to) yield piece.subarray(range.to - at);
    }
    at = end;
  }
}

async function findSerial(stream: Readable | undefined): Promise<{ from: number; to: number } | undefined> {
  const reader = new StateReader();
  try {
    for await (const piece of stream ?? []) {
      reader.write(piece as Buffer);
      // Leaving the loop closes the stream.
      if (reader.serialAt) break;
    }
  } catch (error) {
    if (!(error instanceof NoState)) throw error;
  }
  return reader.serialAt;
}
