import {
  AppWindow,
  Blocks,
  Clock,
  FolderTree,
  Gauge,
  House,
  IdCard,
  KeyRound,
  LockKeyhole,
  LogIn,
  ScrollText,
  Server,
  ShieldCheck,
  UsersRound,
  Vault,
} from 'lucide-react';
import type { NavGroup, NavItem } from '../shell/navigation';
import { useReadable } from './readable';

/** A page, and the paths that must be readable or listable for it to show anything. */
interface GuardedItem extends NavItem {
  readonly reads?: string;
  readonly readsAsSudo?: string;
  readonly lists?: string;
}

interface GuardedGroup extends NavGroup {
  readonly items: readonly GuardedItem[];
}

const navigation: readonly GuardedGroup[] = [
  {
    items: [
      { label: 'Overview', icon: House, to: '/', key: 'o' },
      { label: 'Secrets', icon: Vault, to: '/secrets', key: 's' },
      { label: 'Secrets engines', icon: Blocks, to: '/engines', key: 'e' },
      { label: 'Leases', icon: Clock, to: '/leases', key: 'l', readsAsSudo: 'sys/leases/timeline' },
    ],
  },
  {
    label: 'Access',
    items: [
      {
        label: 'Auth methods',
        icon: LogIn,
        to: '/access',
        key: 'c',
        exact: true,
        also: ['/access/mount', '/access/new'],
      },
      { label: 'Entities', icon: IdCard, to: '/access/entities', lists: 'identity/entity/id' },
      { label: 'Groups', icon: UsersRound, to: '/access/groups', lists: 'identity/group/id' },
      { label: 'Policies', icon: ShieldCheck, to: '/policies', key: 'p' },
      { label: 'Tokens', icon: KeyRound, to: '/access/tokens', key: 't' },
      { label: 'MFA', icon: LockKeyhole, to: '/access/second-factor' },
      { label: 'Applications', icon: AppWindow, to: '/access/applications', lists: 'identity/oidc/provider' },
    ],
  },
  {
    label: 'Operate',
    items: [
      { label: 'Audit', icon: ScrollText, to: '/audit', key: 'a', readsAsSudo: 'sys/audit-chain/entries' },
      { label: 'Namespaces', icon: FolderTree, to: '/namespaces', key: 'n', lists: 'sys/namespaces' },
      { label: 'Quotas', icon: Gauge, to: '/limits', lists: 'sys/quotas/rate-limit' },
      { label: 'Operations', icon: Server, to: '/operations', reads: 'sys/ha-status' },
    ],
  },
];

const guarded = navigation.flatMap(({ items }) => items);
const pathsOf = (guard: 'reads' | 'readsAsSudo' | 'lists') => guarded.flatMap((item) => item[guard] ?? []);
const [reads, sudoReads, lists] = [pathsOf('reads'), pathsOf('readsAsSudo'), pathsOf('lists')];

/** Pages in the navigation, without those that this session may not use. */
export function useNavigation(): readonly NavGroup[] {
  const readable = useReadable(reads, sudoReads);
  const listable = useReadable(lists, [], 'list');
  const isShown = ({ reads, readsAsSudo, lists }: GuardedItem): boolean => {
    const read = reads ?? readsAsSudo;
    return (read === undefined || readable.has(read)) && (lists === undefined || listable.has(lists));
  };
  return navigation
    .map((group) => ({ ...group, items: group.items.filter(isShown) }))
    .filter(({ items }) => items.length > 0);
}
