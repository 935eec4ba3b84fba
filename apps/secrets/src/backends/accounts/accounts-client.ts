import { Refusal } from '@keystead/refusal';
import { Unreachable } from '../../sdk/outside';
import { OutsideCalls } from '../../sdk/outside-call';
import { clusterMeans, type OwnPod, usualPod } from '../../sdk/own-pod';
import { withoutEndSlashes } from '../../sdk/path-text';
import type { AccountsConfig } from './config';

/** The objects that the engine creates in a cluster. */
export type ObjectKind = 'serviceaccounts' | 'roles' | 'rolebindings' | 'clusterroles' | 'clusterrolebindings';

/** The name of an object; a cluster-wide object has no namespace. */
export interface ClusterObject {
  readonly kind: ObjectKind;
  readonly namespace: string;
  readonly name: string;
}

/** A token of an account, and its expiry. */
export interface AccountToken {
  readonly token: string;
  readonly expiresAtMs: number;
}

const who = 'the cluster';
const part = encodeURIComponent;

function pathOf({ kind, namespace }: Pick<ClusterObject, 'kind' | 'namespace'>): string {
  const group = kind === 'serviceaccounts' ? '/api/v1' : '/apis/rbac.authorization.k8s.io/v1';
  return kind.startsWith('cluster') ? `${group}/${kind}` : `${group}/namespaces/${part(namespace)}/${kind}`;
}

/** Calls the APIs of clusters. */
export class AccountsClient {
  private readonly calls: OutsideCalls;

  constructor(
    private readonly parts: { readonly clock: { now(): number }; fault(name: string): void | Promise<void> },
    private readonly pod: OwnPod = usualPod,
  ) {
    this.calls = new OutsideCalls(parts.clock);
  }

  /** Creates an object. Throws `invalid` with the cluster's message if the cluster refuses. */
  async create(config: AccountsConfig, object: ClusterObject, body: object): Promise<void> {
    const { status, json } = await this.call(config, 'POST', pathOf(object), body);
    if (status !== 201)
      throw refusal(`failed to create ${object.kind} ${object.namespace}/${object.name}`, status, json);
  }

  /** Deletes an object. Succeeds if it does not exist. Throws `upstream`, so that the lease's revocation is retried. */
  async remove(config: AccountsConfig, object: ClusterObject): Promise<void> {
    const { status, json } = await this.call(config, 'DELETE', `${pathOf(object)}/${part(object.name)}`);
    if (status !== 404 && (status < 200 || status > 299)) {
      throw new Refusal(
        'upstream',
        `failed to delete ${object.kind} ${object.namespace}/${object.name}: ${reasonIn(status, json)}`,
      );
    }
  }

  /** A token of an account. Throws `invalid` if the cluster refuses or the account does not exist. */
  async token(
    config: AccountsConfig,
    namespace: string,
    name: string,
    { ttlSeconds, audiences }: { ttlSeconds: number; audiences: readonly string[] },
  ): Promise<AccountToken> {
    const at = `${pathOf({ kind: 'serviceaccounts', namespace })}/${part(name)}/token`;
    const spec = { expirationSeconds: ttlSeconds, ...(audiences.length > 0 ? { audiences } : {}) };
    const { status, json } = await this.call(config, 'POST', at, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec,
    });
    const problem = `failed to create a service account token for ${namespace}/${name}`;
    if (status !== 201) throw refusal(problem, status, json);
    const issued = (json as { status?: { token?: unknown; expirationTimestamp?: unknown } } | undefined)?.status;
    const expiresAtMs = Date.parse(String(issued?.expirationTimestamp));
    if (typeof issued?.token !== 'string' || issued.token === '' || Number.isNaN(expiresAtMs)) {
      throw new Refusal('upstream', `${problem}: ${who} did not return a token`);
    }
    return { token: issued.token, expiresAtMs };
  }

  /** The labels of a namespace; undefined if the namespace does not exist. */
  async labelsOf(config: AccountsConfig, namespace: string): Promise<Readonly<Record<string, string>> | undefined> {
    const { status, json } = await this.call(config, 'GET', `/api/v1/namespaces/${part(namespace)}`);
    if (status === 404) return undefined;
    if (status !== 200) throw refusal(`failed to read namespace ${namespace}`, status, json);
    return (json as { metadata?: { labels?: Record<string, string> } } | undefined)?.metadata?.labels ?? {};
  }

  private async call(config: AccountsConfig, method: 'GET' | 'POST' | 'DELETE', path: string, json?: object) {
    const { kubernetes_host: host, kubernetes_ca_cert, service_account_jwt, disable_local_ca_jwt: foreign } = config;
    const access = { host, ca: kubernetes_ca_cert, token: service_account_jwt, foreign };
    const { ca, token } = await clusterMeans(this.pod, access);
    if (token === undefined)
      throw new Refusal('invalid', 'service_account_jwt is required: the service does not run in a pod with a token');
    const url = withoutEndSlashes(host) + path;
    await this.parts.fault(`accounts:${method}`);
    const answer = await this.calls.call(who, url, { method, json, headers: { authorization: `Bearer ${token}` }, ca });
    await this.parts.fault(`accounts:${method}:done`);
    // The cluster may recover, so leases wait for it.
    if (answer.status >= 500 || answer.status === 429)
      throw new Unreachable(`${who} is unreachable: it answered ${answer.status}`);
    return answer;
  }
}

function refusal(problem: string, status: number, json: unknown): Refusal {
  const ownFault = status === 401 || status === 403;
  return new Refusal(ownFault ? 'upstream' : 'invalid', `${problem}: ${reasonIn(status, json)}`);
}

function reasonIn(status: number, json: unknown): string {
  const { message } = Object(json) as { message?: unknown };
  return typeof message === 'string' ? message.slice(0, 500) : `${who} answered ${status}`;
}
