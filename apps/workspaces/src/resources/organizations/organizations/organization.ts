import type { Organization as Row } from '../../../generated/prisma/client';
import { rowMapper } from '../../../kernel/database/rows';
import type { Environment } from '../../../kernel/endpoints/environment';
import type { Entitlements } from '../../../kernel/installation/entitlements';
import { entitlementsOf } from '../../../kernel/installation/feature-sets';

/** An organization with its plan, as rules and serializers see it. `organizationId` is its own id. */
export interface Organization extends Row {
  readonly organizationId: string;
  readonly subscriptionId: string | null;
  readonly featureSet: string;
  readonly planEndsAt: Date | null;
  readonly retentionId: string | null;
  /** The number of days for which old data is kept; also null if the policy keeps everything. */
  readonly retentionDays: number | null;
  /** Whether every active member has a second factor. */
  readonly twoFactorConformant: boolean;
  readonly entitlements: Entitlements;
  /** The access epoch at the time the organization was read. */
  readonly epoch?: string;
}

/** The parts of the environment that determine what a plan allows. */
export type PlanEnvironment = Pick<Environment, 'edition' | 'defaultFeatureSet'>;

const select = `
SELECT o.*, s.id AS subscription_id, s.feature_set, s.end_at AS plan_ends_at,
       r.id AS retention_id, r.delete_older_than_n_days AS retention_days,
       (SELECT e.epoch FROM access_epoch e WHERE e.organization_id = o.id) AS epoch,
       NOT EXISTS (SELECT 1 FROM membership m LEFT JOIN two_factor f ON f.user_id = m.user_id
                    WHERE m.organization_id = o.id AND m.status = 'active' AND f.verified_at IS NULL)
         AS two_factor_conformant`;

const from = `
  FROM organization o
  LEFT JOIN subscription s ON s.organization_id = o.id
  LEFT JOIN retention_policy r ON r.organization_id = o.id`;

/** Organizations by lower-case name. */
export const readByName = {
  name: 'organization_by_name',
  text: `${select}, lower(o.name) AS key ${from} WHERE lower(o.name) = ANY($1) AND o.removed_at IS NULL`,
  quick: true,
};

/** Organizations by id. */
export const readById = {
  name: 'organization_by_id',
  text: `${select}, o.id AS key ${from} WHERE o.id = ANY($1) AND o.removed_at IS NULL`,
  quick: true,
};

/** The start of a list query: all columns of an `Organization`, from rows named `o`. */
export const selectOrganizations = select + from;

const mapRow = rowMapper<Omit<Organization, 'organizationId' | 'entitlements'>>();

/** An organization from a row of these statements. */
export function organizationOf(row: Record<string, unknown>, env: PlanEnvironment): Organization {
  const mapped = mapRow(row);
  const featureSet = mapped.featureSet ?? env.defaultFeatureSet;
  return { ...mapped, featureSet, organizationId: mapped.id, entitlements: entitlementsOf(env.edition, featureSet) };
}
