import type { Prisma } from '../../../generated/prisma/client';
import type { ParsedState } from './scanner/parse-state';
import type { StateVersion } from './state-version';

/** What a state says of itself, as columns. */
export function described(parsed: ParsedState, version: Pick<StateVersion, 'lineage'>) {
  return {
    format: parsed.format,
    infraVersion: parsed.infraVersion,
    lineage: version.lineage ?? (parsed.lineage || null),
    resourceCount: parsed.managedCount,
    resourcesProcessed: true,
    modules: parsed.modules,
    providers: parsed.providers,
    resources: parsed.resources as unknown as Prisma.InputJsonValue,
  };
}
