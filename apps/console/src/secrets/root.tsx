import { useQueryClient } from '@tanstack/react-query';
import { useMemo, useRef } from 'react';
import type { Refused } from '../api/api-error';
import { WhyContext } from '../design/error-notice';
import { Frame } from '../shell/frame';
import { useSession } from '../shell/session';
import { useFind } from './find';
import { Why } from './may';
import { NamespaceSwitcher } from './namespace-switcher';
import { useNavigation } from './navigation';
import { useAddress } from './pages';

const header = 'X-Service-Namespace';

/** Reads the namespace from an address. */
export const namespaceSearch = (search: Record<string, unknown>): { ns?: string } =>
  typeof search.ns === 'string' ? { ns: search.ns } : {};

const why = (refused: Refused) => <Why refused={refused} />;

/** All pages, in the namespace of the address or else of the session. */
export function Root() {
  const { session, transport } = useSession();
  const { ns } = useAddress('/');
  const queries = useQueryClient();
  const namespace = ns ?? session.namespace ?? '';
  const before = useRef(namespace);
  // Clear the cache before pages load, because it may contain data of another namespace.
  useMemo(() => {
    if (namespace === '') transport.headers.delete(header);
    else transport.headers.set(header, namespace);
    if (before.current !== namespace) queries.removeQueries();
    before.current = namespace;
  }, [namespace, transport, queries]);
  return (
    <WhyContext.Provider value={why}>
      <NamespaceFrame key={namespace} namespace={namespace} />
    </WhyContext.Provider>
  );
}

/** The frame for one namespace, as permissions differ by namespace. */
function NamespaceFrame({ namespace }: { readonly namespace: string }) {
  const nav = useNavigation();
  const find = useFind();
  return <Frame nav={nav} switcher={<NamespaceSwitcher namespace={namespace} />} find={find} />;
}
