import type { HostApi } from './host-api';
import { listAt, textAt } from './reading';

type Path = readonly string[];

/** Where the list of webhooks is in a host's answer, and where the URL and the id are in each webhook. */
interface HookList {
  readonly list?: Path;
  readonly url: Path;
  readonly id: Path;
}

/**
 * The id of the webhook with a URL, if it exists: a node may have created it and died before it read the response. The
 * URL contains a unique id, so the webhook is ours.
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
