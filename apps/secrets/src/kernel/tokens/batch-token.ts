import type { Barrier } from '../storage/types';
import type { TokenRecord } from './types';

/** Batch tokens are not stored: they contain all their data, encrypted. */
const CELL = { table: 'token', row: 'batch', column: 'blob' };
const PREFIX = 'b.';

export const isBatchToken = (token: string): boolean => token.startsWith(PREFIX);

type Carried = Omit<
  TokenRecord,
  'hash' | 'key' | 'type' | 'accessor' | 'parentHash' | 'usesLeft' | 'authenticatedAtMs'
> & {
  readonly parent?: string;
  /** Batch tokens of earlier versions have none. */
  readonly authenticatedAtMs?: number;
};

/** The text of a batch token. */
export function writeBatchToken(barrier: Barrier, token: Omit<TokenRecord, 'hash' | 'key'>): string {
  const { type: _, accessor: __, parentHash, usesLeft: ___, ...rest } = token;
  const carried: Carried = { ...rest, parent: parentHash?.toString('base64') };
  return PREFIX + barrier.sealJson(carried, CELL).toString('base64url');
}

/** Reads a batch token; undefined if it is not ours. */
export function readBatchToken(barrier: Barrier, text: string): Omit<TokenRecord, 'hash' | 'key'> | undefined {
  const blob = Buffer.from(text.slice(PREFIX.length), 'base64url');
  let carried: Carried;
  try {
    carried = barrier.openJson<Carried>(blob, CELL);
  } catch (error) {
    if (barrier.sealed) throw error;
    return undefined;
  }
  const { parent, authenticatedAtMs = carried.createdAtMs, ...rest } = carried;
  return {
    ...rest,
    authenticatedAtMs,
    type: 'batch',
    accessor: '',
    parentHash: parent ? Buffer.from(parent, 'base64') : undefined,
  };
}
