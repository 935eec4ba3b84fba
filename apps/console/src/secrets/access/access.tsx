import { Tabs } from '../../design/page';

const tabs = [
  { to: '/access', label: 'Login methods', exact: true },
  { to: '/access/entities', label: 'Entities' },
  { to: '/access/groups', label: 'Groups' },
  { to: '/access/tokens', label: 'Tokens' },
  { to: '/access/second-factor', label: 'Second factor' },
  { to: '/access/applications', label: 'Applications' },
];

/** The tabs of the access pages. */
export const AccessTabs = () => <Tabs label="Access" tabs={tabs} />;
