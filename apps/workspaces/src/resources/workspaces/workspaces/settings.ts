import { document, invalidAll, many, one, type ParsedDocument } from '@keystead/jsonapi';
import type { Issue } from '@keystead/refusal';
import { RE2JS } from 're2js';
import type { Edition } from '../../../kernel/installation/edition';
import { sentBindings } from '../projects/tag-bindings';
import { type WorkspaceSettings, workspaceAttributes } from './attributes';
import { tagsByName } from './tags';
import type { ExecutionMode } from './workspace';

const { create, update, editions, aliases } = workspaceAttributes;
const inBoth = {
  relationships: {
    project: one('projects'),
    'agent-pool': one('agent-pools'),
    tags: many(tagsByName),
    'tag-bindings': many(sentBindings),
  },
  editions,
  aliases,
  unserved: {
    'hyok-enabled': 'hold your own key (HYOK) is not built',
    'migration-environment': 'there are no environments to migrate',
  },
};

/** Body of a create. Spec: Workspaces */
export const CreateWorkspace = document('workspaces', { attributes: create, ...inBoth });

/** Body of an update: omitted fields keep their values. Spec: Workspaces */
export const UpdateWorkspace = document('workspaces', { attributes: update, ...inBoth });

/** The content of a create. */
export type NewWorkspace = ParsedDocument<typeof CreateWorkspace>;
/** The content of an update. */
export type WorkspaceChanges = ParsedDocument<typeof UpdateWorkspace>;

/** The initial settings of a new workspace. */
export function initialSettings(name: string, infraVersion: string, globalRemoteState: boolean): WorkspaceSettings {
  return { ...workspaceAttributes.initial, name, infraVersion, globalRemoteState };
}

type Changes = WorkspaceChanges | NewWorkspace;

/** The requested pool: undefined if the request omits it. An empty id means no pool. */
function poolOf(changes: Changes): string | null | undefined {
  const requested = changes.agentPoolId !== undefined ? changes.agentPoolId : changes.agentPool;
  return requested === '' ? null : requested;
}

function modeAsked(changes: Changes): ExecutionMode | null | undefined {
  if (changes.executionMode !== undefined) return changes.executionMode;
  return changes.operations === undefined ? undefined : changes.operations ? 'remote' : 'local';
}

/** Mode and pool after a change. `inherited` is the mode if the workspace sets none. */
function executionAfter(before: WorkspaceSettings, changes: Changes, inherited: ExecutionMode, issues: Issue[]) {
  const requestedMode = modeAsked(changes);
  const pool = poolOf(changes);
  const own = changes.settingOverwrites?.executionMode ?? changes.settingOverwrites?.agentPool;
  const named = changes.agentPoolId !== undefined ? 'agentPoolId' : 'agentPool';
  if (changes.executionMode !== undefined && changes.executionMode !== null && changes.operations !== undefined) {
    issues.push({ path: ['operations'], message: 'must not be set together with execution mode' });
  }
  if (own === true && (requestedMode === undefined || requestedMode === null) && before.executionMode === null) {
    issues.push({ path: ['executionMode'], message: 'is required when the setting is overwritten' });
  }
  const drops = own === false || requestedMode === null;
  const mode = drops ? null : (requestedMode ?? before.executionMode);
  const effective = mode ?? inherited;
  if (pool !== undefined && pool !== null && effective !== 'agent') {
    issues.push({
      path: [named],
      message: "Agent pool must not be specified unless using 'agent' execution mode",
    });
  }
  const chosen = pool !== undefined ? pool : before.agentPoolId;
  const poolId = mode === 'agent' ? chosen : null;
  if (mode === 'agent' && poolId === null) {
    issues.push({ path: [named], message: "Agent pool must be specified when using 'agent' execution mode" });
  }
  // Setting a pool also sets a mode, because the two change together.
  if (mode === null && pool !== undefined && pool !== null && effective === 'agent') {
    return { executionMode: 'agent' as const, agentPoolId: pool };
  }
  return { executionMode: mode, agentPoolId: poolId };
}

function repositoryAfter(before: WorkspaceSettings, changes: Changes, issues: Issue[]): Partial<WorkspaceSettings> {
  const repo = changes.vcsRepo;
  if (repo === undefined) return {};
  if (repo === null) {
    return {
      vcsIdentifier: null,
      vcsBranch: null,
      vcsIngressSubmodules: false,
      vcsTagsRegex: null,
      oauthTokenId: null,
      vcsInstallationId: null,
    };
  }
  const token = repo.oauthTokenId === '' ? null : repo.oauthTokenId;
  const installation = repo.vcshostAppInstallationId === '' ? null : repo.vcshostAppInstallationId;
  if (typeof token === 'string' && typeof installation === 'string') {
    issues.push({ path: ['vcsRepo', 'oauthTokenId'], message: 'must not be given together with an app installation' });
  }
  const identifier = repo.identifier ?? before.vcsIdentifier;
  if (identifier === null || identifier === '') {
    issues.push({ path: ['vcsRepo', 'identifier'], message: "can't be blank" });
  }
  const vcsInstallationId =
    typeof token === 'string' ? null : installation === undefined ? before.vcsInstallationId : installation;
  // The token of an app installation has the installation's id.
  const tokenId = token === undefined && before.vcsInstallationId === null ? before.oauthTokenId : (token ?? null);
  const oauthTokenId = vcsInstallationId ?? tokenId;
  if (oauthTokenId === null) {
    issues.push({ path: ['vcsRepo', 'oauthTokenId'], message: "can't be blank" });
  }
  const regex = repo.tagsRegex === undefined ? before.vcsTagsRegex : repo.tagsRegex === '' ? null : repo.tagsRegex;
  return {
    vcsIdentifier: identifier,
    vcsBranch: repo.branch === undefined ? before.vcsBranch : repo.branch === '' ? null : repo.branch,
    vcsIngressSubmodules: repo.ingressSubmodules ?? before.vcsIngressSubmodules,
    vcsTagsRegex: regex,
    oauthTokenId,
    vcsInstallationId,
  };
}

function triggersAfter(before: WorkspaceSettings, changes: Changes, issues: Issue[]): Partial<WorkspaceSettings> {
  const prefixes = changes.triggerPrefixes === null ? [] : changes.triggerPrefixes;
  const patterns = changes.triggerPatterns === null ? [] : changes.triggerPatterns;
  if (prefixes !== undefined && patterns !== undefined && prefixes.length > 0 && patterns.length > 0) {
    issues.push({ path: ['triggerPatterns'], message: 'must not be set together with trigger prefixes' });
  }
  // Prefixes in a request replace patterns, and patterns replace prefixes.
  const triggerPrefixes = prefixes ?? (patterns !== undefined && patterns.length > 0 ? [] : before.triggerPrefixes);
  const triggerPatterns = patterns ?? (prefixes !== undefined && prefixes.length > 0 ? [] : before.triggerPatterns);
  return { triggerPrefixes: [...triggerPrefixes], triggerPatterns: [...triggerPatterns] };
}

function sharingAfter(before: WorkspaceSettings, changes: Changes, issues: Issue[]): Partial<WorkspaceSettings> {
  const { globalRemoteState: all, projectRemoteState: inProject } = changes;
  if (all && inProject) {
    const message = 'cannot be enabled when global remote state sharing is enabled';
    issues.push({ path: ['projectRemoteState'], message });
  }
  // Sharing with the organization and sharing with the project replace each other.
  return {
    globalRemoteState: all ?? (inProject ? false : before.globalRemoteState),
    projectRemoteState: inProject ?? (all ? false : before.projectRemoteState),
  };
}

function regexIssues(after: WorkspaceSettings, changes: Changes): Issue[] {
  if (after.vcsTagsRegex === null) return [];
  const path = ['vcsRepo', 'tagsRegex'];
  const problem = requireRegex(after.vcsTagsRegex);
  if (problem !== undefined) return [{ path, message: problem }];
  if (after.triggerPrefixes.length > 0 || after.triggerPatterns.length > 0) {
    return [{ path, message: 'must not be set together with trigger prefixes or patterns' }];
  }
  if (after.fileTriggersEnabled && changes.fileTriggersEnabled === true) {
    return [{ path, message: 'must not be set while file triggers are enabled' }];
  }
  return [];
}

function destroyAfter(before: WorkspaceSettings, changes: Changes, issues: Issue[]): Partial<WorkspaceSettings> {
  const { autoDestroyAt: at, autoDestroyActivityDuration: duration, inheritsProjectAutoDestroy: inherits } = changes;
  if (at && duration) {
    issues.push({ path: ['autoDestroyActivityDuration'], message: 'must not be given together with auto destroy at' });
  }
  if (inherits && (at || duration)) {
    const message = 'must not be true if the request sets a time or duration for the workspace';
    issues.push({ path: ['inheritsProjectAutoDestroy'], message });
  }
  // A time, a duration and the setting of the project replace each other.
  return {
    autoDestroyAt: at !== undefined ? at : duration || inherits ? null : before.autoDestroyAt,
    autoDestroyActivityDuration:
      duration !== undefined ? duration : at || inherits ? null : before.autoDestroyActivityDuration,
    inheritsProjectAutoDestroy: inherits ?? (at || duration ? false : before.inheritsProjectAutoDestroy),
  };
}

/**
 * The settings of a workspace after a change, checked against all rules between them. Throws `invalid` with one issue
 * for each wrong attribute. Rules that need the database (pools, tokens, versions, projects) are checked elsewhere.
 * Spec: Workspaces
 */
export function settingsAfter(
  before: WorkspaceSettings,
  changes: Changes,
  around: { inherited: ExecutionMode; edition: Edition },
): WorkspaceSettings {
  const issues: Issue[] = [];
  const after: WorkspaceSettings = {
    ...before,
    ...workspaceAttributes.plain(changes),
    ...executionAfter(before, changes, around.inherited, issues),
    ...repositoryAfter(before, changes, issues),
    ...triggersAfter(before, changes, issues),
    ...destroyAfter(before, changes, issues),
    ...sharingAfter(before, changes, issues),
  };
  if (changes.workingDirectory !== undefined) {
    after.workingDirectory = changes.workingDirectory === '' ? null : changes.workingDirectory;
  }
  if (after.vcsTagsRegex !== null && changes.vcsRepo?.tagsRegex && changes.fileTriggersEnabled === undefined) {
    // A tag expression replaces file triggers unless the request sets them.
    after.fileTriggersEnabled = false;
  }
  issues.push(...regexIssues(after, changes));
  if (issues.length > 0) throw invalidAll(issues);
  return after;
}

/** The maximum number of states of the automaton for an expression, in which repeated parts are written out. */
const mostSteps = 5_000;

/**
 * The reason why an expression for version tags cannot be used; undefined if it can be used. The supported syntax needs
 * no backtracking.
 */
export function requireRegex(expression: string): string | undefined {
  if (stepsOf(expression) > mostSteps) return `repeats too much (maximum is ${mostSteps} steps)`;
  try {
    RE2JS.compile(expression);
    return undefined;
  } catch {
    return 'is not a valid regular expression';
  }
}

// A group without a closing bracket matches up to the end, so that no text is read twice.
const atom = /\\[pP]\{[^}]*(?:\}|$)|\\[\s\S]|\[\^?\]?(?:\\[\s\S]|[^\]\\])*(?:\]|\\?$)|\{(\d+)(?:,(\d*))?\}|[\s\S]/gu;

/**
 * The approximate number of states of an expression, before it is compiled. Every repetition multiplies the states of
 * the repeated part.
 */
function stepsOf(expression: string): number {
  const open: number[] = [];
  let sum = 0;
  let last = 0;
  for (const [text, least, most] of expression.matchAll(atom)) {
    if (text === '(') {
      open.push(sum);
      sum = 0;
      last = 0;
    } else if (text === ')') {
      last = sum + 1;
      sum = (open.pop() ?? 0) + last;
    } else if (least !== undefined) {
      const times = Math.max(Number(least), Number(most || 0), 1);
      sum += last * (times - 1);
      last *= times;
    } else {
      last = 1;
      sum += 1;
    }
  }
  return open.reduce((total, outer) => total + outer, sum);
}
