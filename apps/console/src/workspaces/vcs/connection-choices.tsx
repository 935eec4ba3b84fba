import { Link } from '@tanstack/react-router';
import { Empty } from '../../design/page';
import { useRead } from '../api';
import { useInstallations } from './app';

/** The Git host connections of an organization as options of a field, with the chosen one. */
export function useConnections(org: string, chosen: string) {
  const clients = useRead(['oauth-clients', org, 'tokens'], (api) =>
    api.GET('/api/v2/organizations/{organization_name}/oauth-clients', {
      params: { path: { organization_name: org }, query: { include: 'oauth_tokens' } },
    }),
  );
  const installations = useInstallations();
  const tokens = (clients.data?.data ?? []).flatMap(({ attributes, relationships }) =>
    relationships['oauth-tokens'].data.map(({ id }) => ({
      value: id,
      label: attributes.name || `${attributes['service-provider-display-name']}, ${attributes['http-url']}`,
    })),
  );
  const ids = new Set(clients.data?.data.map(({ id }) => id));
  const apps = (installations.data?.data ?? [])
    .filter(({ relationships }) => ids.has(relationships['oauth-client'].data?.id ?? ''))
    .map(({ id, attributes }) => ({ value: id, label: `${attributes.name}, by app` }));
  const connections = [...tokens, ...apps];
  const isOffered = connections.some((one) => one.value === chosen);
  return {
    isEmpty: clients.data?.data.length === 0,
    options: isOffered
      ? connections
      : [...connections, { value: chosen, label: chosen === '' ? 'choose one' : chosen }],
  };
}

/**
 * The attribute that refers to a connection in a request: it depends on whether the connection is an app installation
 * or a token.
 */
export const connectionAttribute = (id: string) =>
  id.startsWith('ghain-') ? { 'vcshost-app-installation-id': id } : { 'oauth-token-id': id };

/** Shown if a connection is needed and there is none. */
export function NoConnection({ org }: { readonly org: string }) {
  return (
    <Empty>
      There is no connection to a Git host yet:{' '}
      <Link to={`/organizations/${encodeURIComponent(org)}/version-control`}>add one</Link> first.
    </Empty>
  );
}
