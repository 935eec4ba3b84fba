import { IAMClient } from '@aws-sdk/client-iam';
import { STSClient } from '@aws-sdk/client-sts';
import {
  createCredentialChain,
  fromContainerMetadata,
  fromIni,
  fromInstanceMetadata,
} from '@aws-sdk/credential-providers';
import { LRUCache } from 'lru-cache';
import { agentsTo, guard } from '../../sdk/cloud-client';
import type { IdentityTokens } from '../../sdk/identity-tokens';
import { type OutsideParts, plainParts } from '../../sdk/outside';
import { byWebIdentity, type WebIdentity } from './web-identity';

/** How to reach the provider. Without `credentials`, those in the process environment are used. */
export interface Connection {
  readonly region: string;
  readonly maxRetries: number;
  readonly iamEndpoint: string;
  readonly stsEndpoint: string;
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string } | undefined;
  /** The role to assume with identity tokens of this service; undefined if the connection does not use them. */
  readonly webIdentity?: WebIdentity;
  /** The generation of the configuration: clients of another generation are not used. */
  readonly generation?: string;
}

/** Defaults from the process environment. */
export interface CloudTwoDefaults {
  readonly accessKey: string;
  readonly secretKey: string;
  readonly region: string;
  readonly identityTokens?: IdentityTokens;
}

interface Clients {
  readonly iam: IAMClient;
  readonly sts: STSClient;
  /** Throws `NotNow` if the identity API must not be called, before an intent is recorded that needs it. */
  check(): void;
  /** How far the clock of the identity API was ahead of ours at its last response; undefined if this is unknown. */
  aheadMs(): number | undefined;
}

/** The maximum number of sockets, which is sufficient for many simultaneous callers of a slow provider. */
const maxSockets = 512;
const maxClients = 100;

/**
 * Clients of the cloud provider, one pair per configuration, cached until the configuration is written again.
 * Credentials come from the configuration, the environment of the service, shared files, or the machine's role, in this
 * order. Spec: Cloud-provider engine (Credential source precedence).
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

  /** Clients for a short task, such as testing a new key. They are not cached, so they evict no cached clients. */
  async once<T>(connection: Connection, run: (clients: Clients) => Promise<T>): Promise<T> {
    const clients = this.make(connection);
    try {
      return await run(clients);
    } finally {
      close(clients);
    }
  }

  /** Drops all clients after a change of configuration. */
  forget(): void {
    this.clients.clear();
  }

  /** Throws `invalid` if this service cannot sign identity tokens. */
  checkIdentityTokens(): void {
    this.defaults.identityTokens?.check();
  }

  private make(connection: Connection): Clients {
    const { accessKey, secretKey, region } = this.defaults;
    const { iamEndpoint, stsEndpoint, webIdentity } = connection;
    const own = accessKey && secretKey ? { accessKeyId: accessKey, secretAccessKey: secretKey } : undefined;
    const around = createCredentialChain(fromIni(), fromContainerMetadata(), fromInstanceMetadata());
    const reach = {
      region: connection.region || region || 'us-east-1',
      requestHandler: {
        requestTimeout: this.timeoutMs,
        throwOnRequestTimeout: true,
        connectionTimeout: Math.min(5_000, this.timeoutMs),
        ...agentsTo([iamEndpoint, stsEndpoint], { keepAlive: true, maxSockets }),
      },
      ...(connection.maxRetries >= 0 ? { maxAttempts: connection.maxRetries + 1 } : {}),
    };
    const tokenService = { ...reach, ...(stsEndpoint ? { endpoint: stsEndpoint } : {}) };
    const assumed = webIdentity && byWebIdentity(webIdentity, this.defaults.identityTokens, tokenService);
    const credentials = assumed ?? connection.credentials ?? own ?? around;
    const shared = { ...reach, credentials };
    const iam = new IAMClient({ ...shared, ...(iamEndpoint ? { endpoint: iamEndpoint } : {}) });
    const sts = new STSClient({ ...tokenService, credentials });
    const { parts, timeoutMs } = this;
    const { circuit, aheadMs } = guard(iam, `the identity API at ${iamEndpoint || 'the provider'}`, {
      parts,
      timeoutMs,
      faults: 'cloudtwo',
    });
    guard(sts, `the token service at ${stsEndpoint || 'the provider'}`, { parts, timeoutMs, faults: 'cloudtwo' });
    return { iam, sts, check: () => circuit.check(), aheadMs };
  }
}

function close(clients: Clients): void {
  clients.iam.destroy();
  clients.sts.destroy();
}
