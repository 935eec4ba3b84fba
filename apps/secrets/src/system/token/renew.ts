import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { authOf } from '../../kernel/tokens/auth-block';
import type { TokenRecord } from '../../kernel/tokens/types';
import type { Call } from '../../sdk/call';
import { duration, secretString, string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { auth, type Reply } from '../../sdk/reply';
import { requireAccessor } from './lookup';
import { findNamed, type TokenParts } from './parts';

const increment = duration().optional().describe('Requested lifetime from now.');

/** Renewing tokens. */
export function renewPaths(parts: TokenParts) {
  const { tokens, identity } = parts;
  const renew = async (
    id: string,
    token: TokenRecord,
    seconds: number | undefined,
    call: Pick<Call, 'warn' | 'certificates'>,
  ): Promise<Reply> => {
    if (token.type === 'batch') throw new Refusal('invalid', 'batch tokens cannot be renewed');
    if (!token.renewable) throw new Refusal('invalid', 'lease is not renewable');
    const { ttlSeconds, warnings } = await prolong(parts, token, seconds ?? 0, call);
    for (const warning of warnings) call.warn(warning);
    return auth(await authOf(identity, { token: id, record: token }, ttlSeconds));
  };

  return [
    path('renew', {
      summary: 'Renews a token.',
      write: {
        summary: 'Renew a token.',
        operationId: 'token-renew',
        input: z.object({ token: secretString().optional().describe('The token.'), increment }),
        async run(call) {
          const { input } = call;
          if (!input.token) throw new Refusal('invalid', 'missing token ID');
          const token = await findNamed(parts, call, input.token);
          if (!token) throw new Refusal('invalid', 'token not found');
          return renew(input.token, token, input.increment, call);
        },
      },
    }),
    path('renew-self', {
      summary: 'Renews the caller’s token.',
      write: {
        summary: 'Renew the caller’s token.',
        operationId: 'token-renew-self',
        input: z.object({ increment, token: secretString().optional().describe('Has no effect.') }),
        async run(call) {
          const { input, sentToken } = call;
          const token = await tokens.find(sentToken!);
          if (!token) throw new Refusal('denied', 'permission denied');
          return renew(sentToken!, token, input.increment, call);
        },
      },
    }),
    path('renew-accessor', {
      summary: 'Renews a token by its accessor.',
      write: {
        summary: 'Renew a token by its accessor.',
        operationId: 'token-renew-accessor',
        input: z.object({ accessor: string().optional().describe('The accessor of the token.'), increment }),
        async run(call) {
          const { input, namespace } = call;
          const token = await requireAccessor(tokens, namespace.uuid, input.accessor);
          return renew('', token, input.increment, call);
        },
      },
    }),
  ];
}

/** Renews a token, and updates its entity's external groups to those that the auth method named. */
async function prolong(
  { leases, identity }: TokenParts,
  token: TokenRecord,
  increment: number,
  call: Pick<Call, 'certificates'>,
) {
  const renewed = await leases.renewal.renew(token, increment, () => call.certificates());
  await identity.rejoinRenewed(renewed);
  return renewed;
}
