import { Reach } from '@keystead/outside';

/** The Git hosts to which an agent forwards requests: those at the given addresses, or `any`. */
export type ForwardingTo = 'any' | readonly string[];

/** Private networks. They do not include this machine and its link-local neighbours, which must be named explicitly. */
const privateNetworks = ['10.0.0.0/8', '100.64.0.0/10', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'];
const everywhere = ['0.0.0.0/0', '::/0'];

/** The part of its network that an agent opens to the connections of its pool, as its operator configured. */
export class Forwarding {
  /** The addresses that may be called. Addresses where clouds serve credentials are never among them. */
  readonly reach: Reach;
  /** The named hosts; undefined if any may be called. */
  readonly origins: ReadonlySet<string> | undefined;

  constructor(to: ForwardingTo) {
    this.reach = new Reach(to === 'any' ? privateNetworks : everywhere);
    this.origins = to === 'any' ? undefined : new Set(to.map((one) => new URL(one).origin));
  }

  /** Why this agent does not call an address; undefined if it may be called. */
  refusal(url: string): string | undefined {
    if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) return 'it has no http or https address';
    const { origin } = new URL(url);
    if (!this.origins || this.origins.has(origin)) return undefined;
    return `this agent does not forward to ${origin} (AGENT_REQUEST_FORWARDING)`;
  }
}
