import type { OwnPageProps } from '../own-page';
import { Ca } from './ca';
import { RolePage } from './role-page';
import { NewRole, Roles } from './roles';

/** The pages of an ssh mount. */
export default function Ssh({ mount: { path }, tab, name, create }: OwnPageProps) {
  if (tab === 'ca') return <Ca mount={path} />;
  if (create) return <NewRole mount={path} />;
  return name === undefined ? <Roles mount={path} /> : <RolePage key={name} mount={path} name={name} />;
}
