import { SameBy } from '../../design/page';

/** The foot of a page: the equivalent API call, also as a shell command. */
export function SameByApi({ method = 'GET', path }: { readonly method?: string; readonly path: string }) {
  const verb = method === 'GET' ? '' : `-X ${method} `;
  const command = `curl -sg ${verb}-H "Authorization: Bearer $TOKEN" '${location.origin}/api/v2/${path}'`;
  return <SameBy api={`${method} /api/v2/${path}`} command={command} />;
}
