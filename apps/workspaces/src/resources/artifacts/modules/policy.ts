import type { Access } from '../../../kernel/access/access';
import { policy } from '../../../kernel/access/policy';
import type { RegistryModule } from './module';

/** Something that an organization shares, and with which others. */
export interface SharedArtifact {
  readonly organizationId: string;
  readonly readers: readonly string[];
}

/** Members of the organization and its runs, and those of the organizations it is shared with. */
export const readsArtifact = (access: Access, { organizationId, readers }: SharedArtifact): boolean =>
  [organizationId, ...readers].some((id) => access.isMember(id) || access.isRunOf(id));

/** The organizations whose rules apply to something shared. */
export const organizationsOf = ({ organizationId, readers }: SharedArtifact): readonly string[] => [
  organizationId,
  ...readers,
];

type ModuleTarget = Pick<RegistryModule, 'organizationId' | 'registryName' | 'readers'>;

const manages = (access: Access, { organizationId, registryName }: ModuleTarget): boolean =>
  access.can(organizationId, registryName === 'public' ? 'manage-public-modules' : 'manage-modules');

/**
 * Who may do what with a module. There are no repositories to read again, so both rights about those equal the right to
 * manage.
 */
export const modulePolicy = policy<ModuleTarget>()({
  'can-delete': manages,
  'can-resync': manages,
  'can-retry': manages,
});
