import { z } from 'zod';
import { runInSlices } from '../../../kernel/storage/slices';
import type { OpenApiDocuments } from '../../../openapi/document';
import type { Call } from '../../../sdk/call';
import { anything, bool, string } from '../../../sdk/fields';
import { operation, path } from '../../../sdk/path';
import { accessQueryOf } from '../policies/authority';
import type { PreflightParts } from './preflight';

const Input = z.object({
  generic_mount_paths: bool()
    .optional()
    .describe('Write each mount path in the document as a parameter if operators can choose the path.'),
  context: string().optional().describe('Has no effect.'),
  list: anything().optional().describe('Has no effect.'),
});

/** Spec: OpenAPI document. */
export function openapiPath(parts: PreflightParts, documents: OpenApiDocuments) {
  const get = (operationId: string) =>
    operation<object, typeof Input>({
      summary: 'Read the OpenAPI document of the operations that the caller may use.',
      operationId,
      input: Input,
      output: z.looseObject({ openapi: z.string(), info: z.looseObject({}), paths: z.looseObject({}) }),
      auditClear: 'all',
      async run({ input, caller, namespace }: Call<object, z.output<typeof Input>>) {
        const hash = caller.token?.hash;
        const { bytes, etag } = await documentOf(
          parts,
          documents,
          hash,
          namespace.uuid,
          input.generic_mount_paths ?? false,
        );
        return { kind: 'raw', status: 200, body: bytes, headers: { ETag: etag, Vary: 'X-Service-Token' } };
      },
    });
  return path('internal/specs/openapi', {
    summary: 'The OpenAPI document of the mounted backends.',
    spec: 'OpenAPI document',
    auth: 'optional',
    responseFormat: 'raw',
    read: get('internal-generate-open-api-document'),
    write: get('internal-generate-open-api-document-with-parameters'),
  });
}

/**
 * The document of all mounts, limited to what the token with this hash (hex) may see. Without a token, it contains only
 * the paths that require no token.
 */
export async function documentOf(
  parts: PreflightParts,
  documents: OpenApiDocuments,
  tokenHash: string | undefined,
  namespaceId: string,
  genericMountPaths: boolean,
) {
  const { tokens, access, namespaces } = parts;
  const record = tokenHash === undefined ? undefined : await tokens.findByHash(Buffer.from(tokenHash, 'hex'));
  const query = record && (await accessQueryOf(parts, record));
  const options = {
    namespaceId,
    namespacePath: namespaces.find(namespaceId)?.path ?? '',
    access: query && (await access.of(query)),
    genericMountPaths,
  };
  return runInSlices(documents.document(options));
}
