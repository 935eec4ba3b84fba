/** What an application sent a person here with. */
export interface AuthorizeRequest {
  readonly provider: string;
  /** Empty for the root namespace. */
  readonly namespace: string;
  readonly parameters: Readonly<Record<string, string>>;
}

const place = /^\/ui\/((?:[^/]+\/)*)identity\/oidc\/provider\/([^/]+)\/authorize\/?$/;

/** The authorization endpoint of a provider, if that is the address; parameters as they came, before any router reads them. */
export function authorizeRequest({ pathname, search }: Pick<Location, 'pathname' | 'search'>) {
  const [, namespace, provider] = place.exec(pathname) ?? [];
  if (provider === undefined) return undefined;
  return {
    provider: decodeURIComponent(provider),
    namespace: decodeURIComponent(namespace ?? '').replace(/\/$/, ''),
    parameters: Object.fromEntries(new URLSearchParams(search)),
  } satisfies AuthorizeRequest;
}

/** Where the browser goes with an answer: never to an address that would run script here. */
export function addressWith(redirectUri: string, answer: Readonly<Record<string, string | undefined>>): string {
  const url = new URL(redirectUri);
  if (/^(javascript|data|vbscript|blob|file|about):$/.test(url.protocol))
    throw new Error('this address is not allowed');
  for (const [name, value] of Object.entries(answer)) if (value) url.searchParams.append(name, value);
  return url.href;
}

/** What is left to ask of a request once its person has signed in for it. */
export function afterSignIn({
  max_age: _age,
  prompt = '',
  ...rest
}: AuthorizeRequest['parameters']): AuthorizeRequest['parameters'] {
  const prompts = prompt.split(' ').filter((one) => one !== 'login');
  return { ...rest, prompt: prompts.join(' ') };
}
