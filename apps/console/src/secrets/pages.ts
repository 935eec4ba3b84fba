import { useSearch } from '@tanstack/react-router';
import type { AuditSearch, ReadSearch } from './audit/search';
import type { SecretSearch } from './browser/search';
import type { LeaseSearch } from './leases/search';
import type { ExplainSearch } from './policies/search';

type Nothing = Readonly<Record<never, never>>;
interface Named {
  readonly id?: string;
}

/** The pages of this console, and their search parameters. */
export interface Pages {
  '/': { readonly ns?: string };
  '/secrets': SecretSearch;
  '/unwrap': Nothing;
  '/policies': Nothing;
  '/policies/explain': ExplainSearch;
  '/policies/$name': { readonly line?: number };
  '/leases': LeaseSearch;
  '/leases/lease': Named;
  '/access': Nothing;
  '/access/entities': Named;
  '/access/groups': Named;
  '/access/tokens': { readonly accessor?: string };
  '/access/mount': Pages['/engines/mount'];
  '/access/new': Pages['/engines/new'];
  '/access/view-as': { readonly accessor?: string };
  '/access/second-factor': Nothing;
  '/access/applications': Nothing;
  '/engines': Nothing;
  '/engines/new': { readonly type?: string };
  '/engines/mount': {
    readonly mount?: string;
    /** The tab: the list of a collection, `configuration` or `endpoints`. */
    readonly tab?: string;
    readonly name?: string;
    readonly create?: boolean;
    /** The part of the item's page that is shown. */
    readonly part?: string;
    readonly place?: string;
    readonly at?: string;
  };
  '/operations': Nothing;
  '/operations/key-shares': Nothing;
  '/limits': Nothing;
  '/namespaces': { readonly ns?: string };
  '/audit': AuditSearch;
  '/audit/reads': ReadSearch;
}

/** The page of a secrets engine or auth method, which have separate navigation entries. */
export const mountPage = (search: Pages['/engines/mount']) =>
  page(search.mount?.startsWith('auth/') ? '/access/mount' : '/engines/mount', search);

/** The page that enables a secrets engine or auth method, optionally with a type. */
export const enablePage = (kind: 'secret' | 'auth', type?: string) =>
  page(kind === 'auth' ? '/access/new' : '/engines/new', type === undefined ? {} : { type });

/** Props for a link or `navigate`; pages and search parameters that do not exist are type errors. */
export const page = <A extends keyof Pages>(to: A, search?: Pages[A]) => ({
  to: to as string,
  search: search as never,
});

/** The page of a policy, at a line. */
export const policyPage = (name: string, search?: Pages['/policies/$name']) => ({
  ...page('/policies/$name', search),
  params: { name } as never,
});

/** The page of a lease. */
export const leasePage = (id: string) => page('/leases/lease', { id });

/** The search parameters of this page. */
export const useAddress = <A extends keyof Pages>(_page: A): Pages[A] => useSearch({ strict: false }) as Pages[A];
