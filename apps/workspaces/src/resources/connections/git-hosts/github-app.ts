import { createPrivateKey } from 'node:crypto';
import { signJwt } from '@keystead/auth';
import { invalid } from '@keystead/jsonapi';
import { Unreachable } from '@keystead/outside';
import type { GitHost } from './git-host';
import { everyPage, repositoriesIn } from './gitea';
import { github } from './github';
import { HostApi, type HostCall } from './host-api';
import { listAt, repositoriesPerPage, textAt, textOrNull, at as valueAt } from './reading';

/** The credentials of a GitHub App. */
export interface AppIdentity {
  readonly apiUrl: string;
  /** The id of the app, or its client id. */
  readonly appId: string;
  /** An RSA key in PEM. */
  readonly privateKey: string;
}

/** An account that an app is installed on. */
export interface AppAccount {
  readonly installationId: number;
  readonly name: string;
  /** `Organization` or `User`. */
  readonly type: string;
  readonly iconUrl: string | null;
  readonly url: string | null;
  readonly isSuspended: boolean;
}

/** A token of one installation. */
export interface InstallationToken {
  readonly token: string;
  readonly seconds: number;
}

/** GitHub accepts signed tokens for at most ten minutes, by its own clock, which may be behind ours. */
const validSeconds = 9 * 60;
const clockSeconds = 60;
const usualSeconds = 3600;
const pageSize = 100;

function isRsaKey(text: string): boolean {
  try {
    return createPrivateKey(text).asymmetricKeyType === 'rsa';
  } catch {
    return false;
  }
}

/** Throws `invalid` for a string that is not an RSA private key in PEM. */
export function requireRsaKey(text: string): void {
  if (isRsaKey(text)) return;
  throw invalid('privateKey', 'must be the RSA private key of the app, in PEM, without a passphrase');
}

/** GitHub's API for the app itself. */
export function apiOfApp({ apiUrl, appId, privateKey }: AppIdentity, call: HostCall, nowMs: number): HostApi {
  const now = Math.floor(nowMs / 1000);
  const token = signJwt({ iss: appId, iat: now - clockSeconds, exp: now + validSeconds }, { privatePem: privateKey });
  return new HostApi(apiUrl, github.authorization(token), call);
}

/** The accounts that an app is installed on; undefined if there are too many. */
export async function listInstallations(api: HostApi): Promise<readonly AppAccount[] | undefined> {
  const all = await everyPage(api, '/app/installations', pageSize);
  return all?.flatMap((json) => {
    const installationId = Number(textAt(json, 'id'));
    const name = textAt(json, 'account', 'login') || textAt(json, 'account', 'slug');
    if (!Number.isSafeInteger(installationId) || installationId <= 0 || name === '') return [];
    const isSuspended = (valueAt(json, 'suspended_at') ?? null) !== null;
    const [iconUrl, url] = [textOrNull(json, 'account', 'avatar_url'), textOrNull(json, 'html_url')];
    return [{ installationId, name, type: textAt(json, 'target_type') || 'Organization', iconUrl, url, isSuspended }];
  });
}

/** Requests a token for an installation. Throws HostRefused, and `upstream` if the answer contains no token. */
export async function mintToken(
  api: HostApi,
  installationId: number | bigint,
  nowMs: number,
): Promise<InstallationToken> {
  const json = await api.call('POST', `/app/installations/${installationId}/access_tokens`, {});
  const token = textAt(json, 'token');
  if (!/^[\x21-\x7e]{1,1024}$/.test(token)) throw new Unreachable('the Git host did not answer with a token');
  // Seconds from now. If the expiry is not within the next hour, for example because of a wrong clock, one hour is
  // assumed.
  const secondsLeft = Math.floor((Date.parse(textAt(json, 'expires_at')) - nowMs) / 1000);
  return { token, seconds: secondsLeft > 0 && secondsLeft < usualSeconds ? secondsLeft : usualSeconds };
}

/** An app that a host has created from a manifest. */
export interface MadeApp {
  readonly appId: string;
  readonly privateKey: string;
  readonly webhookSecret: string;
}

/** Exchanges a code for the created app. Throws HostRefused, and `upstream` if the answer contains no app. */
export async function convertManifest(apiUrl: string, code: string, call: HostCall): Promise<MadeApp> {
  // The code is the only credential needed.
  const { authorization: _, ...headers } = github.authorization('');
  const path = `/app-manifests/${encodeURIComponent(code)}/conversions`;
  const json = await new HostApi(apiUrl, headers, call).call('POST', path);
  const app = {
    appId: textAt(json, 'id'),
    privateKey: textAt(json, 'pem'),
    webhookSecret: textAt(json, 'webhook_secret'),
  };
  if (!/^\d{1,15}$/.test(app.appId) || app.webhookSecret === '' || !isRsaKey(app.privateKey)) {
    throw new Unreachable('the Git host did not answer with an app');
  }
  return app;
}

/** GitHub, by an installed app: one webhook of the app reports on all its repositories. */
export const githubApp: GitHost = {
  ...github,
  oauth: undefined,
  async listRepositories(api, page) {
    const json = await api.get(`/installation/repositories?page=${page}&per_page=${repositoriesPerPage}`);
    return { ...repositoriesIn(listAt(json, 'repositories')), total: Number(textAt(json, 'total_count')) };
  },
  createHook: async () => 'app',
  deleteHook: async () => undefined,
};
