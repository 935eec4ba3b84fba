/** An authorization request of an application. */
export interface AuthorizeRequest {
  readonly provider: string;
  /** Empty for the root namespace. */
  readonly namespace: string;
  readonly parameters: Readonly<Record<string, string>>;
}

const place = /^\/ui\/((?:[^/]+\/)*)identity\/oidc\/provider\/([^/]+)\/authorize\/?$/;

/** Reads an authorization request from the address, with its parameters unchanged by the router. */
export function authorizeRequest({ pathname, search }: Pick<Location, 'pathname' | 'search'>) {
  const [, namespace, provider] = place.exec(pathname) ?? [];
  if (provider === undefined) return undefined;
  return {
    provider: decodeURIComponent(provider),
    namespace: decodeURIComponent(namespace ?? '').replace(/\/$/, ''),
    parameters: Object.fromEntries(new URLSearchParams(search)),
  } satisfies AuthorizeRequest;
}

/** The redirect address: never one that would run script here. */
export function addressWith(redirectUri: string, answer: Readonly<Record<string, string | undefined>>): string {
  const url = new URL(redirectUri);
  if (/^(javascript|data|vbscript|blob|file|about):$/.test(url.protocol))
    throw new Error('this address is not allowed');
  for (const [name, value] of Object.entries(answer)) if (value) url.searchParams.append(name, value);
  return url.href;
}

/** The request without its requirement to sign in, after the user has signed in. */
export function afterSignIn({
  max_age: _age,
  prompt = '',
  ...rest
}: AuthorizeRequest['parameters']): AuthorizeRequest['parameters'] {
  const prompts = prompt.split(' ').filter((one) => one !== 'login');
  return { ...rest, prompt: prompts.join(' ') };
}
