import { GetRoleCommand, GetUserCommand, IAMClient } from '@aws-sdk/client-iam';
import { Refusal } from '@keystead/refusal';
import { LRUCache } from 'lru-cache';
import { agentsTo, guard } from '../../sdk/cloud-client';
import { attempt } from '../../sdk/cloud-error';
import type { OutsideParts } from '../../sdk/outside';
import { canonicalArn, type Principal, principalOf } from './arn';
import type { AskedClient } from './client';

/** A user or role from the IAM API: an id that is never reused, and the ARN with its path. */
export interface KnownPrincipal {
  readonly id: string;
  readonly arn: string;
}

const timeoutMs = 10_000;
const mostClients = 50;

/** Looks up users and roles in the account of the configured key. */
export class Principals {
  private readonly clients = new LRUCache<string, IAMClient>({
    max: mostClients,
    dispose: (client) => client.destroy(),
  });

  constructor(private readonly parts: OutsideParts) {}

  /**
   * Finds a principal through the IAM API. Throws `invalid` if there is no key, or if the result is in another account,
   * and the API's refusals.
   */
  async find(config: AskedClient, principal: Principal): Promise<KnownPrincipal> {
    const arn = canonicalArn(principal);
    if (config.access_key === '') {
      throw new Refusal('invalid', `unable to resolve ARN ${JSON.stringify(arn)}: config/client has no access_key`);
    }
    const client = this.clientOf(config);
    const found = await attempt(`unable to resolve ARN ${JSON.stringify(arn)} to internal ID`, () =>
      principal.kind === 'user' ? userOf(client, principal.name) : roleOf(client, principal.name),
    );
    // The API searches by name, and only in the account of the key. Another account may have the same name.
    if (!found.id || canonicalArn(principalOf(found.arn)) !== arn) {
      throw new Refusal('invalid', `unable to resolve ARN ${JSON.stringify(arn)}: the key belongs to another account`);
    }
    return found;
  }

  /** Drops the clients after a change of configuration. */
  forget(): void {
    this.clients.clear();
  }

  private clientOf(config: AskedClient): IAMClient {
    const { access_key, secret_key, iam_endpoint, max_retries, generation } = config;
    const key = JSON.stringify([access_key, secret_key, iam_endpoint, max_retries, generation]);
    const cached = this.clients.get(key);
    if (cached) return cached;
    const client = new IAMClient({
      region: 'us-east-1',
      credentials: { accessKeyId: access_key, secretAccessKey: secret_key },
      requestHandler: {
        requestTimeout: timeoutMs,
        throwOnRequestTimeout: true,
        connectionTimeout: 5_000,
        ...agentsTo([iam_endpoint], { keepAlive: true, maxSockets: 50 }),
      },
      ...(iam_endpoint ? { endpoint: iam_endpoint } : {}),
      ...(max_retries >= 0 ? { maxAttempts: max_retries + 1 } : {}),
    });
    guard(client, `the identity API at ${iam_endpoint || 'the provider'}`, {
      parts: this.parts,
      timeoutMs,
      faults: 'aws',
    });
    this.clients.set(key, client);
    return client;
  }
}

async function userOf(client: IAMClient, name: string): Promise<KnownPrincipal> {
  const { User } = await client.send(new GetUserCommand({ UserName: name }));
  return { id: User?.UserId ?? '', arn: User?.Arn ?? '' };
}

async function roleOf(client: IAMClient, name: string): Promise<KnownPrincipal> {
  const { Role } = await client.send(new GetRoleCommand({ RoleName: name }));
  return { id: Role?.RoleId ?? '', arn: Role?.Arn ?? '' };
}
