import { invalid } from '@keystead/jsonapi';
import type { Endpoint } from './endpoint';

type Sent = Readonly<Record<string, unknown>>;

/**
 * The update to apply. A stored secret is bound to the addresses for which it was entered, so a new address without the
 * secret throws `invalid`. An unchanged address is omitted, so that a concurrent change of the address is not
 * overwritten.
 */
export function withKeptSecrets({ method, body: shape }: Endpoint, target: unknown, sent: unknown): unknown {
  if (method !== 'PATCH' || shape?.secrets === undefined) return sent;
  const before = target as Sent;
  const update = { ...(sent as Sent) };
  for (const [secret, addresses] of shape.secrets) {
    // Null if the resource has no such secret.
    if (update[secret] !== undefined || before[secret] === null) continue;
    for (const address of addresses) {
      if (update[address] === undefined) continue;
      if (update[address] !== before[address]) throw invalid(secret, `must be sent again with another ${address}`);
      delete update[address];
    }
  }
  return update;
}
