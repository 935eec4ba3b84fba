import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { secretString, string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { login } from '../../sdk/reply';
import { loginAfterWait, loginParams } from '../../sdk/token-params';
import { browserConfig, browserRole, finish } from './browser-login';
import { decide, isBeginner } from './pending';
import { type OidcProvider, ProviderRefusal } from './provider';

const waiting = new Set(['authorization_pending', 'slow_down']);

/**
 * `oidc/poll`: returns the token of a login to the client that started it, in the callback modes `device` and `direct`.
 */
export const pollPath = (provider: OidcProvider) =>
  path('oidc/poll', {
    summary: 'The result of a login that finishes on another device or page.',
    auth: 'none',
    write: {
      operationId: 'oidc-poll',
      summary:
        'Get the token of a login by device or direct callback. 400 authorization_pending until the login is complete.',
      judges: 'unguessable',
      input: z.object({
        state: string().optional().describe('The state from the response that started the login.'),
        client_nonce: secretString().optional().describe('The client_nonce that was sent when the login started.'),
      }),
      async run(call) {
        const { input, storage, nowMs } = call;
        const { state = '', client_nonce = '' } = input;
        const found = await decide(storage, state, nowMs, (pending) => {
          // A caller without the nonce learns nothing, and does not end the login.
          if (!isBeginner(pending, client_nonce)) return { next: pending, result: { wrong: true, pending } };
          const next = pending.login ? undefined : pending;
          return { next, result: { wrong: false, pending } };
        });
        if (!found) throw new Refusal('invalid', 'Keystead login failed. Expired or missing OAuth state.');
        if (found.wrong) throw new Refusal('invalid', 'invalid client_nonce');
        const { pending } = found;
        if (pending.login) {
          const role = await browserRole(storage, pending.role);
          return login(loginAfterWait(pending.login, loginParams(role, await browserConfig(storage))));
        }
        if (pending.mode !== 'device') throw new Refusal('invalid', 'authorization_pending');
        const forget = () => decide(storage, state, nowMs, () => ({ next: undefined, result: true }));
        const result = await finish(
          provider,
          pending,
          async (config) => {
            const tokens = await provider
              .pollDevice(config, pending.deviceCode ?? '', pending.verifier)
              .catch(async (error) => {
                if (!(error instanceof ProviderRefusal)) throw error;
                if (waiting.has(error.code)) throw new Refusal('invalid', error.code);
                await forget();
                throw new Refusal('invalid', `authorization failed: ${error.code}`);
              });
            // A device code can be exchanged only once. If two callers poll at the same time, only one gets the token.
            if (!(await forget()))
              throw new Refusal('invalid', 'Keystead login failed. Expired or missing OAuth state.');
            return tokens;
          },
          call,
        );
        return login(result);
      },
    },
  });
