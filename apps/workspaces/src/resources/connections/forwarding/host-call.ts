import type { Keyring } from '@keystead/keyring';
import type { Reach } from '@keystead/outside';
import type { Database } from '../../../kernel/database/database';
import { directly, type HostCall, HostRefused } from '../git-hosts/host-api';
import { forward } from './requests';

/** The dependencies of calls to hosts. */
export interface CallDeps {
  readonly db: Database;
  readonly keyring: Keyring;
  /** Which addresses may be called from here. */
  readonly reach: Reach;
}

/** The parts of a connection that determine how its host is called. */
export interface HostPlace {
  readonly apiUrl: string;
  /** Undefined if the connection no longer exists. */
  readonly httpUrl?: string;
  readonly agentPoolId: string | null;
}

/** The hosts that agents may call for a connection: only its own host, regardless of the URLs in its responses. */
export const isOwnHost = ({ apiUrl, httpUrl }: HostPlace, url: string): boolean =>
  URL.canParse(url) &&
  [apiUrl, httpUrl].some((one) => one !== undefined && new URL(one).origin === new URL(url).origin);

/**
 * How the host of a connection is called: through agents of the connection's pool or, without a pool, by this service.
 */
export function callOf(deps: CallDeps, place: HostPlace): HostCall {
  const { agentPoolId } = place;
  if (agentPoolId === null) return directly(deps.reach);
  return async (url, request, timeoutMs) => {
    if (!isOwnHost(place, url)) throw new HostRefused(302, 'the Git host redirects to an address that is not its own');
    return forward(deps, agentPoolId, url, request, timeoutMs);
  };
}
