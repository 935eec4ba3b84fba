import { type OutsideResponse, outsideCall } from '@keystead/outside';

/** The secrets service that runs get credentials from. */
export interface SecretsService {
  /** Without a slash at the end. */
  readonly address: string;
  /** Where its login with signed tokens is mounted, below `auth/`. */
  readonly mount: string;
  readonly audience: string;
  /** Who signs: the public address of the workspace service. */
  readonly issuer: string;
}

const timeoutMs = 15_000;

/** Sends something to the secrets service, `path` below `/v1/`. Throws Unreachable. */
export function postSecrets(
  address: string,
  path: string,
  given: { namespace: string; token?: string; body?: object; ca?: string },
): Promise<OutsideResponse> {
  const headers = {
    ...(given.namespace === '' ? {} : { 'X-Vault-Namespace': given.namespace }),
    ...(given.token === undefined ? {} : { 'X-Vault-Token': given.token }),
  };
  const request = { method: 'POST', json: given.body ?? {}, headers, ca: given.ca } as const;
  return outsideCall('the secrets service', `${address}/v1/${path}`, request, timeoutMs);
}

/** Ends a token; one that is over already is as good. */
export async function revokeToken(address: string, namespace: string, token: string, ca?: string): Promise<void> {
  const answer = await postSecrets(address, 'auth/token/revoke-self', { namespace, token, ca });
  if (answer.status >= 300 && answer.status !== 403) throw new Error(`revoke-self answered ${answer.status}`);
}
