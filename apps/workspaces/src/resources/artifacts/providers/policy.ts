import type { Access } from '../../../kernel/access/access';
import { policy } from '../../../kernel/access/policy';
import type { SharedArtifact } from '../modules/policy';

interface ProviderTarget extends SharedArtifact {
  readonly registryName: string;
}

/** Who may do what with a provider. */
export const providerPolicy = policy<ProviderTarget>()({
  'can-delete': (access, { organizationId, registryName }) =>
    access.can(organizationId, registryName === 'public' ? 'manage-public-providers' : 'manage-providers'),
});

const manages = (access: Access, { organizationId }: { readonly organizationId: string }): boolean =>
  access.can(organizationId, 'manage-providers');

/** Who may do what with a version of a private provider, and with its platforms. */
export const providerVersionPolicy = policy<SharedArtifact>()({ 'can-delete': manages, 'can-upload-asset': manages });

/** Who may do what with a key that signs providers. */
export const keyPolicy = policy<{ readonly organizationId: string }>()({ 'can-manage': manages });
