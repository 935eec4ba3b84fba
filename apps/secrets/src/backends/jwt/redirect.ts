/** The namespace parameter of an address, and the address without it. */
export function takeNamespace(given: string): { redirectUri: string; namespace: string } {
  if (!URL.canParse(given)) return { redirectUri: given, namespace: '' };
  const url = new URL(given);
  const namespace = url.searchParams.get('namespace') ?? '';
  if (namespace === '') return { redirectUri: given, namespace };
  url.searchParams.delete('namespace');
  return { redirectUri: url.href, namespace };
}
