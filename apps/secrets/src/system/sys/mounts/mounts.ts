import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { type LiveMount, type Mount, type MountConfig, passwordRule } from '../../../kernel/mounts/mount';
import type { SystemTtls } from '../../../kernel/mounts/mounts';
import { operation, path } from '../../../sdk/path';
import { withoutOuterSlashes } from '../../../sdk/path-text';
import { data, empty } from '../../../sdk/reply';
import { type MountParts, refuseBelowNamespace, unmount } from './mount-changes';
import { mountInput, sameMount, tuned, tuneInput, withoutAlias } from './mount-fields';

const untouchable = new Set(['sys/', 'cubbyhole/', 'identity/']);
const unmountable = new Set(['cubbyhole', 'identity', 'system', 'token']);
const noTuning: MountConfig = { defaultLeaseTtlSeconds: 0, maxLeaseTtlSeconds: 0, forceNoCache: false };

/** `sys/mounts` for secret engines, `sys/auth` for auth methods: list, mount, unmount, tune. */
export function mountPaths(parts: MountParts, kind: 'secret' | 'auth') {
  const { mounts, ttls, upgrade } = parts;
  const words = kind === 'auth' ? authWords : secretWords;
  const full = (path: string) => `${kind === 'auth' ? 'auth/' : ''}${withoutOuterSlashes(path)}/`;

  const find = async (namespaceId: string, path: string): Promise<LiveMount> => {
    const mount = await mounts.seek(namespaceId, full(path));
    if (!mount) throw new Refusal('invalid', `${words.none} at ${path.replace(/(?<!\/)\/+$/, '')}/`);
    return mount;
  };

  const enable = operation<{ path: string }, typeof mountInput>({
    summary: words.enable,
    operationId: words.enableId,
    input: mountInput,
    sameAs: sameMount,
    auditClear: ['type', 'description', 'config', 'options', 'plugin_name'],
    async run({ input, params, namespace }) {
      const requestedType = input.type || input.plugin_name || '';
      if (requestedType === '') throw new Refusal('invalid', 'backend type must be specified as a string');
      const { type, options } = withoutAlias(
        requestedType,
        Object.keys(input.options ?? {}).length > 0 ? input.options! : null,
      );
      const target = full(params.path);
      checkTarget(kind, type, target);
      checkOptions(type, options);
      const tuning = input.config ?? {};
      refuseTokenType(target, tuning);
      if (input.external_entropy_access) {
        throw new Refusal('invalid', "'external_entropy_access' is not supported: random bytes come from the machine");
      }
      if (tuning.user_lockout_config) {
        throw new Refusal('invalid', 'user_lockout_config is set with tune, after the method is enabled');
      }
      checkPluginVersion(type, input.plugin_version, parts.version);
      checkPluginVersion(type, tuning.plugin_version, parts.version);
      const config = tuned(noTuning, tuning);
      checkTtls(config, ttls);
      refuseBelowNamespace(parts, namespace.uuid, target);
      await mounts.create(namespace.uuid, {
        kind,
        path: target,
        type,
        description: input.description,
        config,
        options,
        local: input.local,
        sealWrap: input.seal_wrap,
      });
      return empty;
    },
  });

  const tune = operation<{ path: string }, typeof tuneInput>({
    summary: words.tune,
    operationId: words.tuneId,
    input: tuneInput,
    auditClear: 'all',
    async run({ input, params, namespace }) {
      const target = full(params.path);
      const mount = await mounts.seek(namespace.uuid, target);
      const absent = () => new Refusal('invalid', `tune of path "${params.path}/" failed: no mount entry found`);
      if (!mount) throw absent();
      refuseTokenType(target, input);
      checkPluginVersion(mount.type, input.plugin_version, parts.version);
      if (input.user_lockout_config && !judgesPasswords(mount)) {
        throw new Refusal(
          'invalid',
          `tuning of user lockout configuration for "${mount.type}" is not possible: it has no passwords`,
        );
      }
      const touchesTtl = input.default_lease_ttl !== undefined || input.max_lease_ttl !== undefined;
      if (touchesTtl && untouchable.has(target)) {
        const name = input.default_lease_ttl === undefined ? 'max_lease_ttl' : 'default_lease_ttl';
        throw new Refusal('invalid', `cannot tune parameter ${name} of ${target}`);
      }
      const version = input.options?.version;
      checkOptions(mount.type, input.options ?? null);
      if (mount.type === 'kv' && version !== undefined && version !== (mount.options?.version ?? '1')) {
        if (version !== '2') throw new Refusal('invalid', 'versions of a kv mount cannot be disabled');
        await upgrade(mount);
      }
      const there = await mounts.tune(mount, (now) => {
        const config = tuned(now.config, input);
        checkTuned(config, ttls);
        return {
          description: input.description ?? now.description,
          config,
          options: input.options ? { ...now.options, ...input.options } : now.options,
        };
      });
      if (!there) throw absent();
      return empty;
    },
  });

  const base = kind === 'auth' ? 'auth' : 'mounts';
  return [
    path(base, {
      summary: words.listSummary,
      responseFormat: 'injected',
      sudo: false,
      read: {
        summary: words.listSummary,
        operationId: words.listId,
        output: z.record(z.string(), mountOutput),
        auditClear: 'all',
        run({ namespace }) {
          const shown: Record<string, unknown> = {};
          for (const mount of mounts.list(namespace.uuid, kind)) shown[shownPath(mount)] = showMount(mount);
          return data(shown);
        },
      },
    }),
    path(`${base}/:path*`, {
      summary: words.oneSummary,
      responseFormat: 'injected',
      sudo: kind === 'auth',
      params: { path: 'folder' },
      paramDocs: { path: 'The path of the mount.' },
      read: {
        summary: words.readSummary,
        operationId: words.readId,
        output: mountOutput,
        auditClear: 'all',
        run: async ({ params, namespace }) => data(showMount(await find(namespace.uuid, params.path))),
      },
      write: enable,
      delete: {
        summary: words.disable,
        operationId: words.disableId,
        stepUp: true,
        async run({ params, namespace }) {
          const target = full(params.path);
          // Auth methods have a separate path for this, which needs sudo.
          if (untouchable.has(target) || (kind === 'secret' && target.startsWith('auth/'))) {
            throw new Refusal('invalid', `cannot unmount "${target}"`);
          }
          if (target === 'auth/token/') throw new Refusal('invalid', 'token credential backend cannot be disabled');
          const mount = await mounts.seek(namespace.uuid, target);
          if (mount) await unmount(parts, mount);
          return empty;
        },
      },
    }),
    path(`${base}/:path*/tune`, {
      summary: words.tune,
      responseFormat: 'injected',
      sudo: kind === 'auth',
      params: { path: 'folder' },
      paramDocs: { path: 'The path of the mount.' },
      read: {
        summary: words.readTune,
        operationId: words.readTuneId,
        output: tuneOutput,
        auditClear: 'all',
        run: async ({ params, namespace }) => data(showTuning(await find(namespace.uuid, params.path), ttls)),
      },
      write: tune,
    }),
  ];
}

/** Whether a mount locks users out. Only methods with passwords do. */
const judgesPasswords = ({ backend }: LiveMount): boolean =>
  backend.paths.some(({ operations }) => Object.values(operations).some(({ judges }) => judges === 'password'));

/** Refuses a version other than that of the service, which is the version of every built-in type. */
function checkPluginVersion(type: string, requestedVersion: string | undefined, version: string): void {
  if (requestedVersion && requestedVersion !== `v${version}+builtin`) {
    throw new Refusal('invalid', `plugin_version: ${type} is built in and exists only in version v${version}+builtin`);
  }
}

/** Refuses a token type for a secrets engine, because only auth methods issue tokens. */
function refuseTokenType(target: string, { token_type: tokenType }: { token_type?: string }): void {
  if (tokenType !== undefined && !target.startsWith('auth/')) {
    throw new Refusal('invalid', "'token_type' can only be modified on auth mounts");
  }
}

/** The path of a mount in its listing: auth methods without `auth/`. */
export const shownPath = ({ path: at }: Mount): string => (at.startsWith('auth/') ? at.slice(5) : at);

/** A mount as shown by reads. */
export function showMount(mount: Mount): Record<string, unknown> {
  const { config } = mount;
  return {
    ...(unmountable.has(mount.type) ? {} : { deprecation_status: 'supported' }),
    accessor: mount.accessor,
    config: {
      default_lease_ttl: config.defaultLeaseTtlSeconds,
      force_no_cache: config.forceNoCache,
      max_lease_ttl: config.maxLeaseTtlSeconds,
      ...showOptional(config),
      ...(config.userLockout ? { user_lockout_config: showLockout(config) } : {}),
      ...(mount.path.startsWith('auth/') ? { token_type: config.tokenType ?? 'default-service' } : {}),
    },
    description: mount.description,
    external_entropy_access: false,
    local: mount.local,
    options: mount.options,
    plugin_version: '',
    running_plugin_version: '',
    running_sha256: '',
    seal_wrap: mount.sealWrap,
    type: mount.type,
    uuid: mount.uuid,
  };
}

function showTuning(mount: Mount, ttls: SystemTtls): Record<string, unknown> {
  const { config } = mount;
  return {
    default_lease_ttl: config.defaultLeaseTtlSeconds || ttls.defaultLeaseTtlSeconds,
    description: mount.description,
    force_no_cache: config.forceNoCache,
    ...showOptional(config),
    ...showLockout(config),
    max_lease_ttl: config.maxLeaseTtlSeconds || ttls.maxLeaseTtlSeconds,
    ...(mount.options ? { options: mount.options } : {}),
    ...(mount.path.startsWith('auth/') ? { token_type: config.tokenType ?? 'default-service' } : {}),
  };
}

function showOptional(config: MountConfig): Record<string, unknown> {
  return {
    ...(config.listingVisibility ? { listing_visibility: config.listingVisibility } : {}),
    ...(config.passthroughRequestHeaders ? { passthrough_request_headers: config.passthroughRequestHeaders } : {}),
    ...(config.allowedResponseHeaders ? { allowed_response_headers: config.allowedResponseHeaders } : {}),
    ...(config.auditClearRequestKeys ? { audit_non_hmac_request_keys: config.auditClearRequestKeys } : {}),
    ...(config.auditClearResponseKeys ? { audit_non_hmac_response_keys: config.auditClearResponseKeys } : {}),
  };
}

/** The lockout settings of a mount, if they were tuned. */
function showLockout({ userLockout: own }: MountConfig): Record<string, unknown> | undefined {
  if (!own) return undefined;
  const rule = passwordRule({ ...own, disabled: false })!;
  return {
    user_lockout_threshold: rule.allowed,
    user_lockout_duration: rule.lockSeconds,
    user_lockout_counter_reset_duration: rule.forgetSeconds,
    user_lockout_disable: own.disabled ?? false,
  };
}

function checkOptions(type: string, options: Readonly<Record<string, string>> | null): void {
  const version = options?.version;
  if (type === 'kv' && version !== undefined && version !== '1' && version !== '2') {
    throw new Refusal('invalid', `option version of kv must be 1 or 2, got ${JSON.stringify(version)}`);
  }
  if (options?.upgrading !== undefined) throw new Refusal('invalid', 'option upgrading is set only by an upgrade');
}

function checkTarget(kind: 'secret' | 'auth', type: string, target: string): void {
  if (kind === 'auth' && type === 'token') {
    throw new Refusal('invalid', 'token credential backend cannot be instantiated');
  }
  if (unmountable.has(type)) throw new Refusal('invalid', `mount type of "${type}" is not mountable`);
  if (kind === 'secret' && (target.startsWith('auth/') || target.startsWith('sys/'))) {
    throw new Refusal('invalid', `cannot mount "${target}"`);
  }
  if (target === '/' || target === 'auth//') throw new Refusal('invalid', `cannot mount "${target}"`);
}

function checkTtls(config: MountConfig, ttls: SystemTtls): void {
  const max = config.maxLeaseTtlSeconds || ttls.maxLeaseTtlSeconds;
  if (config.defaultLeaseTtlSeconds > max) {
    throw new Refusal('invalid', 'given default lease TTL greater than given max lease TTL');
  }
}

function checkTuned(config: MountConfig, ttls: SystemTtls): void {
  const max = config.maxLeaseTtlSeconds || ttls.maxLeaseTtlSeconds;
  const usual = config.defaultLeaseTtlSeconds || (config.maxLeaseTtlSeconds > 0 ? 0 : ttls.defaultLeaseTtlSeconds);
  if (usual > max) {
    throw new Refusal(
      'invalid',
      `backend max lease TTL of ${max} would be less than backend default lease TTL of ${usual}`,
    );
  }
}

const configOutput = z.looseObject({
  default_lease_ttl: z.int(),
  max_lease_ttl: z.int(),
  force_no_cache: z.boolean(),
});
const mountOutput = z.object({
  deprecation_status: z.string().optional(),
  accessor: z.string(),
  config: configOutput,
  description: z.string(),
  external_entropy_access: z.boolean(),
  local: z.boolean(),
  options: z.record(z.string(), z.string()).nullable(),
  plugin_version: z.string(),
  running_plugin_version: z.string(),
  running_sha256: z.string(),
  seal_wrap: z.boolean(),
  type: z.string(),
  uuid: z.string(),
});
const tuneOutput = configOutput.extend({ description: z.string() });

const secretWords = {
  none: 'No secret engine mount',
  enable: 'Mount a secrets engine.',
  enableId: 'mounts-enable-secrets-engine',
  disable: 'Unmount a secrets engine and revoke everything it issued. Also succeeds if it is not mounted.',
  disableId: 'mounts-disable-secrets-engine',
  tune: 'Tune a mounted secrets engine.',
  tuneId: 'mounts-tune-configuration-parameters',
  readTune: 'Read the tuning of a mounted secrets engine.',
  readTuneId: 'mounts-read-tuning-information',
  listSummary: 'List the mounted secrets engines.',
  listId: 'mounts-list-secrets-engines',
  oneSummary: 'One mounted secrets engine.',
  readSummary: 'Read the configuration of a mounted secrets engine.',
  readId: 'mounts-read-configuration',
};
const authWords = {
  none: 'No auth engine',
  enable: 'Enable an auth method.',
  enableId: 'auth-enable-method',
  disable: 'Disable an auth method and revoke every token it issued. Also succeeds if it is not enabled.',
  disableId: 'auth-disable-method',
  tune: 'Tune an enabled auth method.',
  tuneId: 'auth-tune-configuration-parameters',
  readTune: 'Read the tuning of an enabled auth method.',
  readTuneId: 'auth-read-tuning-information',
  listSummary: 'List the enabled auth methods.',
  listId: 'auth-list-enabled-methods',
  oneSummary: 'One enabled auth method.',
  readSummary: 'Read the configuration of an enabled auth method.',
  readId: 'auth-read-configuration',
};
