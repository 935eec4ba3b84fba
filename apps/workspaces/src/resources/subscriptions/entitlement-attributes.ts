import type { Entitlements } from '../../kernel/feature-sets';

/** Entitlements by wire name, for entitlement sets and feature sets alike. */
export function entitlementAttributes(plan: Entitlements): Record<string, boolean | number | null> {
  return {
    agents: plan.agents,
    'audit-logging': plan.auditLogging,
    'configuration-designer': plan.configurationDesigner,
    'cost-estimation': plan.costEstimation,
    'global-run-tasks': plan.globalRunTasks,
    'module-deprecations': plan.moduleDeprecations,
    'module-revocations': plan.moduleRevocations,
    'module-tests-generation': plan.moduleTestsGeneration,
    operations: plan.operations,
    'policy-enforcement': plan.policyEnforcement,
    'policy-limit': plan.policyLimit,
    'policy-mandatory-enforcement-limit': plan.policyMandatoryEnforcementLimit,
    'policy-set-limit': plan.policySetLimit,
    polengine: plan.polengine,
    'private-module-registry': plan.privateModuleRegistry,
    'private-policy-agents': plan.privatePolicyAgents,
    'private-run-tasks': plan.privateRunTasks,
    'private-vcs': plan.privateVcs,
    'run-task-limit': plan.runTaskLimit,
    'run-task-mandatory-enforcement-limit': plan.runTaskMandatoryEnforcementLimit,
    'run-task-workspace-limit': plan.runTaskWorkspaceLimit,
    'run-tasks': plan.runTasks,
    'self-serve-billing': plan.selfServeBilling,
    sso: plan.sso,
    'state-storage': plan.stateStorage,
    teams: plan.teams,
    'usage-reporting': plan.usageReporting,
    'user-limit': plan.userLimit,
    'vcs-integrations': plan.vcsIntegrations,
    'versioned-policy-set-limit': plan.versionedPolicySetLimit,
  };
}
