import { useNavigate } from '@tanstack/react-router';
import {
  Blocks,
  CornerDownRight,
  FileLock,
  IdCard,
  KeyRound,
  LogIn,
  type LucideIcon,
  ShieldCheck,
  UserRound,
  UsersRound,
} from 'lucide-react';
import { useCallback, useRef } from 'react';
import type { Command, Find } from '../shell/palette';
import { useSession } from '../shell/session';
import { hasVersions, holdsValues, type Mount, mountOf, useMounts } from './mounts';
import { mountPage, page, policyPage } from './pages';
import { encodedPath, type Listing } from './reads';

/** How long names are kept: they are requested once each time the palette opens, not for every key press. */
const goodForMs = 30_000;
/** The maximum number of results of each kind. */
const most = 8;
/** The maximum number of secrets searched in each engine. */
const mostSecrets = 5000;
/** The maximum number of tokens searched. */
const mostTokens = 5000;
/** For each type of auth method: the path that lists its users or roles, and their icon. */
const names: ReadonlyMap<string, readonly [list: string, icon: LucideIcon]> = new Map([
  ['userpass', ['users', UserRound]],
  ['approle', ['role', LogIn]],
  ['jwt', ['role', LogIn]],
  ['oidc', ['role', LogIn]],
  ['kubernetes', ['role', LogIn]],
]);

interface FoundName {
  readonly name: string;
  readonly id?: string;
}

/**
 * What the palette searches, if listing is allowed: secret paths, users, roles, tokens, groups, entities, policies,
 * mounts.
 */
export function useFind(): Find {
  const { transport } = useSession();
  const navigate = useNavigate();
  const mounts = useMounts();
  const latestMounts = useRef(mounts);
  latestMounts.current = mounts;
  const lists = useRef(new Map<string, { readonly at: number; readonly found: Promise<readonly FoundName[]> }>());
  return useCallback(
    async (text) => {
      const term = text.toLowerCase();
      const go = (to: { readonly to: string; readonly search: never }) => () => void navigate(to);
      /** Names in a list that contain the text; none if the session may not list them. */
      const listed = async (path: string, below = ''): Promise<readonly FoundName[]> => {
        let cached = lists.current.get(path);
        if (cached === undefined || Date.now() - cached.at > goodForMs) {
          const found = transport
            .call<{ data: Listing<{ readonly name?: string; readonly display_name?: string }> }>('GET', `/v1/${path}`)
            .then(({ data: { keys, key_info: info } }) =>
              keys.map((id) => ({ name: info?.[id]?.name ?? info?.[id]?.display_name ?? id, id })),
            )
            .catch((): readonly FoundName[] => []);
          cached = { at: Date.now(), found };
          lists.current.set(path, cached);
        }
        const isMeant = ({ name, id }: FoundName) =>
          (below + name).toLowerCase().includes(term) || id?.toLowerCase().startsWith(term) === true;
        return (await cached.found).filter(isMeant).slice(0, most);
      };
      const { secret, auth } = latestMounts.current;
      const secretsOf = async (mount: Mount): Promise<readonly Command[]> => {
        const folder = hasVersions(mount) ? `${mount.path}metadata/` : mount.path;
        const found = await listed(`${encodedPath(folder)}?scan=true&limit=${mostSecrets}`, mount.path);
        return found.map(({ name }) => ({
          label: mount.path + name,
          icon: FileLock,
          group: 'Secrets',
          run: go(page('/secrets', { at: mount.path + name })),
        }));
      };
      const loginsOf = async ({ type, path }: Mount): Promise<readonly Command[]> => {
        const [tab, icon] = names.get(type) ?? [];
        if (tab === undefined || icon === undefined) return [];
        const mount = `auth/${path}`;
        return (await listed(`${encodedPath(mount)}${tab}?list=true`)).map(({ name }) => ({
          label: name,
          icon,
          of: path,
          group: tab === 'users' ? 'Users' : 'Roles',
          run: go(mountPage({ mount, tab, name })),
        }));
      };
      const identities = async (kind: 'entity' | 'group'): Promise<readonly Command[]> =>
        (await listed(`identity/${kind}/id?list=true`)).map(({ name, id }) => ({
          label: name,
          icon: kind === 'group' ? UsersRound : IdCard,
          group: kind === 'group' ? 'Groups' : 'Entities',
          run: go(page(kind === 'group' ? '/access/groups' : '/access/entities', id === undefined ? {} : { id })),
        }));
      const tokens = async (): Promise<readonly Command[]> =>
        (await listed(`auth/token/accessors?list=true&detailed=true&limit=${mostTokens}`)).map(
          ({ name, id: accessor = '' }) => ({
            label: name || 'token',
            icon: KeyRound,
            of: accessor,
            group: 'Tokens',
            isMatch: true,
            run: go(page('/access/tokens', { accessor })),
          }),
        );
      const policies = async (): Promise<readonly Command[]> =>
        (await listed('sys/policies/acl?list=true'))
          .filter(({ name }) => name !== 'root')
          .map(({ name }) => ({
            label: name,
            icon: ShieldCheck,
            group: 'Policies',
            run: () => void navigate(policyPage(name)),
          }));
      // People who may read a secret but not list it can open it by its path.
      const path = text.replace(/^\/+/, '');
      const opened = mountOf(secret.filter(holdsValues), path);
      const found = await Promise.all([
        ...secret.filter(({ type }) => type === 'kv').map(secretsOf),
        ...auth.map(loginsOf),
        identities('group'),
        identities('entity'),
        policies(),
        tokens(),
      ]);
      return [
        ...(opened === undefined || path === opened.path
          ? []
          : [
              {
                label: `Open ${path}`,
                icon: CornerDownRight,
                group: 'Open path',
                isMatch: true,
                run: go(page('/secrets', { at: path })),
              },
            ]),
        ...found.flat(),
        ...secret.map((mount) => ({
          label: mount.path,
          icon: Blocks,
          group: 'Secrets engines',
          run: go(holdsValues(mount) ? page('/secrets', { at: mount.path }) : mountPage({ mount: mount.path })),
        })),
        ...auth.map(({ path: at }) => ({
          label: at,
          icon: LogIn,
          group: 'Auth methods',
          run: go(mountPage({ mount: `auth/${at}` })),
        })),
      ];
    },
    [transport, navigate],
  );
}
