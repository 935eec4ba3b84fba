import { ownMachineToo } from '@keystead/outside';
import { Refusal } from '@keystead/refusal';
import { LRUCache } from 'lru-cache';
import { OutsideCalls, type OutsideResponse } from '../../sdk/outside-call';
import type { InForce } from './config';

const computeVersion = '2022-11-01';
const identityVersion = '2024-11-30';
/** The address at which every machine of the cloud reaches its metadata service. */
const usualMetadataHost = 'http://169.254.169.254';
const attempts = 3;
const retried = new Set([408, 429, 500, 502, 503, 504]);
/** A token for the compute API is used until this long before its end. */
const spareMs = 5 * 60_000;

/** A machine or a scale set as the compute API describes it; ids of identities are principal ids. */
export interface ComputeResource {
  readonly location: string;
  readonly hasIdentity: boolean;
  readonly principalIds: readonly string[];
}
interface ResourceBody {
  readonly location?: string;
  readonly identity?: {
    readonly principalId?: string;
    readonly userAssignedIdentities?: Readonly<Record<string, { readonly principalId?: string | null } | null>>;
  } | null;
  readonly properties?: { readonly principalId?: string; readonly clientId?: string };
  readonly value?: readonly ResourceBody[];
  readonly nextLink?: string;
}

/** The compute and identity calls of the resource manager that a login needs. */
export class ResourceClient {
  private readonly tokens = new LRUCache<string, { token: string; endsMs: number }>({ max: 200 });

  private readonly calls: OutsideCalls;

  constructor(
    private readonly metadataHost: string,
    private readonly clock: { now(): number },
    private readonly pauseMs = 500,
  ) {
    this.calls = new OutsideCalls(clock);
  }

  /** Drops the tokens, so that new ones are fetched. */
  forget(): void {
    this.tokens.clear();
  }

  /** A virtual machine. Throws `denied` if it does not exist, `upstream` if the API is unavailable. */
  machine(config: InForce, subscription: string, group: string, name: string): Promise<ComputeResource> {
    return this.compute(
      config,
      'virtual machine',
      subscription,
      group,
      `virtualMachines/${enc(name)}`,
      '$expand=instanceView&',
    );
  }

  /** A scale set of either orchestration mode. */
  scaleSet(config: InForce, subscription: string, group: string, name: string): Promise<ComputeResource> {
    return this.compute(
      config,
      'virtual machine scale set',
      subscription,
      group,
      `virtualMachineScaleSets/${enc(name)}`,
      '',
    );
  }

  /** Client ids of the user-assigned identities in resource groups. Groups that cannot be read are skipped. */
  async clientIds(config: InForce, subscription: string, groups: readonly string[]): Promise<Set<string>> {
    const found = new Set<string>();
    for (const group of new Set(groups)) {
      let next: string | undefined =
        `${config.hosts.resourceManager}${providers(subscription, group)}Microsoft.ManagedIdentity/userAssignedIdentities?api-version=${identityVersion}`;
      for (let page = 0; next && page < 100; page++) {
        const answer: OutsideResponse = await this.get(config, next);
        if (answer.status !== 200) break;
        const body = answer.json as ResourceBody;
        for (const identity of body.value ?? [])
          if (identity.properties?.clientId) found.add(identity.properties.clientId);
        next = sameHost(body.nextLink, config.hosts.resourceManager);
      }
    }
    return found;
  }

  private async compute(
    config: InForce,
    what: string,
    subscription: string,
    group: string,
    resource: string,
    query: string,
  ) {
    const url = `${config.hosts.resourceManager}${providers(subscription, group)}Microsoft.Compute/${resource}?${query}api-version=${computeVersion}`;
    const answer = await this.get(config, url);
    if (answer.status === 404) throw new Refusal('denied', `unable to retrieve ${what} metadata: not found`);
    if (answer.status !== 200 || !answer.json) {
      throw new Refusal('upstream', `unable to retrieve ${what} metadata: the compute API answered ${answer.status}`);
    }
    const body = answer.json as ResourceBody;
    const ids: string[] = [];
    if (body.identity?.principalId) ids.push(body.identity.principalId);
    for (const [id, assigned] of Object.entries(body.identity?.userAssignedIdentities ?? {})) {
      // Flexible scale sets omit the principal, so it is read from the identity itself.
      const principal = assigned?.principalId ?? (await this.principalOf(config, id));
      if (principal) ids.push(principal);
    }
    return { location: body.location ?? '', hasIdentity: Boolean(body.identity), principalIds: ids };
  }

  private async principalOf(config: InForce, id: string): Promise<string | undefined> {
    if (!/^\/subscriptions\/[^?#]+$/.test(id) || id.includes('/../')) return undefined;
    const answer = await this.get(config, `${config.hosts.resourceManager}${id}?api-version=${identityVersion}`);
    return answer.status === 200 ? (answer.json as ResourceBody).properties?.principalId : undefined;
  }

  private async get(config: InForce, url: string): Promise<OutsideResponse> {
    const headers = { authorization: `Bearer ${await this.token(config)}`, accept: 'application/json' };
    for (let attempt = 1; ; attempt++) {
      const answer = await this.calls.call('the compute API', url, { headers });
      if (!retried.has(answer.status) || attempt >= attempts) return answer;
      const waitMs = Math.min(answer.retryAfterSeconds * 1000 || this.pauseMs * 2 ** (attempt - 1), 5_000);
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  }

  /** A token for the resource manager: by client credentials if configured, otherwise as this machine. */
  private async token(config: InForce): Promise<string> {
    const { hosts, tenantId, clientId, clientSecret, generation } = config;
    const key = JSON.stringify([hosts, tenantId, clientId, clientSecret, generation]);
    const cached = this.tokens.get(key);
    if (cached && cached.endsMs - spareMs > this.clock.now()) return cached.token;
    const { status, json } = await (config.clientSecret ? this.byClient(config) : this.byMachine(config));
    const body = json as { access_token?: string; expires_in?: number | string; error?: string } | undefined;
    if (status !== 200 || !body?.access_token) {
      const reason = body?.error && /^[\w.-]{1,64}$/.test(body.error) ? ` (${body.error})` : '';
      throw new Refusal('upstream', `no token for the compute API: the directory answered ${status}${reason}`);
    }
    const endsMs = this.clock.now() + Number(body.expires_in ?? 0) * 1000;
    this.tokens.set(key, { token: body.access_token, endsMs });
    return body.access_token;
  }

  private byClient({ hosts, tenantId, clientId, clientSecret }: InForce): Promise<OutsideResponse> {
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
      scope: `${hosts.audience}/.default`,
    });
    const url = `${hosts.authority.replace(/\/$/, '')}/${enc(tenantId)}/oauth2/v2.0/token`;
    return this.calls.call('the directory', url, { method: 'POST', form });
  }

  private byMachine({ hosts, clientId }: InForce): Promise<OutsideResponse> {
    const query = new URLSearchParams({ 'api-version': '2018-02-01', resource: hosts.audience });
    if (clientId) query.set('client_id', clientId);
    const host = this.metadataHost || usualMetadataHost;
    const url = `${host}/metadata/identity/oauth2/token?${query}`;
    const request = { headers: { Metadata: 'true' }, reach: ownMachineToo };
    return this.calls.call('the metadata service of this machine', url, request, 5_000);
  }
}

const enc = encodeURIComponent;

function providers(subscription: string, group: string): string {
  return `/subscriptions/${enc(subscription)}/resourceGroups/${enc(group)}/providers/`;
}

/** The link to the next page, if it is at the resource manager, because our token is sent only there. */
function sameHost(link: string | undefined, resourceManager: string): string | undefined {
  if (!link || !URL.canParse(link)) return undefined;
  return new URL(link).origin === new URL(resourceManager).origin ? link : undefined;
}
