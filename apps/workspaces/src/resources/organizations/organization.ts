import type { Organization as Row, Subscription } from '../../generated/prisma/client';
import type { Environment } from '../../kernel/environment';
import { type Entitlements, entitlementsOf } from '../../kernel/feature-sets';

/** An organization with its plan, as rules and serializers see it. `organizationId` is its own id. */
export interface Organization extends Row {
  readonly organizationId: string;
  readonly subscription: Subscription | null;
  readonly retentionPolicy: { readonly id: string; readonly deleteOlderThanNDays: number | null } | null;
  readonly entitlements: Entitlements;
}

/** The parts of the environment that decide what a plan is worth. */
export type PlanEnvironment = Pick<Environment, 'edition' | 'defaultFeatureSet'>;

/** What every read of an organization brings along. */
export const withPlan = {
  subscription: true,
  retentionPolicy: { select: { id: true, deleteOlderThanNDays: true } },
} as const;

/** An organization from its row. */
export function organizationOf(
  row: Omit<Organization, 'organizationId' | 'entitlements'>,
  env: PlanEnvironment,
): Organization {
  const entitlements = entitlementsOf(env.edition, row.subscription?.featureSet ?? env.defaultFeatureSet);
  return { ...row, organizationId: row.id, entitlements };
}
