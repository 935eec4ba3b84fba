import { Refusal } from '@keystead/refusal';
import { OutsideCalls, type OutsideResponse } from '../../sdk/outside-call';

/** The user of a token, and their teams in the organization: by name, and by slug if it differs. */
export interface Member {
  readonly username: string;
  readonly teams: readonly string[];
}

/** Where to look up an organization. */
export interface Hub {
  /** Address of the API, ending in a slash; empty is GitHub’s own. */
  readonly base_url: string;
  readonly organization: string;
  readonly organization_id: number;
}

const who = 'GitHub';
const ownAddress = 'https://api.github.com/';
const pageSize = 100;
/** The maximum number of pages that are read: 10,000 organizations or teams of one user. */
const mostPages = 100;

/** Asks GitHub about members of an organization. */
export class Organizations {
  private readonly calls: OutsideCalls;

  constructor(clock: { now(): number }) {
    this.calls = new OutsideCalls(clock);
  }

  /**
   * The id of an organization, from its public page of the API. Throws `invalid` if there is no such page, `upstream`
   * if GitHub is unavailable.
   */
  async idOf({ base_url: base, organization }: Omit<Hub, 'organization_id'>): Promise<number> {
    const answer = await this.ask(base, `orgs/${encodeURIComponent(organization)}`);
    const { id } = Object(answer.json) as { id?: unknown };
    if (answer.status === 200 && isId(id)) return id;
    refuseAway(answer);
    const text = 'unable to fetch the organization_id, you must manually set it in the config';
    throw new Refusal('invalid', `${text}: ${who} answered ${answer.status}`);
  }

  /**
   * The organization member who owns a token. Throws `denied` for a bad token or a token without the needed scope,
   * `invalid` if its owner is not a member, `upstream` if GitHub is unavailable.
   */
  async memberBy(hub: Hub, token: string): Promise<Member> {
    const answer = await this.ask(hub.base_url, 'user', token);
    const { login } = Object(admitted(answer)) as { login?: unknown };
    if (typeof login !== 'string' || login === '')
      throw new Refusal('upstream', `${who} does not return the user of the token`);
    const organizations = await this.all(hub.base_url, 'user/orgs', token, ({ id }) => id === hub.organization_id);
    if (organizations.length === 0) throw new Refusal('invalid', 'user is not part of required org');
    const teams = await this.all(
      hub.base_url,
      'user/teams',
      token,
      ({ organization }) => (Object(organization) as HubEntry).id === hub.organization_id,
    );
    const names = teams.flatMap(({ name, slug }) => [name, slug]).filter((name) => typeof name === 'string');
    return { username: login, teams: [...new Set(names)] };
  }

  private async all(
    base: string,
    path: string,
    token: string,
    filter: (one: HubEntry) => boolean,
  ): Promise<HubEntry[]> {
    const found: HubEntry[] = [];
    for (let page = 1; page <= mostPages; page++) {
      const answer = await this.ask(base, `${path}?per_page=${pageSize}${page === 1 ? '' : `&page=${page}`}`, token);
      const listed = admitted(answer);
      if (!Array.isArray(listed)) throw new Refusal('upstream', `${who} did not return a list of ${path}`);
      found.push(...listed.map((one) => Object(one) as HubEntry).filter(filter));
      if (listed.length < pageSize) break;
    }
    return found;
  }

  private ask(base: string, path: string, token?: string): Promise<OutsideResponse> {
    const headers = {
      accept: 'application/vnd.github+json',
      // GitHub refuses requests without a user agent.
      'user-agent': 'keystead',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    };
    return this.calls.call(who, (base || ownAddress) + path, { headers });
  }
}

interface HubEntry {
  readonly id?: unknown;
  readonly name?: unknown;
  readonly slug?: unknown;
  readonly organization?: unknown;
}

const isId = (id: unknown): id is number => typeof id === 'number' && Number.isSafeInteger(id) && id > 0;

/** The content of a response. Throws like `memberBy`. */
function admitted(answer: OutsideResponse): unknown {
  if (answer.status === 200) return answer.json;
  refuseAway(answer);
  if (answer.status === 401) throw new Refusal('denied', 'permission denied');
  throw new Refusal('denied', `${who} answered ${answer.status}: the token needs the scope read:org`);
}

/**
 * Throws for failures that the user did not cause: an outage, or the rate limit, which GitHub also answers with 403.
 */
function refuseAway({ status, retryAfterSeconds, json }: OutsideResponse): void {
  const limited =
    retryAfterSeconds > 0 || /rate limit/i.test(String((Object(json) as { message?: unknown }).message ?? ''));
  if (status < 300 || (status < 500 && status !== 429 && !(status === 403 && limited))) return;
  throw new Refusal('upstream', `${who} answered ${status}${limited ? ': its rate limit was exceeded' : ''}`);
}
