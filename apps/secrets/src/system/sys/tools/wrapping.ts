import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { Wrapping } from '../../../kernel/wrapping/wrapping';
import { secretString } from '../../../sdk/fields';
import { path } from '../../../sdk/path';
import { data } from '../../../sdk/reply';

const tokenInput = z.object({
  token: secretString().optional().describe('The wrapping token. Default: the token in the header.'),
});

/** Wrapping data, looking up wrapping tokens, and unwrapping. */
export function wrappingPaths(wrapping: Wrapping) {
  return [
    path('wrapping/wrap', {
      summary: 'Wraps the fields in the request.',
      write: {
        summary: 'Wrap the fields in the body into a single-use token.',
        operationId: 'wrap',
        freeform: true,
        run({ fields, fieldsText, wrapTtlSeconds }) {
          if (wrapTtlSeconds <= 0) throw new Refusal('invalid', 'endpoint requires response wrapping to be used');
          return { kind: 'data', data: fields, text: fieldsText() };
        },
      },
    }),
    path('wrapping/lookup', {
      summary: 'Looks up a wrapping token without using it.',
      auth: 'wrapping',
      read: {
        summary: 'Look up a wrapping token.',
        operationId: 'read-wrapping-properties2',
        input: tokenInput,
        output: lookupOutput,
        run: ({ input, namespace, sentToken }) => lookup(namespace.uuid, input.token ?? sentToken),
      },
      write: {
        summary: 'Look up a wrapping token.',
        operationId: 'read-wrapping-properties',
        input: tokenInput,
        judges: 'unguessable',
        output: lookupOutput,
        run: ({ input, namespace, sentToken }) => lookup(namespace.uuid, input.token ?? sentToken),
      },
    }),
    path('wrapping/unwrap', {
      summary: 'Unwraps a response. Works once.',
      auth: 'wrapping',
      write: {
        summary: 'Unwrap a response.',
        operationId: 'unwrap',
        input: tokenInput,
        judges: 'unguessable',
        async run({ input, namespace, sentToken }) {
          const token = requireToken(input.token ?? sentToken);
          return { kind: 'unwrapped', envelope: await wrapping.unwrap(namespace.uuid, token) };
        },
      },
    }),
    path('wrapping/rewrap', {
      summary: 'Moves a wrapped response to a new wrapping token.',
      write: {
        summary: 'Rewrap a response. The old token becomes invalid.',
        operationId: 'rewrap',
        input: z.object({ token: secretString().optional().describe('The wrapping token.') }),
        async run({ input, namespace }) {
          return { kind: 'rewrapped', ...(await wrapping.rewrap(namespace.uuid, requireToken(input.token))) };
        },
      },
    }),
  ];

  async function lookup(namespaceId: string, token: string | undefined) {
    const { creationPath, createdAtMs, ttlSeconds } = await wrapping.lookup(namespaceId, requireToken(token));
    return data({
      creation_path: creationPath,
      creation_time: new Date(createdAtMs).toISOString(),
      creation_ttl: ttlSeconds,
    });
  }
}

function requireToken(token: string | undefined): string {
  if (!token) throw new Refusal('invalid', 'missing "token" value in input');
  return token;
}

const lookupOutput = z.object({ creation_path: z.string(), creation_time: z.string(), creation_ttl: z.int() });
