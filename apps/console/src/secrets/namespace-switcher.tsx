import { Link } from '@tanstack/react-router';
import { Check, ChevronsUpDown, CornerLeftUp, FolderTree } from 'lucide-react';
import { Menu, MenuGroup, MenuItem, MenuRule } from '../design/menu';
import { useSession } from '../shell/session';
import { page } from './pages';
import { useList } from './reads';

/** Shows the current namespace and its children. */
export function NamespaceSwitcher({ namespace }: { readonly namespace: string }) {
  const name = namespace === '' ? 'root' : namespace.slice(0, -1);
  return (
    <Menu
      wide
      button={
        <button type="button" className="rail-button boxed" title="Switch namespace">
          <FolderTree size={15} aria-hidden="true" />
          <span className="grow">{name}</span>
          <ChevronsUpDown size={14} aria-hidden="true" />
        </button>
      }
    >
      <Choices namespace={namespace} />
    </Menu>
  );
}

/** Loaded when the menu opens. */
function Choices({ namespace }: { readonly namespace: string }) {
  const { session } = useSession();
  const below = useList('sys/namespaces');
  const isOwn = namespace === (session.namespace ?? '');
  return (
    <MenuGroup label="Namespaces">
      {isOwn ? null : (
        <MenuItem icon={CornerLeftUp} link={<Link {...page('/', { ns: namespace.replace(/[^/]+\/$/, '') })} />}>
          Parent namespace
        </MenuItem>
      )}
      <MenuItem icon={Check} link={<Link {...page('/', { ns: namespace })} />}>
        {namespace === '' ? 'root' : namespace}
      </MenuItem>
      {below.data?.map((name) => (
        <MenuItem key={name} icon={FolderTree} link={<Link {...page('/', { ns: namespace + name })} />}>
          {name}
        </MenuItem>
      ))}
      <MenuRule />
      <MenuItem link={<Link {...page('/namespaces')} />}>Manage namespaces</MenuItem>
    </MenuGroup>
  );
}
