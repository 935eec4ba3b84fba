import type { ExactNumber } from '@keystead/envelope';
import { document, one, requiredOne, writeOnly } from '@keystead/jsonapi';
import { z } from 'zod';
import { base64 } from './base64';
import { serialIn } from './scanner/parse-state';

/** Inline state may be this large before base64; larger ones go to the upload URL. */
export const inlineLimitBytes = 16 * 1024 * 1024;

/** The body of a state version: such a state in base64, its JSON form and outputs if they are small next to it. */
export const largeBody = {
  bytes: 24 * 1024 * 1024,
  instead: 'leave state and json-state out and use hosted-state-upload-url and hosted-json-state-upload-url',
};

const content = writeOnly(base64);

const md5 = z
  .string()
  .regex(/^[0-9a-fA-F]{32}$/, 'must be an MD5 hash in hexadecimal digits')
  .transform((text) => text.toLowerCase());

/** A serial in a request or an answer, with every digit. */
export const serialNumber = z
  .custom<number | ExactNumber>((value) => serialIn(value) !== undefined, 'must be a whole number of at most 63 bits')
  .meta({ type: 'integer', minimum: 0 });

/** A new state version: announced, or with its content. */
export const CreateStateVersion = document('state-versions', {
  attributes: {
    serial: serialNumber.transform((value) => serialIn(value)!),
    md5,
    lineage: z.string().max(255).nullish(),
    force: writeOnly(z.boolean()).nullish(),
    state: content.nullish(),
    'json-state': content.nullish(),
    'json-state-outputs': content.nullish(),
    intermediate: z.boolean().nullish(),
  },
  relationships: { run: one('runs') },
});

/** A return to an earlier state version. */
export const Rollback = document('state-versions', {
  relationships: { 'rollback-state-version': requiredOne('state-versions') },
});
