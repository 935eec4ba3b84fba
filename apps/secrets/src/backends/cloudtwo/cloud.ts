import { IAMClient } from '@aws-sdk/client-iam';
import { STSClient } from '@aws-sdk/client-sts';
import {
  createCredentialChain,
  fromContainerMetadata,
  fromIni,
  fromInstanceMetadata,
} from '@aws-sdk/credential-providers';
import { LRUCache } from 'lru-cache';
import { type OutsideParts, plainParts } from '../../sdk/outside';
import { guard } from './guarded-client';

/** How the provider is reached; `credentials` undefined takes what is found around the process. */
export interface Connection {
  readonly region: string;
  readonly maxRetries: number;
  readonly iamEndpoint: string;
  readonly stsEndpoint: string;
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string } | undefined;
}

/** What the process environment says where a configuration is silent. */
export interface CloudTwoDefaults {
  readonly accessKey: string;
  readonly secretKey: string;
  readonly region: string;
}

interface Clients {
  readonly iam: IAMClient;
  readonly sts: STSClient;
  /** Throws `NotNow` where the identity API is to be left alone: before anything is promised that it would have to do. */
  check(): void;
}

/** Enough for many callers at once on a provider that is slow. */
const maxSockets = 512;
const maxClients = 100;

/**
 * Clients of the cloud provider, one pair per configuration, kept until the configuration is written again. Credentials
 * come from the configuration, else the environment of the service, else shared files, else the machine's role.
 * Spec: Cloud-provider engine (Credential source precedence).
 */
export class CloudTwo {
  private readonly clients = new LRUCache<string, Clients>({ max: maxClients, dispose: close });

  constructor(
    private readonly defaults: CloudTwoDefaults,
    private readonly parts: OutsideParts = plainParts,
    private readonly timeoutMs = 30_000,
  ) {}

  of(connection: Connection): Clients {
    const key = JSON.stringify(connection);
    let clients = this.clients.get(key);
    if (!clients) {
      clients = this.make(connection);
      this.clients.set(key, clients);
    }
    return clients;
  }

  /** Drops all clients, because a configuration changed. */
  forget(): void {
    this.clients.clear();
  }

  private make(connection: Connection): Clients {
    const { accessKey, secretKey, region } = this.defaults;
    const own = accessKey && secretKey ? { accessKeyId: accessKey, secretAccessKey: secretKey } : undefined;
    const around = createCredentialChain(fromIni(), fromContainerMetadata(), fromInstanceMetadata());
    const shared = {
      region: connection.region || region || 'us-east-1',
      credentials: connection.credentials ?? own ?? around,
      requestHandler: {
        requestTimeout: this.timeoutMs,
        throwOnRequestTimeout: true,
        connectionTimeout: Math.min(5_000, this.timeoutMs),
        httpAgent: { keepAlive: true, maxSockets },
        httpsAgent: { keepAlive: true, maxSockets },
      },
      ...(connection.maxRetries >= 0 ? { maxAttempts: connection.maxRetries + 1 } : {}),
    };
    const { iamEndpoint, stsEndpoint } = connection;
    const iam = new IAMClient({ ...shared, ...(iamEndpoint ? { endpoint: iamEndpoint } : {}) });
    const sts = new STSClient({ ...shared, ...(stsEndpoint ? { endpoint: stsEndpoint } : {}) });
    const { parts, timeoutMs } = this;
    const circuit = guard(iam, `the identity API at ${iamEndpoint || 'the provider'}`, { parts, timeoutMs });
    guard(sts, `the token service at ${stsEndpoint || 'the provider'}`, { parts, timeoutMs });
    return { iam, sts, check: () => circuit.check() };
  }
}

function close(clients: Clients): void {
  clients.iam.destroy();
  clients.sts.destroy();
}
