import { Link, useParams } from '@tanstack/react-router';
import { Building2, Check, ChevronsUpDown } from 'lucide-react';
import { Menu, MenuGroup, MenuItem, MenuRule } from '../design/menu';
import { useRead } from './api';

/** Shows the current organization and switches to another. */
export function OrganizationSwitcher() {
  const { organization } = useParams({ strict: false }) as { organization?: string };
  return (
    <Menu
      wide
      button={
        <button type="button" className="rail-button boxed" title="Switch organization">
          <Building2 size={15} aria-hidden="true" />
          <span className="grow">{organization ?? 'Organizations'}</span>
          <ChevronsUpDown size={14} aria-hidden="true" />
        </button>
      }
    >
      <Choices chosen={organization} />
    </Menu>
  );
}

/** Read once the menu is open. */
function Choices({ chosen }: { readonly chosen: string | undefined }) {
  const organizations = useRead(['organizations'], (api) =>
    api.GET('/api/v2/organizations', { params: { query: { 'page[size]': 100 } } }),
  );
  return (
    <MenuGroup label="Organizations">
      {organizations.data?.data.map(({ attributes: { name } }) => (
        <MenuItem
          key={name}
          icon={name === chosen ? Check : Building2}
          link={<Link to={`/organizations/${encodeURIComponent(name)}`} />}
        >
          {name}
        </MenuItem>
      ))}
      <MenuRule />
      <MenuItem link={<Link to="/" />}>All organizations</MenuItem>
    </MenuGroup>
  );
}
