import { invalid } from '@keystead/jsonapi';
import { JsonScanner, NotJson } from './json-scanner';

/**
 * The same bytes, in memory that does not grow with them. Throws `invalid` for `field` where they turn out to be no JSON
 * object; nothing that was made of them may count before the end.
 */
export async function* jsonObject(source: AsyncIterable<Uint8Array>, field: string): AsyncGenerator<Uint8Array> {
  let isObject = false;
  const scanner = new JsonScanner({
    deepest: 0,
    key: () => undefined,
    begin: (depth, kind) => {
      if (depth === 0) isObject = kind === 'object';
      return 0;
    },
    end: () => undefined,
  });
  try {
    for await (const piece of source) {
      scanner.write(piece);
      yield piece;
    }
    scanner.end();
  } catch (error) {
    if (!(error instanceof NotJson)) throw error;
    isObject = false;
  }
  if (!isObject) throw invalid(field, 'must be a JSON object');
}
