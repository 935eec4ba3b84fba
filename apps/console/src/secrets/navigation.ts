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
import type { NavGroup } from '../shell/navigation';

/** The pages of the rail. */
export const navigation: readonly NavGroup[] = [
  {
    items: [
      { label: 'Overview', icon: House, to: '/', key: 'o' },
      { label: 'Secrets', icon: Vault, to: '/secrets', key: 's' },
      { label: 'Secrets engines', icon: Blocks, to: '/engines', key: 'e' },
      { label: 'Leases', icon: Clock, to: '/leases', key: 'l' },
    ],
  },
  {
    label: 'Access',
    items: [
      { label: 'Auth methods', icon: LogIn, to: '/access', key: 'c', exact: true, also: '/access/mount' },
      { label: 'Entities', icon: IdCard, to: '/access/entities' },
      { label: 'Groups', icon: UsersRound, to: '/access/groups' },
      { label: 'Policies', icon: ShieldCheck, to: '/policies', key: 'p' },
      { label: 'Tokens', icon: KeyRound, to: '/access/tokens', key: 't' },
      { label: 'MFA', icon: LockKeyhole, to: '/access/second-factor' },
      { label: 'Applications', icon: AppWindow, to: '/access/applications' },
    ],
  },
  {
    label: 'Operate',
    items: [
      { label: 'Audit', icon: ScrollText, to: '/audit', key: 'a' },
      { label: 'Namespaces', icon: FolderTree, to: '/namespaces', key: 'n' },
      { label: 'Quotas', icon: Gauge, to: '/limits' },
      { label: 'Operations', icon: Server, to: '/operations' },
    ],
  },
];
