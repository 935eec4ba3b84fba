import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { commaList } from '../../../sdk/fields';
import { path } from '../../../sdk/path';
import { data, empty } from '../../../sdk/reply';
import type { Origins } from './origins';

export function corsPaths(origins: Origins) {
  return [
    path('config/cors', {
      summary: 'Which web pages may call the service (CORS).',
      sudo: true,
      rootNamespaceOnly: true,
      responseFormat: 'injected',
      read: {
        summary: 'Read the CORS configuration.',
        operationId: 'cors-read-configuration',
        output: z.looseObject({ enabled: z.boolean() }),
        auditClear: 'all',
        run() {
          const { enabled, allowedOrigins, furtherHeaders } = origins.current;
          return data(
            enabled ? { enabled, allowed_origins: allowedOrigins, allowed_headers: furtherHeaders } : { enabled },
          );
        },
      },
      write: {
        summary: 'Allow web pages of these origins to call the service.',
        operationId: 'cors-configure',
        input: z.object({
          allowed_origins: commaList().optional().describe('Allowed origins; * allows all.'),
          allowed_headers: commaList().optional().describe('Allowed headers in addition to the usual ones.'),
        }),
        auditClear: 'all',
        async run({ input }) {
          const allowedOrigins = input.allowed_origins ?? [];
          if (allowedOrigins.length === 0)
            throw new Refusal('invalid', 'at least one origin or the wildcard must be provided');
          if (allowedOrigins.length > 1 && allowedOrigins.includes('*')) {
            throw new Refusal('invalid', "to allow all origins the '*' must be the only value for allowed_origins");
          }
          const allowedHeaders = input.allowed_headers ?? [];
          if (!allowedOrigins.every((origin) => /^[\x21-\x7e]+$/.test(origin))) {
            throw new Refusal('invalid', 'allowed_origins may hold visible ASCII characters only');
          }
          if (!allowedHeaders.every((name) => /^[\w!#$%&'*+.^`|~-]+$/.test(name))) {
            throw new Refusal('invalid', 'allowed_headers must be names of headers');
          }
          await origins.save({ allowedOrigins, allowedHeaders });
          return empty;
        },
      },
      delete: {
        summary: 'Disable CORS: web pages of other origins cannot call the service.',
        operationId: 'cors-delete-configuration',
        async run() {
          await origins.save(undefined);
          return empty;
        },
      },
    }),
  ];
}
