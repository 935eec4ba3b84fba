import { useNavigate, useParams } from '@tanstack/react-router';
import {
  Boxes,
  Braces,
  Building2,
  FolderKanban,
  type LucideIcon,
  Package,
  Play,
  Scale,
  UsersRound,
  Variable,
} from 'lucide-react';
import { useCallback } from 'react';
import { dataOf } from '../api/transport';
import { workspacesApi } from '../api/workspaces';
import type { Command, Find } from '../shell/palette';
import { useSession } from '../shell/session';
import { titleOf } from './runs/run-types';

const few = 8;
/** Outside an organization, workspaces of at most this number of organizations are searched. */
const mostOrganizations = 6;

/**
 * What the palette finds: organizations and workspaces; in the current organization also projects, teams, runs,
 * variables, variable sets, policies, policy sets, and modules.
 */
export function useFind(): Find {
  const { transport } = useSession();
  const navigate = useNavigate();
  const { organization = '' } = useParams({ strict: false }) as { organization?: string };
  return useCallback(
    async (text) => {
      const api = workspacesApi(transport);
      const page = { 'page[size]': few };
      const way = (...names: string[]) => names.map((name) => `/${encodeURIComponent(name)}`).join('');
      const command = (group: string, icon: LucideIcon, label: string, to: string, of?: string): Command => ({
        label,
        icon,
        group,
        ...(of === undefined ? {} : { of }),
        run: () => void navigate({ to }),
      });
      /** Searches one kind of object; returns nothing if the user may not read them. */
      const found = <T>(answer: Promise<{ readonly data: readonly T[] }>, each: (one: T) => Command) =>
        answer.then(({ data }) => data.map(each)).catch((): readonly Command[] => []);
      const organizations = dataOf(api.GET('/api/v2/organizations', { params: { query: { q: text, ...page } } }));
      const workspacesOf = (org: string) =>
        found(
          dataOf(
            api.GET('/api/v2/organizations/{organization_name}/workspaces', {
              params: { path: { organization_name: org }, query: { 'search[name]': text, ...page } },
            }),
          ),
          ({ attributes: { name } }) =>
            command('Workspaces', Boxes, name, `/organizations${way(org)}/workspaces${way(name)}`, org),
        );
      const own = async (): Promise<readonly Command[]> => {
        const path = { organization_name: organization };
        const below = `/organizations${way(organization)}`;
        const variables = async (): Promise<readonly Command[]> => {
          const query = { q: text, include: 'configurable,varset', ...page };
          const answer = await dataOf(
            api.GET('/api/v2/organizations/{organization_name}/vars', { params: { path, query } }),
          ).catch(() => undefined);
          const owners = new Map((answer?.included ?? []).map((one) => [one.id, one]));
          return (answer?.data ?? []).flatMap(({ attributes: { key }, relationships }) => {
            const id = relationships.configurable?.data?.id ?? relationships.varset?.data?.id ?? '';
            const owner = owners.get(id);
            if (owner === undefined) return [];
            const { name = '' } = owner.attributes as { readonly name?: string };
            const to = owner.type === 'varsets' ? `/varsets${way(id)}` : `/workspaces${way(name)}/variables`;
            return [command('Variables', Braces, key, below + to, name)];
          });
        };
        const all = await Promise.all([
          workspacesOf(organization),
          variables(),
          found(
            dataOf(
              api.GET('/api/v2/organizations/{organization_name}/projects', {
                params: { path, query: { q: text, ...page } },
              }),
            ),
            ({ id, attributes: { name } }) => command('Projects', FolderKanban, name, `${below}/projects${way(id)}`),
          ),
          found(
            dataOf(
              api.GET('/api/v2/organizations/{organization_name}/teams', {
                params: { path, query: { q: text, ...page } },
              }),
            ),
            ({ id, attributes: { name } }) => command('Teams', UsersRound, name, `${below}/teams${way(id)}`),
          ),
          found(
            dataOf(
              api.GET('/api/v2/organizations/{organization_name}/varsets', {
                params: { path, query: { q: text, ...page } },
              }),
            ),
            ({ id, attributes: { name } }) => command('Variable sets', Variable, name, `${below}/varsets${way(id)}`),
          ),
          found(
            dataOf(
              api.GET('/api/v2/organizations/{organization_name}/policies', {
                params: { path, query: { 'search[name]': text, ...page } },
              }),
            ),
            ({ id, attributes: { name } }) => command('Policies', Scale, name, `${below}/policies${way(id)}`),
          ),
          found(
            dataOf(
              api.GET('/api/v2/organizations/{organization_name}/policy-sets', {
                params: { path, query: { 'search[name]': text, ...page } },
              }),
            ),
            ({ id, attributes: { name } }) => command('Policy sets', Scale, name, `${below}/policies/sets${way(id)}`),
          ),
          found(
            dataOf(
              api.GET('/api/v2/organizations/{organization_name}/registry-modules', {
                params: { path, query: { q: text, ...page } },
              }),
            ),
            ({ id, attributes: { name, provider } }) =>
              command('Modules', Package, name, `${below}/registry/modules${way(id)}`, provider),
          ),
          found(
            dataOf(
              api.GET('/api/v2/organizations/{organization_name}/runs', {
                params: { path, query: { 'search[basic]': text, ...page } },
              }),
            ),
            ({ id, attributes }) => ({
              ...command('Runs', Play, titleOf(attributes, id), `/runs${way(id)}`, id),
              isMatch: true,
            }),
          ),
        ]);
        return all.flat();
      };
      const everywhere = async (): Promise<readonly Command[]> => {
        const all = await dataOf(
          api.GET('/api/v2/organizations', { params: { query: { 'page[size]': mostOrganizations } } }),
        );
        return (await Promise.all(all.data.map(({ attributes: { name } }) => workspacesOf(name)))).flat();
      };
      const [things, matching] = await Promise.all([organization === '' ? everywhere() : own(), organizations]);
      return [
        ...things,
        ...matching.data.map(({ attributes: { name } }) =>
          command('Organizations', Building2, name, `/organizations${way(name)}`),
        ),
      ];
    },
    [transport, navigate, organization],
  );
}
