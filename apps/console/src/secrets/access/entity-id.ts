import { ApiError } from '../../api/api-error';
import type { Transport } from '../../api/transport';

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The id of an entity given by name or id. Throws if there is none. */
export async function entityIdOf(transport: Transport, given: string): Promise<string> {
  const text = given.trim();
  if (uuid.test(text)) return text;
  try {
    const path = `/v1/identity/entity/name/${encodeURIComponent(text)}`;
    return (await transport.call<{ data: { id: string } }>('GET', path)).data.id;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) {
      throw new Error(`No entity is called ${text}. Entities lists all, with the names they log in with.`);
    }
    throw error;
  }
}
