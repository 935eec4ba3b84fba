/** The namespace parameter of an address, and the address without it. */
export function takeNamespace(redirectUri: string): { redirectUri: string; namespace: string } {
  if (!URL.canParse(redirectUri)) return { redirectUri, namespace: '' };
  const url = new URL(redirectUri);
  const namespace = url.searchParams.get('namespace') ?? '';
  if (namespace === '') return { redirectUri, namespace };
  url.searchParams.delete('namespace');
  return { redirectUri: url.href, namespace };
}
