import { document, type ParsedDocument } from '@keystead/jsonapi';
import { z } from 'zod';
import { artifactName, registryNames, versionText } from './names';

const unserved = { 'no-code': 'no-code modules are not built' };

/** A new module without files. */
export const CreateModule = document('registry-modules', {
  attributes: {
    name: artifactName,
    provider: z.string().regex(/^[0-9a-z]{1,64}$/, 'must be small letters and digits, 64 at most'),
    'registry-name': z.enum(registryNames).nullish(),
    namespace: artifactName.nullish(),
  },
  unserved,
});
export type NewModule = ParsedDocument<typeof CreateModule>;

/** A new version, to be uploaded. */
export const CreateModuleVersion = document('registry-module-versions', {
  attributes: {
    version: versionText,
    'commit-sha': z
      .string()
      .regex(/^[0-9a-f]{40}(?:[0-9a-f]{24})?$/i, 'must be the full hash of a commit')
      .nullish(),
  },
});
export type NewModuleVersion = ParsedDocument<typeof CreateModuleVersion>;
