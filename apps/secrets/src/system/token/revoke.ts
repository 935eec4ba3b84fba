import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { secretString, string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { data, empty, listed } from '../../sdk/reply';
import { findNamed, type TokenParts } from './parts';

const tokenInput = z.object({ token: secretString().optional().describe('The token.') });

/** Revoking tokens. */
export function revokePaths(parts: TokenParts) {
  const { tokens, leases, log } = parts;
  return [
    path('revoke', {
      summary: 'Revokes a token and everything it created.',
      write: {
        summary: 'Revoke a token and its descendants. Revoking an unknown token succeeds.',
        operationId: 'token-revoke',
        input: tokenInput,
        async run(call) {
          if (!call.input.token) throw new Refusal('invalid', 'missing token ID');
          const token = await findNamed(parts, call, call.input.token);
          if (token?.type === 'batch') throw new Refusal('invalid', 'batch tokens cannot be revoked');
          if (token) await leases.endToken(token);
          return empty;
        },
      },
    }),
    path('revoke-self', {
      summary: 'Revokes the caller’s token and everything it created.',
      write: {
        summary: 'Revoke the caller’s token and its descendants.',
        operationId: 'token-revoke-self',
        async run({ sentToken }) {
          const token = await tokens.find(sentToken!);
          if (token?.type === 'batch') throw new Refusal('invalid', 'batch tokens cannot be revoked');
          if (token) await leases.endToken(token);
          return empty;
        },
      },
    }),
    path('revoke-accessor', {
      summary: 'Revokes a token by its accessor.',
      write: {
        summary: 'Revoke a token by its accessor.',
        operationId: 'token-revoke-accessor',
        input: z.object({ accessor: string().optional().describe('The accessor of the token.') }),
        async run({ input, namespace, warn }) {
          if (!input.accessor) throw listed('invalid', 'missing accessor');
          const token = await tokens.findByAccessor(namespace.uuid, input.accessor);
          if (token) await leases.endToken(token);
          else warn('No token found with this accessor');
          return empty;
        },
      },
    }),
    path('revoke-orphan', {
      summary: 'Revokes a token and keeps its children.',
      write: {
        summary: 'Revoke a token. Its children become orphans.',
        operationId: 'token-revoke-orphan',
        input: tokenInput,
        async run(call) {
          if (!call.input.token) throw new Refusal('invalid', 'missing token ID');
          if (!call.caller.sudo) throw new Refusal('invalid', 'root or sudo privileges required to revoke and orphan');
          const token = await findNamed(parts, call, call.input.token);
          if (!token) throw new Refusal('invalid', 'token to revoke not found');
          if (token.type === 'batch') throw new Refusal('invalid', 'batch tokens cannot be revoked');
          if (!(await leases.tokens.endAlone(token.hash))) throw new Refusal('invalid', 'token to revoke not found');
          return empty;
        },
      },
    }),
    path('tidy', {
      summary: 'Finds remains of ended tokens.',
      write: {
        summary: 'Tidy the token store in the background.',
        operationId: 'token-tidy',
        status: 202,
        run({ warn }) {
          for (const task of [leases.tidy(), leases.privateTidy.start()]) {
            task.catch((error) => log.warn({ err: error }, 'tidy failed'));
          }
          warn('Tidy operation successfully started. Any information from the operation will be printed to the log.');
          return data(null);
        },
      },
    }),
  ];
}
