import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { backend } from '../../sdk/backend';
import type { Call } from '../../sdk/call';
import { PageInput, pageOf } from '../../sdk/paging';
import { operation, path } from '../../sdk/path';
import { dataText, empty, keys, missing } from '../../sdk/reply';

type CubbyholeCall = Call<{ path: string }>;

const pairs = z.looseObject({}).describe('Key-value pairs. They replace everything stored at the path.');
const listing = z.object({ keys: z.array(z.string()) });

const read = operation<{ path: string }>({
  summary: 'Read the key-value pairs at a path.',
  operationId: 'cubbyhole-read',
  output: pairs,
  async run({ storage, params, caller }: CubbyholeCall) {
    requireOwner(caller);
    requirePath(params.path);
    const text = await storage.get(params.path);
    return text === undefined ? missing : dataText(text);
  },
});

const write = operation<{ path: string }>({
  summary: 'Store key-value pairs at a path.',
  operationId: 'cubbyhole-write',
  freeform: true,
  run(call: CubbyholeCall) {
    requireOwner(call.caller);
    requirePath(call.params.path);
    if (Object.keys(call.fields).length === 0) throw new Refusal('invalid', 'missing data fields');
    call.storage.put(call.params.path, call.fieldsText());
    return empty;
  },
});

const remove = operation<{ path: string }>({
  summary: 'Delete the key-value pairs at a path. Also succeeds if there are none.',
  operationId: 'cubbyhole-delete',
  run({ storage, params, caller }: CubbyholeCall) {
    requireOwner(caller);
    if (params.path !== '') storage.delete(params.path);
    return empty;
  },
});

const list = operation<{ path: string }, typeof PageInput>({
  summary: 'List the keys below a folder; folders end in /.',
  operationId: 'cubbyhole-list',
  input: PageInput,
  output: listing,
  async run({ storage, params, caller, input }) {
    requireOwner(caller);
    return keys(await storage.list(params.path, pageOf(input)));
  },
});

const scan = operation<{ path: string }, typeof PageInput>({
  summary: 'List everything below a folder, at any depth.',
  operationId: 'cubbyhole-scan',
  input: PageInput,
  output: listing,
  async run({ storage, params, caller, input }) {
    requireOwner(caller);
    return keys(await storage.scan(params.path, pageOf(input)));
  },
});

/**
 * Private storage for each token. No other token can read it, not even root, and it is removed with the token. Spec:
 * Cubbyhole.
 */
export const cubbyhole = backend({
  type: 'cubbyhole',
  kind: 'secret',
  summary: 'per-token private secret storage',
  storage: 'per-token',
  paths: [
    path(':path*', {
      summary: 'Pass-through secret storage to a token-specific cubbyhole.',
      description: 'Any path is allowed. Only the token that wrote a value can read it.',
      spec: 'Cubbyhole',
      paramDocs: { path: 'The path of the key-value pairs.' },
      exists: async ({ storage, params, caller }) => {
        requireOwner(caller);
        return (await storage.get(params.path)) !== undefined;
      },
      read,
      list,
      scan,
      write,
      delete: remove,
    }),
  ],
});

function requireOwner({ token }: CubbyholeCall['caller']): void {
  if (token?.type === 'service') return;
  throw new Refusal('invalid', "cubbyhole operations are only supported by 'service' type tokens");
}

function requirePath(path: string): void {
  if (path === '') throw new Refusal('invalid', 'missing path');
}
