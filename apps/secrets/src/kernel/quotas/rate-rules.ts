import { readSetting, storeSetting } from '../storage/settings';
import type { StorageKernel } from '../storage/storage';

/** The rules for all rate limits. */
export interface RateRules {
  /** Paths that no rate limit counts. */
  readonly exemptPaths: readonly string[];
  /** Whether refusals by a rate limit leave audit lines. */
  readonly audited: boolean;
  /** Whether answers have rate-limit headers. */
  readonly headers: boolean;
}

/** The default rules. The exempt paths are needed to notice and fix a problem. */
export const usualRules: RateRules = {
  exemptPaths: [
    'sys/generate-root/attempt',
    'sys/generate-root/update',
    'sys/health',
    'sys/seal',
    'sys/seal-status',
    'sys/unseal',
  ],
  audited: true,
  headers: false,
};

const setting = 'rate-limits';

/** The stored rules: one row for all nodes. */
export async function loadRules({ database }: StorageKernel): Promise<RateRules> {
  return (await readSetting<RateRules>(database.prisma, setting)) ?? usualRules;
}

/** Replaces the rules and notifies every node. */
export async function saveRules({ committer }: StorageKernel, rules: RateRules): Promise<void> {
  await committer.transaction(({ prisma }) => storeSetting(prisma, setting, rules), [{ topic: 'quota', key: setting }]);
}

/**
 * Whether a path is exempt from rate limits. Paths are relative to the root namespace; paths of `sys/` apply in every
 * namespace. A final `*` matches anything. Requests that change limits are never counted, so that a limit that is too
 * strict can be changed.
 */
export function isExempt({ exemptPaths }: RateRules, namespacePath: string, path: string): boolean {
  if (path.startsWith('sys/quotas/')) return true;
  const fullPath = namespacePath + path;
  return exemptPaths.some((pattern) => {
    const comparedPath = pattern.startsWith('sys/') ? path : fullPath;
    return pattern.endsWith('*') ? comparedPath.startsWith(pattern.slice(0, -1)) : comparedPath === pattern;
  });
}
