import type { Access } from '../../../kernel/access/access';
import { policy } from '../../../kernel/access/policy';
import type { SharedArtifact } from '../modules/policy';

interface ProviderTarget {
  readonly organizationId: string;
  readonly registryName: string;
}
interface VersionTarget extends SharedArtifact {
  readonly provider: ProviderTarget;
}

const manages = (access: Access, { organizationId, registryName }: ProviderTarget): boolean =>
  access.can(organizationId, registryName === 'private' ? 'manage-providers' : 'manage-public-providers');
const managesVersion = (access: Access, { provider }: VersionTarget): boolean => manages(access, provider);

/** The permission rules of providers. */
export const providerPolicy = policy<ProviderTarget & SharedArtifact>()({ 'can-delete': manages });

/** The permission rules of versions of a provider, and of their platforms. */
export const providerVersionPolicy = policy<VersionTarget>()({
  'can-delete': managesVersion,
  'can-upload-asset': managesVersion,
});

/** The permission rules of keys that sign providers. */
export const keyPolicy = policy<{ readonly organizationId: string }>()({
  'can-manage': (access, { organizationId }) => access.can(organizationId, 'manage-providers'),
});
