import { useEffect, useState } from 'react';
import type { Pagination, WorkspacesApi } from '../../api/workspaces';
import { type ApiAnswer, useRead } from '../api';

/** The kinds of objects of an organization to choose from. */
export type ChoiceKind = 'agent pools' | 'policies' | 'policy sets' | 'projects' | 'teams' | 'workspaces';

export interface Choice {
  readonly id: string;
  readonly name: string;
}

interface FoundPage {
  readonly data: readonly { readonly id: string; readonly attributes: { readonly name: string } }[];
  readonly meta?: { readonly pagination?: Pagination };
}

/** The maximum number of objects that a choice shows. Users find all others by a part of the name. */
const shown = 100;

const reads: Readonly<
  Record<ChoiceKind, (api: WorkspacesApi, organization_name: string, part: string) => Promise<ApiAnswer<FoundPage>>>
> = {
  'agent pools': (api, organization_name, part) =>
    api.GET('/api/v2/organizations/{organization_name}/agent-pools', {
      params: { path: { organization_name }, query: { 'page[size]': shown, ...(part === '' ? {} : { q: part }) } },
    }),
  policies: (api, organization_name, part) =>
    api.GET('/api/v2/organizations/{organization_name}/policies', {
      params: {
        path: { organization_name },
        query: { 'page[size]': shown, ...(part === '' ? {} : { 'search[name]': part }) },
      },
    }),
  'policy sets': (api, organization_name, part) =>
    api.GET('/api/v2/organizations/{organization_name}/policy-sets', {
      params: {
        path: { organization_name },
        query: { 'page[size]': shown, ...(part === '' ? {} : { 'search[name]': part }) },
      },
    }),
  projects: (api, organization_name, part) =>
    api.GET('/api/v2/organizations/{organization_name}/projects', {
      params: { path: { organization_name }, query: { 'page[size]': shown, ...(part === '' ? {} : { q: part }) } },
    }),
  teams: (api, organization_name, part) =>
    api.GET('/api/v2/organizations/{organization_name}/teams', {
      params: { path: { organization_name }, query: { 'page[size]': shown, ...(part === '' ? {} : { q: part }) } },
    }),
  workspaces: (api, organization_name, part) =>
    api.GET('/api/v2/organizations/{organization_name}/workspaces', {
      params: {
        path: { organization_name },
        query: { 'page[size]': shown, ...(part === '' ? {} : { 'search[name]': part }) },
      },
    }),
};

/**
 * Objects of an organization to choose from: the first hundred, or those whose names contain the typed text. `isLong`
 * is true if there are more.
 */
export function useChoices(kind: ChoiceKind, organization: string) {
  const [part, setPart] = useState('');
  const [searched, setSearched] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setSearched(part.trim()), 250);
    return () => clearTimeout(timer);
  }, [part]);
  const all = useRead<FoundPage>(['choices', kind, organization, ''], (api) => reads[kind](api, organization, ''));
  const found = useRead<FoundPage>(
    ['choices', kind, organization, searched],
    (api) => reads[kind](api, organization, searched),
    {
      enabled: searched !== '',
      keeps: true,
    },
  );
  const { data } = searched === '' ? all : found;
  const choices = data?.data.map(({ id, attributes }): Choice => ({ id, name: attributes.name }));
  const total = all.data?.meta?.pagination?.['total-count'] ?? 0;
  return { choices, total, isLong: total > shown, part, setPart, error: all.error ?? found.error };
}
