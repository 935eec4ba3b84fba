import { randomBytes, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { isObject } from '../../../sdk/coerce';
import { stillThere } from '../../../sdk/collection';
import { path } from '../../../sdk/path';
import { data, empty, keys } from '../../../sdk/reply';
import type { Storage } from '../../../sdk/storage';
import { type AcmeParams, directoryPrefixes, prefixOf } from './directory';
import { type Jwk, parseObject, readJwk, readJws, thumbprintOf, verifyMac } from './jws';
import { fail } from './problem';
import { records } from './record';

/** An external account binding key, which can create one account. */
interface BindingKey {
  /** Base64url. */
  readonly key: string;
  readonly prefix: string;
  readonly createdAtMs: number;
}

const bindingKeys = records<BindingKey>('acme/eab/');

/**
 * Consumes the binding key of a new account and returns the binding to store. Throws a problem if the binding is for
 * another key or URL.
 */
export async function takeBinding(
  tx: Storage,
  sent: unknown,
  { jwk, url, prefix }: { readonly jwk: Jwk; readonly url: string; readonly prefix: string },
) {
  if (!isObject(sent)) return fail('malformed', 'externalAccountBinding is not a JWS');
  const jws = readJws(sent, 'externalAccountBinding');
  const { kid, nonce, url: at } = jws.header;
  if (nonce !== undefined) fail('malformed', 'externalAccountBinding has no nonce');
  if (at !== url) fail('malformed', 'externalAccountBinding was created for another URL');
  const found = typeof kid === 'string' && /^[0-9a-f-]{36}$/.test(kid) ? await bindingKeys.find(tx, kid) : undefined;
  if (!found || found.prefix !== prefix)
    return fail('unauthorized', 'externalAccountBinding: the key does not exist or was already used');
  verifyMac(jws, Buffer.from(found.key, 'base64url'));
  const inner = readJwk(parseObject(jws.payload.toString('utf8'), 'the payload of externalAccountBinding'));
  if (thumbprintOf(inner.jwk) !== thumbprintOf(jwk)) fail('malformed', 'externalAccountBinding is for another key');
  bindingKeys.delete(tx, kid as string);
  return { id: kid as string, sent };
}

const suffixes = ['', '-for-role', '-for-issuer', '-for-issuer-and-role'];

/** External account binding keys: create (for one directory), list and delete. */
export const eabPaths = [
  ...directoryPrefixes.map((prefix, at) =>
    path(`${prefix}/new-eab` as string, {
      summary: 'Creates external account binding keys for this ACME directory.',
      write: {
        summary: 'Create an external account binding key for one account.',
        operationId: `generate-eab-key${suffixes[at]}`,
        stepUp: true,
        output: z.object({
          id: z.string(),
          key_type: z.string(),
          key: z.string(),
          acme_directory: z.string(),
          created_on: z.string(),
        }),
        async run({ params, storage, nowMs }) {
          const id = randomUUID();
          const own = prefixOf(params as AcmeParams);
          const key = Buffer.concat([Buffer.from('vault-eab-0-', 'base64url'), randomBytes(32)]).toString('base64url');
          bindingKeys.put(storage, id, { key, prefix: own, createdAtMs: nowMs });
          return data({ id, key_type: 'hs', key, ...shown({ prefix: own, createdAtMs: nowMs }) });
        },
      },
    }),
  ),
  path('eab', {
    summary: 'Unused external account binding keys.',
    list: {
      summary: 'List the unused external account binding keys.',
      operationId: 'list-eab-keys',
      output: z.object({ keys: z.array(z.string()), key_info: z.record(z.string(), z.unknown()) }),
      async run({ storage }) {
        const ids = await storage.list('acme/eab/');
        const there = await stillThere(ids, (id) => bindingKeys.find(storage, id));
        const info = there.map(([id, found]) => [id, { key_type: 'hs', ...shown(found) }]);
        return keys(
          there.map(([id]) => id),
          Object.fromEntries(info),
        );
      },
    },
  }),
  path('eab/:key_id', {
    summary: 'An unused external account binding key.',
    params: { key_id: 'uuid' },
    delete: {
      summary: 'Delete a key, so that no account can use it.',
      operationId: 'delete-eab-key',
      async run({ params, storage, warn }) {
        if (!(await bindingKeys.find(storage, params.key_id))) warn(`No key id found with id: ${params.key_id}`);
        bindingKeys.delete(storage, params.key_id);
        return empty;
      },
    },
  }),
];

const shown = ({ prefix, createdAtMs }: Pick<BindingKey, 'prefix' | 'createdAtMs'>) => ({
  acme_directory: `${prefix}/directory`,
  created_on: new Date(createdAtMs).toISOString(),
});
