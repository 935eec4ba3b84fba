import { useNavigate } from '@tanstack/react-router';
import { useCallback, useRef } from 'react';
import type { Find } from '../shell/palette';
import { useSession } from '../shell/session';
import { holdsValues, useMounts } from './mounts';
import { mountPage, page, policyPage } from './pages';

/** Policies are asked for once while the palette is open, not for every letter. */
const goodForMs = 30_000;

/** What the palette finds: engines, auth methods, and policies where they may be listed. */
export function useFind(): Find {
  const { transport } = useSession();
  const navigate = useNavigate();
  const mounts = useMounts();
  const policies = useRef<{ readonly at: number; readonly names: Promise<readonly string[]> }>(undefined);
  const known = useRef(mounts);
  known.current = mounts;
  return useCallback(
    async (text) => {
      if (policies.current === undefined || Date.now() - policies.current.at > goodForMs) {
        const names = transport
          .call<{ data: { keys: readonly string[] } }>('GET', '/v1/sys/policies/acl?list=true')
          .then(({ data }) => data.keys)
          .catch((): readonly string[] => []);
        policies.current = { at: Date.now(), names };
      }
      const { secret, auth } = known.current;
      const goTo = (mount: string) => () => void navigate(mountPage({ mount }));
      return [
        ...secret.map((mount) => ({
          label: mount.path,
          group: 'Secrets engines',
          run: holdsValues(mount) ? () => void navigate(page('/secrets', { at: mount.path })) : goTo(mount.path),
        })),
        ...auth.map(({ path }) => ({
          label: path,
          group: 'Auth methods',
          run: goTo(`auth/${path}`),
        })),
        ...(await policies.current.names)
          .filter((name) => name !== 'root' && name.includes(text))
          .slice(0, 20)
          .map((name) => ({
            label: name,
            group: 'Policies',
            run: () => void navigate(policyPage(name)),
          })),
      ];
    },
    [transport, navigate],
  );
}
