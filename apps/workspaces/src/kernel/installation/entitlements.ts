import { type AttributesOf, type Camelised, camel, flag, whole } from '@keystead/jsonapi';
import type { z } from 'zod';

/** The contents of a plan by wire name: a boolean for each feature, and a number (null: unlimited) for each limit. */
export const entitlementShape = {
  agents: flag,
  'audit-logging': flag,
  'configuration-designer': flag,
  'cost-estimation': flag,
  'global-run-tasks': flag,
  'module-deprecations': flag,
  'module-revocations': flag,
  'module-tests-generation': flag,
  operations: flag,
  'policy-enforcement': flag,
  'policy-limit': whole.nullable(),
  'policy-mandatory-enforcement-limit': whole.nullable(),
  'policy-set-limit': whole.nullable(),
  polengine: flag,
  'private-module-registry': flag,
  'private-policy-agents': flag,
  'private-run-tasks': flag,
  'private-vcs': flag,
  'run-task-limit': whole.nullable(),
  'run-task-mandatory-enforcement-limit': whole.nullable(),
  'run-task-workspace-limit': whole.nullable(),
  'run-tasks': flag,
  'self-serve-billing': flag,
  sso: flag,
  'state-storage': flag,
  teams: flag,
  'usage-reporting': flag,
  'user-limit': whole.nullable(),
  'vcs-integrations': flag,
  'versioned-policy-set-limit': whole.nullable(),
};

/** The features and limits of a plan. */
export type Entitlements = Readonly<Camelised<z.output<z.ZodObject<typeof entitlementShape>>>>;

const names = Object.keys(entitlementShape).map((wire) => [wire, camel(wire) as keyof Entitlements] as const);

/** Entitlements by wire name, for entitlement sets and feature sets alike. */
export const entitlementAttributes = (plan: Entitlements) =>
  Object.fromEntries(names.map(([wire, name]) => [wire, plan[name]])) as AttributesOf<typeof entitlementShape>;
