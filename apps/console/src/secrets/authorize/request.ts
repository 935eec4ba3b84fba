/** An authorization request of an application. */
export interface AuthorizeRequest {
  readonly provider: string;
  /** The namespace; empty for the root namespace. */
  readonly namespace: string;
  readonly parameters: Readonly<Record<string, string>>;
}

const place = /^\/ui\/((?:[^/]+\/)*)identity\/oidc\/provider\/([^/]+)\/authorize\/?$/;

/** Reads an authorization request from the address, with the original parameters, before the router parses them. */
export function authorizeRequest({ pathname, search }: Pick<Location, 'pathname' | 'search'>) {
  const [, namespace, provider] = place.exec(pathname) ?? [];
  if (provider === undefined) return undefined;
  return {
    provider: decodeURIComponent(provider),
    namespace: decodeURIComponent(namespace ?? '').replace(/\/$/, ''),
    parameters: Object.fromEntries(new URLSearchParams(search)),
  } satisfies AuthorizeRequest;
}

/** Adds the response to the redirect URI. Refuses URIs that would run a script in this page. */
export function addressWith(redirectUri: string, answer: Readonly<Record<string, string | undefined>>): string {
  const url = new URL(redirectUri);
  if (/^(javascript|data|vbscript|blob|file|about):$/.test(url.protocol))
    throw new Error('this address is not allowed');
  for (const [name, value] of Object.entries(answer)) if (value) url.searchParams.append(name, value);
  return url.href;
}

/** The request for use after the user has signed in: without the parameters that require a sign-in. */
export function afterSignIn({
  max_age: _age,
  prompt = '',
  ...rest
}: AuthorizeRequest['parameters']): AuthorizeRequest['parameters'] {
  const prompts = prompt.split(' ').filter((one) => one !== 'login');
  return { ...rest, prompt: prompts.join(' ') };
}
