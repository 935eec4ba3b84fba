import { ApiError } from '../../api/api-error';
import type { Transport } from '../../api/transport';
import { type Mount, mountOf } from '../mounts';
import { encodedPath } from '../reads';

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

interface EntityAnswer {
  readonly data: { readonly id: string };
}

/**
 * Finds the id of an entity by id, name, or login such as `userpass/ada`. Creates an entity for a userpass user who has
 * not logged in yet. Throws if the user does not exist.
 */
export async function entityIdOf(transport: Transport, methods: readonly Mount[], typed: string): Promise<string> {
  const text = typed.trim();
  if (text === '') throw new Error('Choose a person.');
  if (uuid.test(text)) return text;
  const byName = await orNone(
    transport.call<EntityAnswer>('GET', `/v1/identity/entity/name/${encodeURIComponent(text)}`),
  );
  if (byName) return byName.data.id;
  const login = text.replace(/^auth\//, '');
  const method = mountOf(methods, login);
  const name = method && login.slice(method.path.length);
  if (!name) {
    throw new Error(
      `No entity is called ${text}. Entities lists all. A login is written with its method: userpass/ada.`,
    );
  }
  const body = { alias_name: name, alias_mount_accessor: method.accessor };
  const found = await transport.call<EntityAnswer | undefined>('POST', '/v1/identity/lookup/entity', body);
  return found ? found.data.id : newEntity(transport, method, name);
}

/** Creates the entity that the user's first login would create. */
async function newEntity(transport: Transport, method: Mount, name: string): Promise<string> {
  const isUser =
    method.type === 'userpass' &&
    (await orNone(transport.call('GET', `/v1/auth/${encodedPath(method.path)}users/${encodeURIComponent(name)}`)));
  if (!isUser) throw new Error(`${name} has not logged in at ${method.path} yet, so there is no entity to enroll.`);
  const alias = { name, mount_accessor: method.accessor };
  const created = await transport.call<{ data: { canonical_id: string } }>('POST', '/v1/identity/entity-alias', alias);
  return created.data.canonical_id;
}

/** The response; undefined if the object does not exist. */
async function orNone<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}
