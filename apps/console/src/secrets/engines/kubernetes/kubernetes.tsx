import type { OwnPageProps } from '../own-page';
import { Configuration } from './configuration';
import { RolePage } from './role-page';
import { NewRole, Roles } from './roles';

/** The pages of a mount that creates service account tokens. */
export default function Kubernetes({ mount: { path }, tab, name, create }: OwnPageProps) {
  if (tab === 'configuration') return <Configuration mount={path} />;
  if (create) return <NewRole mount={path} />;
  return name === undefined ? <Roles mount={path} /> : <RolePage key={name} mount={path} name={name} />;
}
