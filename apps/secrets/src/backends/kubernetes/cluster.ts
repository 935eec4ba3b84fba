import { Refusal } from '@keystead/refusal';
import { OutsideCalls } from '../../sdk/outside-call';
import { clusterMeans, type OwnPod, usualPod } from '../../sdk/own-pod';
import { withoutEndSlashes } from '../../sdk/path-text';
import type { KubernetesConfig } from './config';

/** A service account, verified by a cluster. */
export interface ServiceAccount {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

const who = 'the cluster';

/** Asks clusters to verify tokens. */
export class Cluster {
  private readonly calls: OutsideCalls;

  constructor(
    clock: { now(): number },
    private readonly pod: OwnPod = usualPod,
  ) {
    this.calls = new OutsideCalls(clock);
  }

  /**
   * The account of a token according to the cluster, for one of `audiences` if there are any. Throws `denied` if the
   * token is not the cluster's, `upstream` if the cluster is unavailable.
   */
  async review(config: KubernetesConfig, token: string, audiences: readonly string[]): Promise<ServiceAccount> {
    const spec = { token, ...(audiences.length > 0 ? { audiences } : {}) };
    const { ca, reviewer } = await this.accessOf(config);
    const url = addressOf(config, '/apis/authentication.k8s.io/v1/tokenreviews');
    const { status, json } = await this.calls.call(who, url, {
      method: 'POST',
      json: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec },
      headers: { authorization: `Bearer ${reviewer ?? token}` },
      ca,
    });
    // Without a reviewer the login token is also the credential, so 401 means that it is invalid. With a reviewer, 401
    // means that the reviewer's token is invalid.
    if (status === 401 && reviewer === undefined) throw denied();
    if (status === 401 || status === 403) {
      throw new Refusal(
        'upstream',
        `${who} answered ${status}: token_reviewer_jwt is not allowed to create token reviews`,
      );
    }
    if (status < 200 || status > 299) throw new Refusal('upstream', `${who} answered ${status} to a token review`);
    const answer = (json as { status?: Review } | undefined)?.status;
    if (typeof answer !== 'object' || answer === null)
      throw new Refusal('upstream', `the response of ${who} is not a token review`);
    if (answer.authenticated !== true || answer.error) throw denied();
    const good = Array.isArray(answer.audiences) ? answer.audiences : [];
    // A cluster without audience support returns no audiences, and would accept a token for another audience.
    if (audiences.length > 0 && !audiences.some((audience) => good.includes(audience))) throw denied();
    const [system, kind, namespace, name, ...more] = String(answer.user?.username ?? '').split(':');
    if (system !== 'system' || kind !== 'serviceaccount' || !namespace || !name || more.length > 0) throw denied();
    return { namespace, name, uid: String(answer.user?.uid ?? '') };
  }

  /** The labels of a namespace. Throws `invalid` if no reviewer is configured, `upstream` if the cluster is unavailable. */
  async labelsOf(config: KubernetesConfig, namespace: string): Promise<Readonly<Record<string, string>>> {
    const { ca, reviewer } = await this.accessOf(config);
    if (reviewer === undefined) {
      throw new Refusal(
        'invalid',
        'bound_service_account_namespace_selector needs token_reviewer_jwt in the configuration',
      );
    }
    const url = addressOf(config, `/api/v1/namespaces/${encodeURIComponent(namespace)}`);
    const { status, json } = await this.calls.call(who, url, { headers: { authorization: `Bearer ${reviewer}` }, ca });
    if (status === 404) throw denied();
    if (status !== 200) throw new Refusal('upstream', `${who} answered ${status} for the namespace of the account`);
    return (json as { metadata?: { labels?: Record<string, string> } } | undefined)?.metadata?.labels ?? {};
  }

  private async accessOf(config: KubernetesConfig): Promise<{ ca: string | undefined; reviewer: string | undefined }> {
    const {
      kubernetes_host: host = '',
      kubernetes_ca_cert,
      token_reviewer_jwt,
      disable_local_ca_jwt: foreign,
    } = config;
    const access = { host, ca: kubernetes_ca_cert, token: token_reviewer_jwt, foreign };
    const { ca, token } = await clusterMeans(this.pod, access);
    return { ca, reviewer: token };
  }
}

interface Review {
  readonly authenticated?: unknown;
  readonly error?: unknown;
  readonly audiences?: unknown;
  readonly user?: { readonly username?: unknown; readonly uid?: unknown };
}

function addressOf({ kubernetes_host: host = '' }: KubernetesConfig, path: string): string {
  return withoutEndSlashes(host) + path;
}

const denied = (): Refusal => new Refusal('denied', 'permission denied');
