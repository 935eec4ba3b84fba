import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { NamespaceView } from '../../../sdk/call';
import { commaList, olderName, secretString, string } from '../../../sdk/fields';
import { type Path, path } from '../../../sdk/path';
import { data, listed } from '../../../sdk/reply';
import type { Authority, TokenAuthority } from './authority';

const maxSegments = 1_000;
const Paths = z.object({
  paths: commaList().optional().describe('Paths to check.'),
  path: olderName(commaList(), 'paths'),
});

const capabilitiesOutput = z.record(z.string(), z.array(z.string()));

/** The capabilities of a token on given paths: `sys/capabilities`, `-self` and `-accessor`. */
export function capabilitiesPaths(authority: Authority): Path[] {
  return [
    path('capabilities', {
      summary: 'The capabilities of a token.',
      responseFormat: 'injected',
      write: {
        operationId: 'query-token-capabilities',
        summary: 'List the capabilities of a token on paths.',
        input: Paths.extend({ token: secretString().optional().describe('The token to check.') }),
        output: capabilitiesOutput,
        auditHidesKeys: true,
        async run({ input, namespace, caller, sentToken }) {
          const paths = requirePaths(input);
          if (!input.token) throw listed('invalid', 'no token found');
          const own = input.token === sentToken;
          const holder = own ? authority.byHash(caller.token!.hash) : authority.byToken(namespace.uuid, input.token);
          return answer(await holder, namespace, paths);
        },
      },
    }),
    path('capabilities-accessor', {
      summary: 'The capabilities of a token, by its accessor.',
      responseFormat: 'injected',
      write: {
        operationId: 'query-token-accessor-capabilities',
        summary: 'List the capabilities of a token on paths, by its accessor.',
        input: Paths.extend({ accessor: string().optional().describe('The accessor of the token to check.') }),
        output: capabilitiesOutput,
        auditHidesKeys: true,
        async run({ input, namespace }) {
          const paths = requirePaths(input);
          if (!input.accessor) throw listed('invalid', 'no token found');
          return answer(await authority.byAccessor(namespace.uuid, input.accessor), namespace, paths);
        },
      },
    }),
    path('capabilities-self', {
      summary: 'The capabilities of the calling token.',
      responseFormat: 'injected',
      write: {
        operationId: 'query-token-self-capabilities',
        summary: 'List the capabilities of the calling token on paths.',
        input: Paths.extend({
          token: secretString().optional().describe('Ignored: the calling token is checked.'),
        }),
        output: capabilitiesOutput,
        auditHidesKeys: true,
        async run({ input, namespace, caller }) {
          return answer(await authority.byHash(caller.token?.hash ?? ''), namespace, requirePaths(input));
        },
      },
    }),
  ];
}

function requirePaths({ paths = [], path: older = [] }: z.output<typeof Paths>): readonly string[] {
  const requested = paths.length > 0 ? paths : older;
  if (requested.length === 0) {
    throw new Refusal('invalid', 'paths must be supplied', [{ path: ['paths'], message: 'required' }]);
  }
  if (requested.some((text) => text.split('/', maxSegments + 1).length > maxSegments)) {
    const message = `paths cannot have more than ${maxSegments} segments`;
    throw new Refusal('invalid', message, [{ path: ['paths'], message }]);
  }
  return requested;
}

function answer(holder: TokenAuthority | undefined, { uuid }: NamespaceView, paths: readonly string[]) {
  if (!holder) throw listed('invalid', 'invalid token');
  const found = new Map<string, readonly string[]>();
  for (const text of paths) {
    found.set(text, holder.entityInForce ? holder.capabilities(uuid, text) : ['deny']);
  }
  if (paths.length === 1) found.set('capabilities', found.get(paths[0]!)!);
  return data(Object.fromEntries(found));
}
