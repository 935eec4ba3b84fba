import { invalid } from '@keystead/jsonapi';
import type { Endpoint } from './endpoint';

type Sent = Readonly<Record<string, unknown>>;

/**
 * What an update says, where secrets that the resource keeps stay with the addresses they were entered for. Throws `invalid` for an
 * address that changes without its secret. One that is sent as it is is left out: who changes it at the same moment has the last word.
 */
export function withKeptSecrets({ method, body: shape }: Endpoint, target: unknown, sent: unknown): unknown {
  if (method !== 'PATCH' || shape?.secrets === undefined) return sent;
  const before = target as Sent;
  const left = { ...(sent as Sent) };
  for (const [secret, addresses] of shape.secrets) {
    // Null: the resource has none.
    if (left[secret] !== undefined || before[secret] === null) continue;
    for (const address of addresses) {
      if (left[address] === undefined) continue;
      if (left[address] !== before[address]) throw invalid(secret, `must be sent again with another ${address}`);
      delete left[address];
    }
  }
  return left;
}
