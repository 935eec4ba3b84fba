import { randomUUID } from 'node:crypto';
import { Refusal } from '@keystead/refusal';
import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import type { Call } from '../../sdk/call';
import { Failure, isObject } from '../../sdk/coerce';
import { commaList, duration, field, int, secretString, string } from '../../sdk/fields';
import { operation, type Path, path } from '../../sdk/path';
import { data, empty, keys, missing } from '../../sdk/reply';
import { checkCidrs } from '../../sdk/token-params';
import { type AppRole, requireRole, roleFolds, roleOf, roles } from './role';
import {
  addSecretId,
  type FoundSecretId,
  findByAccessor,
  findSecretId,
  listAccessors,
  removeSecretId,
  tidySecretIds,
} from './secret-ids';

const rolesAtOnce = 32;

const SecretIdOptions = z.object({
  metadata: field<Record<string, string>>({}, metadataOf, false, { empty: {}, several: true })
    .optional()
    .describe('A JSON object with string values, which becomes metadata of the tokens.'),
  cidr_list: commaList().optional().describe('CIDR blocks from which this secret ID can be used to log in.'),
  token_bound_cidrs: commaList().optional().describe('CIDR blocks from which the tokens can be used.'),
  num_uses: int().optional().describe('Number of logins with this secret ID. Default: the role’s.'),
  ttl: duration().optional().describe('Lifetime of this secret ID. Default: the role’s.'),
});
type SecretIdOptions = z.output<typeof SecretIdOptions>;
type RoleCall<I = unknown> = Call<{ role_name: string }, I>;

const SecretIdInput = z.object({ secret_id: secretString().optional().describe('The secret ID.') });
const AccessorInput = z.object({ secret_id_accessor: string().optional().describe('The accessor of the secret ID.') });

const Made = z.object({
  secret_id: z.string(),
  secret_id_accessor: z.string(),
  secret_id_num_uses: z.int(),
  secret_id_ttl: z.int(),
});
const Properties = z.object({
  cidr_list: z.array(z.string()),
  creation_time: z.string(),
  expiration_time: z.string(),
  last_updated_time: z.string(),
  metadata: z.record(z.string(), z.string()),
  secret_id_accessor: z.string(),
  secret_id_num_uses: z.int(),
  secret_id_ttl: z.int(),
  token_bound_cidrs: z.array(z.string()),
});

/** Creates, lists, looks up, destroys and tidies secret ids. */
export function secretIdPaths(): Path[] {
  const destroy = operation({
    summary: 'Destroy a secret ID. Also succeeds if it does not exist.',
    input: SecretIdInput,
    async run(call: RoleCall<z.output<typeof SecretIdInput>>) {
      const role = await requireRole(call);
      const found = await findSecretId(call.storage, role, requireField(call.input, 'secret_id'), 0);
      if (found) removeSecretId(call.storage, role, found);
      return empty;
    },
  });
  const destroyByAccessor = operation({
    summary: 'Destroy a secret ID by its accessor.',
    input: AccessorInput,
    async run(call: RoleCall<z.output<typeof AccessorInput>>) {
      const role = await requireRole(call);
      removeSecretId(call.storage, role, await byAccessor(call, role, 0));
      return empty;
    },
  });
  return [
    path('role/:role_name/secret-id', {
      folds: roleFolds,
      summary: 'The secret IDs of a role.',
      write: {
        summary: 'Generate a secret ID.',
        stepUp: true,
        input: SecretIdOptions,
        output: Made,
        run: (call) => make(call, randomUUID()),
      },
      list: {
        summary: 'List the accessors of the secret IDs.',
        output: z.object({ keys: z.array(z.string()) }),
        async run(call) {
          const role = await roleOf(call);
          return role ? keys(await listAccessors(call.storage, role, call.nowMs)) : missing;
        },
      },
    }),
    path('role/:role_name/custom-secret-id', {
      folds: roleFolds,
      summary: 'Secret IDs chosen by the client.',
      write: {
        summary: 'Store a secret ID.',
        stepUp: true,
        input: SecretIdOptions.extend(SecretIdInput.shape),
        output: Made,
        run: (call) => make(call, requireField(call.input, 'secret_id')),
      },
    }),
    path('role/:role_name/secret-id/lookup', {
      folds: roleFolds,
      summary: 'Looks up secret IDs.',
      write: {
        summary: 'Read the properties of a secret ID. 204 if it is unknown.',
        output: Properties,
        input: SecretIdInput,
        async run(call) {
          const role = await requireRole(call);
          const found = await findSecretId(call.storage, role, requireField(call.input, 'secret_id'), call.nowMs);
          return found ? data(secretIdData(found)) : empty;
        },
      },
    }),
    path('role/:role_name/secret-id/destroy', {
      folds: roleFolds,
      summary: 'Destroys secret IDs.',
      write: destroy,
      delete: { ...destroy, operationId: 'destroy-secret-id2' },
    }),
    path('role/:role_name/secret-id-accessor/lookup', {
      folds: roleFolds,
      summary: 'Looks up secret IDs by accessor.',
      write: {
        operationId: 'look-up-secret-id-by-accessor',
        summary: 'Read the properties of a secret ID by its accessor.',
        output: Properties,
        input: AccessorInput,
        async run(call) {
          return data(secretIdData(await byAccessor(call, await requireRole(call), call.nowMs)));
        },
      },
    }),
    path('role/:role_name/secret-id-accessor/destroy', {
      folds: roleFolds,
      summary: 'Destroys secret IDs by accessor.',
      write: { ...destroyByAccessor, operationId: 'destroy-secret-id-by-accessor' },
      delete: { ...destroyByAccessor, operationId: 'destroy-secret-id-by-accessor2' },
    }),
    path('tidy/secret-id', {
      summary: 'Removes expired secret IDs.',
      write: {
        operationId: 'tidy-secret-id',
        summary: 'Remove the expired secret IDs of all roles.',
        status: 202,
        async run({ storage, nowMs, warn }) {
          const names = await roles.list(storage);
          // Simultaneous reads share a database query.
          for (let at = 0; at < names.length; at += rolesAtOnce) {
            const tidied = names.slice(at, at + rolesAtOnce).map(async (name) => {
              const role = await roles.find(storage, name);
              if (role) await tidySecretIds(storage, role, nowMs);
            });
            await Promise.all(tidied);
          }
          warn('Tidy operation successfully started. Expired secret ids have been removed.');
          return data(null);
        },
      },
    }),
  ];
}

async function make(call: RoleCall<SecretIdOptions>, secretId: string) {
  const { input, storage, nowMs } = call;
  const role = await requireRole(call);
  if (!role.bind_secret_id) throw new Refusal('invalid', 'bind_secret_id is not set on the role');
  if (secretId.length > 4_096) throw new Refusal('invalid', 'secret_id is longer than 4096 characters');
  const usesLeft = within('num_uses', input.num_uses ?? role.secret_id_num_uses, role.secret_id_num_uses);
  const ttlSeconds = within('ttl', input.ttl ?? role.secret_id_ttl, role.secret_id_ttl);
  const cidrs = subset(input.cidr_list ?? [], role.secret_id_bound_cidrs);
  const tokenCidrs = subset(input.token_bound_cidrs ?? [], role.token_bound_cidrs);
  const accessor = await addSecretId(storage, role, secretId, {
    metadata: input.metadata ?? {},
    cidrs,
    tokenCidrs,
    usesLeft,
    ttlSeconds,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    expiresAtMs: ttlSeconds > 0 ? nowMs + ttlSeconds * 1_000 : 0,
  });
  if (accessor === undefined) throw new Refusal('conflict', 'SecretID is already registered');
  const answer = data({
    secret_id: secretId,
    secret_id_accessor: accessor,
    secret_id_num_uses: usesLeft,
    secret_id_ttl: ttlSeconds,
  });
  return { ...answer, accessor };
}

/** A secret id may have lower limits than the role, but not higher ones. 0 means no limit. */
function within(field: 'num_uses' | 'ttl', requested: number, most: number): number {
  if (requested < 0) throw new Refusal('invalid', `${field} cannot be negative`);
  if (most > 0 && (requested === 0 || requested > most)) {
    throw new Refusal('invalid', `${field} cannot be higher than the role's secret_id_${field}`);
  }
  return requested;
}

function subset(cidrs: string[], of: readonly string[]): string[] {
  checkCidrs(cidrs);
  if (of.length === 0) return cidrs;
  for (const cidr of cidrs) {
    if (!of.some((outer) => contains(outer, cidr))) {
      throw new Refusal(
        'invalid',
        `failed to verify subset relationship between CIDR blocks on the role "${of.join(',')}" and CIDR block "${cidr}"`,
      );
    }
  }
  return cidrs;
}

function contains(outer: string, inner: string): boolean {
  const block = (text: string): [ipaddr.IPv4 | ipaddr.IPv6, number] => {
    if (text.includes('/')) return ipaddr.parseCIDR(text);
    const address = ipaddr.process(text);
    return [address, address.kind() === 'ipv4' ? 32 : 128];
  };
  const [outerAddress, outerBits] = block(outer);
  const [innerAddress, innerBits] = block(inner);
  return (
    outerAddress.kind() === innerAddress.kind() && innerBits >= outerBits && innerAddress.match(outerAddress, outerBits)
  );
}

/** Reads metadata that was sent as JSON text or as an object. */
function metadataOf(metadata: unknown): Record<string, string> | Failure {
  if (metadata === '') return {};
  let read = metadata;
  try {
    if (typeof metadata === 'string') read = JSON.parse(metadata);
  } catch {
    read = undefined;
  }
  if (isObject(read) && Object.values(read).every((value) => typeof value === 'string')) {
    return read as Record<string, string>;
  }
  return new Failure('metadata must be the JSON text of an object of strings', true);
}

function requireField<K extends string>(input: { readonly [key in K]?: string | undefined }, field: K): string {
  const value = input[field];
  if (!value) throw new Refusal('invalid', `missing ${field}`, [{ path: [field], message: 'required' }]);
  return value;
}

async function byAccessor(
  { input, storage }: RoleCall<z.output<typeof AccessorInput>>,
  role: AppRole,
  nowMs: number,
): Promise<FoundSecretId> {
  const accessor = requireField(input, 'secret_id_accessor');
  const found = await findByAccessor(storage, role, accessor, nowMs);
  if (!found) {
    throw new Refusal('missing', `failed to find accessor entry for secret_id_accessor: ${JSON.stringify(accessor)}`);
  }
  return found;
}

function secretIdData({ value }: FoundSecretId): Record<string, unknown> {
  const time = (atMs: number) => (atMs === 0 ? '0001-01-01T00:00:00Z' : new Date(atMs).toISOString());
  return {
    cidr_list: value.cidrs,
    creation_time: time(value.createdAtMs),
    expiration_time: time(value.expiresAtMs),
    last_updated_time: time(value.updatedAtMs),
    metadata: value.metadata,
    secret_id_accessor: value.accessor,
    secret_id_num_uses: value.usesLeft,
    secret_id_ttl: value.ttlSeconds,
    token_bound_cidrs: value.tokenCidrs,
  };
}
