import { audiencesOf, type Claims, importPublicKey, jwtAlgorithms, verifySignature } from '@keystead/auth';
import { Refusal } from '@keystead/refusal';
import type { KubernetesConfig } from './config';

/** The claims of a service account token, unverified until the cluster confirms them. */
export interface ClaimedAccount {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Set for tokens stored in a Secret; otherwise empty. */
  readonly secretName: string;
  readonly audiences: readonly string[];
}

const skewSeconds = 60;
const longest = 64 * 1024;
const legacy = 'kubernetes.io/serviceaccount';
const defaultIssuer = 'kubernetes/serviceaccount';

/**
 * Parses a token and checks its issuer, its times and, if keys are configured, its signature. Throws `denied`; the
 * message does not quote the token.
 */
export async function readToken(token: string, config: KubernetesConfig, nowMs: number): Promise<ClaimedAccount> {
  const claims = await claimsOf(token, config);
  const { exp, nbf, iss } = claims;
  const now = nowMs / 1000;
  if (exp !== undefined && (typeof exp !== 'number' || exp + skewSeconds <= now)) throw denied();
  if (nbf !== undefined && (typeof nbf !== 'number' || nbf - skewSeconds > now)) throw denied();
  if (!config.disable_iss_validation && iss !== (config.issuer || defaultIssuer)) throw denied();
  const account = accountOf(claims);
  if (!isLabel(account.namespace) || !account.name || !account.uid) throw denied();
  return account;
}

async function claimsOf(token: string, { pem_keys: keys }: KubernetesConfig): Promise<Claims> {
  if (keys.length > 0) {
    const imported = keys.map(importPublicKey);
    return verifySignature(token, { algorithms: jwtAlgorithms, keys: async () => imported }).catch(() => {
      throw denied();
    });
  }
  try {
    const [, body = '', signature] = token.split('.');
    const claims: unknown = JSON.parse(Buffer.from(body, 'base64url').toString('utf8'));
    if (token.length <= longest && signature && isObject(claims)) return claims;
  } catch {
    // The token is not a JWT.
  }
  throw denied();
}

function accountOf(claims: Claims): ClaimedAccount {
  const audiences = audiencesOf(claims);
  const projected = claims['kubernetes.io'];
  if (isObject(projected)) {
    const account = isObject(projected.serviceaccount) ? projected.serviceaccount : {};
    return { ...named(projected.namespace, account.name, account.uid), secretName: '', audiences };
  }
  const of = (name: string) => claims[`${legacy}/${name}`];
  const account = named(of('namespace'), of('service-account.name'), of('service-account.uid'));
  return { ...account, secretName: text(of('secret.name')), audiences };
}

function named(namespace: unknown, name: unknown, uid: unknown) {
  return { namespace: text(namespace), name: text(name), uid: text(uid) };
}

/** A valid namespace name. */
const isLabel = (name: string): boolean => /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(name);

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const denied = (): Refusal => new Refusal('denied', 'permission denied');
