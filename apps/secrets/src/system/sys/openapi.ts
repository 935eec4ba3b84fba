import { z } from 'zod';
import type { Call } from '../../sdk/call';
import { anything, bool, string } from '../../sdk/fields';
import { operation, path } from '../../sdk/path';

/** Documents of what is mounted, as far as a caller may know it. */
export interface DocumentsPort {
  document(
    tokenHash: string | undefined,
    namespaceId: string,
    genericMountPaths: boolean,
  ): Promise<{ readonly bytes: Uint8Array; readonly etag: string }>;
}

const Input = z.object({
  generic_mount_paths: bool().optional().describe('Put a parameter in the place of mount paths that can vary.'),
  context: string().optional().describe('Has no effect.'),
  list: anything().optional().describe('Has no effect.'),
});

/** Spec: OpenAPI document. */
export function openapiPath(documents: DocumentsPort) {
  const get = (operationId: string) =>
    operation<object, typeof Input>({
      summary: 'Read the OpenAPI document of what the caller may do.',
      operationId,
      input: Input,
      output: z.looseObject({ openapi: z.string(), info: z.looseObject({}), paths: z.looseObject({}) }),
      auditClear: 'all',
      async run({ input, caller, namespace }: Call<object, z.output<typeof Input>>) {
        const hash = caller.token?.hash;
        const { bytes, etag } = await documents.document(hash, namespace.uuid, input.generic_mount_paths ?? false);
        return { kind: 'raw', status: 200, body: bytes, headers: { ETag: etag, Vary: 'X-Service-Token' } };
      },
    });
  return path('internal/specs/openapi', {
    summary: 'The OpenAPI document of the mounted backends.',
    spec: 'OpenAPI document',
    auth: 'optional',
    dress: 'raw',
    read: get('internal-generate-open-api-document'),
    write: get('internal-generate-open-api-document-with-parameters'),
  });
}
