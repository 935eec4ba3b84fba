import type { Identity } from '../kernel/identity/identity';
import { stepByStep } from '../kernel/storage/in-turns';
import type { OpenApiDocuments } from '../openapi/document';
import type { Kernel } from '../pipeline/kernel';
import type { DocumentsPort } from '../system/sys/openapi';

/** OpenAPI documents by token. */
export function documentPort(kernel: () => Kernel, identity: Identity, documents: OpenApiDocuments): DocumentsPort {
  return {
    async document(tokenHash, namespaceId, genericMountPaths) {
      const { tokens, access, namespaces } = kernel();
      const record = tokenHash === undefined ? undefined : await tokens.findByHash(Buffer.from(tokenHash, 'hex'));
      const view = record?.entityId === undefined ? undefined : await identity.views.of(record.entityId);
      const list = record && {
        namespaceId: record.namespaceId,
        policies: record.policies,
        identity: view,
      };
      const asked = {
        namespaceId,
        namespacePath: namespaces.find(namespaceId)?.path ?? '',
        access: list && (access.peek(list) ?? (await access.of(list))),
        genericMountPaths,
      };
      return stepByStep(documents.document(asked));
    },
  };
}
