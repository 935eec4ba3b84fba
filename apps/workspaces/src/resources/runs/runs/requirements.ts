import { prerelease } from 'semver';
import { z } from 'zod';
import type { Database } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { parseConstraint } from '../../../kernel/installation/infra-versions';
import type { LockedRun } from './run';

/** The maximum number of modules and providers that are recorded for a configuration. */
export const mostRequirements = 500;

/** A module or a provider that a configuration installs: its source, its version, and its version constraint. */
export const Requirement = z.strictObject({
  kind: z.enum(['module', 'provider']),
  /** The source with its host: `registry.example.com/acme/network/aws`. */
  source: z.string().min(1).max(512),
  version: z.string().min(1).max(128),
  /** The version constraint; if empty, every version is accepted. */
  constraint: z.string().max(512),
});
export type Requirement = z.infer<typeof Requirement>;

/**
 * Records the modules and providers that the newest plan of a workspace installed. Does nothing for plan-only runs and
 * assessments.
 */
export async function noteRequirements(
  tx: Database,
  { id: runId, workspaceId, planOnly, isAssessment }: LockedRun,
  requirements: readonly Requirement[] | undefined,
): Promise<void> {
  if (requirements === undefined || planOnly || isAssessment) return;
  await tx.prisma.workspaceRequirement.deleteMany({ where: { workspaceId } });
  if (requirements.length === 0) return;
  await tx.prisma.workspaceRequirement.createMany({
    data: requirements.map((one) => ({
      ...one,
      id: newId('usage'),
      source: one.source.toLowerCase(),
      workspaceId,
      runId,
    })),
  });
}

/**
 * Whether a constraint accepts a version, by the rules of the tools: a prerelease is accepted only if the constraint
 * names it exactly. A constraint that cannot be parsed accepts nothing.
 */
export function accepts(constraint: string, version: string): boolean {
  const clauses = constraint.split(',').map((clause) => clause.trim().replace(/^=?\s*v?/, ''));
  if (prerelease(version) !== null && !clauses.includes(version)) return false;
  return constraint === '' || parseConstraint(constraint)?.(version) === true;
}
