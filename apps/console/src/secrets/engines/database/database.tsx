import type { OwnPageProps } from '../own-page';
import { ConnectionPage } from './connection-page';
import { Connections } from './connections';
import { NewConnection } from './new-connection';
import { NewRole, NewStaticRole } from './role-form';
import { RolePage } from './role-page';
import { Roles, StaticRoles } from './roles';
import { StaticRolePage } from './static-role-page';

/** The pages of a database mount. */
export default function Database({ mount: { path }, tab, name, create }: OwnPageProps) {
  if (tab === 'roles') {
    if (create) return <NewRole mount={path} />;
    return name === undefined ? <Roles mount={path} /> : <RolePage key={name} mount={path} name={name} />;
  }
  if (tab === 'static-roles') {
    if (create) return <NewStaticRole mount={path} />;
    return name === undefined ? <StaticRoles mount={path} /> : <StaticRolePage key={name} mount={path} name={name} />;
  }
  if (create) return <NewConnection mount={path} />;
  return name === undefined ? <Connections mount={path} /> : <ConnectionPage key={name} mount={path} name={name} />;
}
