import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { commaList } from '../../../sdk/fields';
import { path } from '../../../sdk/path';
import { data, empty } from '../../../sdk/reply';
import type { Origins } from './origins';

export function corsPaths(origins: Origins) {
  return [
    path('config/cors', {
      summary: 'Which web pages may call the service.',
      sudo: true,
      rootNamespaceOnly: true,
      responseFormat: 'injected',
      read: {
        summary: 'Read which web pages may call the service.',
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
        summary: 'Let web pages of these origins call the service.',
        operationId: 'cors-configure',
        input: z.object({
          allowed_origins: commaList().optional().describe('Origins, or * for all.'),
          allowed_headers: commaList().optional().describe('Headers besides the usual ones.'),
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
        summary: 'Let no web page of another origin call the service.',
        operationId: 'cors-delete-configuration',
        async run() {
          await origins.save(undefined);
          return empty;
        },
      },
    }),
  ];
}
