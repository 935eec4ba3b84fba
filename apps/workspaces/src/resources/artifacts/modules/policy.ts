import type { Access } from '../../../kernel/access/access';
import { policy } from '../../../kernel/access/policy';
import type { RegistryModule } from './module';

/** An artifact that an organization shares, and the organizations that it is shared with. */
export interface SharedArtifact {
  readonly organizationId: string;
  readonly readers: readonly string[];
}

/**
 * Whether the caller may read an artifact. This applies to members and runs of its organization and of the
 * organizations that it is shared with.
 */
export const readsArtifact = (access: Access, { organizationId, readers }: SharedArtifact): boolean =>
  [organizationId, ...readers].some((id) => access.isMember(id) || access.isRunOf(id));

/** The organizations whose rules apply to a shared artifact. */
export const organizationsOf = ({ organizationId, readers }: SharedArtifact): readonly string[] => [
  organizationId,
  ...readers,
];

type ModuleTarget = Pick<RegistryModule, 'organizationId' | 'registryName' | 'readers'>;

const manages = (access: Access, { organizationId, registryName }: ModuleTarget): boolean =>
  access.can(organizationId, registryName === 'public' ? 'manage-public-modules' : 'manage-modules');

/**
 * The permission rules of modules. The two permissions about reading repositories again are the same as the permission
 * to manage modules.
 */
export const modulePolicy = policy<ModuleTarget>()({
  'can-delete': manages,
  'can-resync': manages,
  'can-retry': manages,
});
