import { useQuery } from '@tanstack/react-query';
import { useSession } from '../shell/session';

/** Which of these paths this session may read or list, some only with sudo. Checked first, to avoid showing refusals. Empty while loading. */
export function useReadable(
  paths: readonly string[],
  sudo: readonly string[] = [],
  how: 'read' | 'list' | 'scan' = 'read',
): ReadonlySet<string> {
  const asked = [...paths, ...sudo];
  const { transport, session } = useSession();
  const isRoot = session.policies?.includes('root') === true;
  const { data } = useQuery<readonly string[]>({
    queryKey: ['v1', 'readable', how, asked],
    staleTime: 30_000,
    enabled: !isRoot && asked.length > 0,
    queryFn: async () => {
      const { data } = await transport.call<{ data: Readonly<Record<string, readonly string[]>> }>(
        'POST',
        '/v1/sys/capabilities-self',
        { paths: asked },
      );
      return asked.filter((path) => {
        const has = new Set(data[path]);
        return has.has('root') || (has.has(how) && (has.has('sudo') || !sudo.includes(path)));
      });
    },
  });
  return new Set(isRoot ? asked : data);
}
