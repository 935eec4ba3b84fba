import type { Edition } from './edition';
import type { Entitlements } from './entitlements';

/** A plan that organizations can be on. Plans are built into the service; their ids never change. */
export interface FeatureSet {
  readonly id: string;
  readonly identifier: string;
  readonly name: string;
  readonly cost: number;
  readonly isFreeTier: boolean;
  /** Whether organizations on the plan may have the infrastructure of their workspaces assessed. */
  readonly assesses: boolean;
  readonly runsCeiling: number;
  readonly agentsCeiling: number;
  readonly entitlements: Entitlements;
}

const everything: Entitlements = {
  costEstimation: true,
  configurationDesigner: true,
  moduleTestsGeneration: true,
  operations: true,
  privateModuleRegistry: true,
  policyEnforcement: true,
  polengine: true,
  runTasks: true,
  stateStorage: true,
  teams: true,
  vcsIntegrations: true,
  usageReporting: false,
  selfServeBilling: true,
  auditLogging: true,
  agents: true,
  sso: true,
  privateVcs: true,
  privatePolicyAgents: true,
  globalRunTasks: true,
  // Run task requests through agents of the organization. This service does not have this feature.
  privateRunTasks: false,
  moduleDeprecations: true,
  moduleRevocations: true,
  runTaskLimit: null,
  runTaskWorkspaceLimit: null,
  runTaskMandatoryEnforcementLimit: null,
  policySetLimit: null,
  policyLimit: null,
  policyMandatoryEnforcementLimit: null,
  versionedPolicySetLimit: null,
  userLimit: null,
};

const free: Entitlements = {
  ...everything,
  costEstimation: false,
  moduleTestsGeneration: false,
  policyEnforcement: false,
  polengine: false,
  runTasks: false,
  teams: false,
  auditLogging: false,
  agents: false,
  sso: false,
  privateVcs: false,
  privatePolicyAgents: false,
  globalRunTasks: false,
  moduleDeprecations: false,
  moduleRevocations: false,
  runTaskLimit: 1,
  runTaskWorkspaceLimit: 10,
  runTaskMandatoryEnforcementLimit: 1,
  policySetLimit: 1,
  policyLimit: 5,
  userLimit: 5,
};

const standard: Entitlements = {
  ...everything,
  policyEnforcement: false,
  polengine: false,
  agents: false,
  auditLogging: false,
};

/** All plans, from the smallest to the largest. */
export const featureSets: readonly FeatureSet[] = [
  plan('fs-keysteadFree0001', 'free', 'Free', 0, 1, 1, free),
  plan('fs-keysteadStandard', 'standard', 'Standard', 20, 3, 3, standard),
  plan('fs-keysteadPlus0001', 'plus', 'Plus', 70, 10, 10, everything),
  plan('fs-keysteadBusiness', 'business', 'Business', 100, 100, 100, everything),
  plan('fs-keysteadTrial001', 'trial', 'Trial', 0, 10, 10, everything),
];

function plan(
  id: string,
  identifier: string,
  name: string,
  cost: number,
  runsCeiling: number,
  agentsCeiling: number,
  entitlements: Entitlements,
): FeatureSet {
  const isFreeTier = identifier === 'free';
  const assesses = !isFreeTier && identifier !== 'standard';
  return { id, identifier, name, cost, isFreeTier, assesses, runsCeiling, agentsCeiling, entitlements };
}

/** The plan with an identifier such as `business`; an unknown identifier is a fault. */
export function requireFeatureSet(identifier: string): FeatureSet {
  const found = featureSets.find((set) => set.identifier === identifier);
  if (found === undefined) throw new Error(`no feature set ${identifier}`);
  return found;
}

/** What an organization's plan allows. The self-hosted edition has no plans, so it allows everything except billing. */
export function entitlementsOf(edition: Edition, featureSet: string): Entitlements {
  return edition === 'self-hosted'
    ? { ...everything, selfServeBilling: false }
    : requireFeatureSet(featureSet).entitlements;
}
