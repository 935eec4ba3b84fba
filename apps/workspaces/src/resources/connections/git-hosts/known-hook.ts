import type { HostApi } from './host-api';
import { listAt, textAt } from './reading';

type Path = readonly string[];

/** Where the list of webhooks of a kind of host has them, and where each has its address and its id. */
interface HookList {
  readonly list?: Path;
  readonly url: Path;
  readonly id: Path;
}

/**
 * The id of the webhook to an address, if there is one: whoever made it may have died before it heard so. The address has an
 * id of its own, so that a webhook to it is ours.
 */
export async function findHook(
  api: HostApi,
  path: string,
  address: string,
  { list = [], url, id }: HookList,
): Promise<string | undefined> {
  const found = listAt(await api.find(path), ...list).find((one) => textAt(one, ...url) === address);
  return found === undefined ? undefined : textAt(found, ...id) || undefined;
}
