import { readSetting, storeSetting } from '../storage/settings';
import type { StorageKernel } from '../storage/storage';

/** What holds for all rate limits together. */
export interface RateRules {
  /** Paths that no rate limit counts. */
  readonly exemptPaths: readonly string[];
  /** Whether refusals by a rate limit leave audit lines. */
  readonly audited: boolean;
  /** Whether answers say how much of a limit is left. */
  readonly headers: boolean;
}

/** Needed to see that something is wrong and to repair it. */
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

/** The rules as they are stored: one row for all nodes. */
export async function loadRules({ database }: StorageKernel): Promise<RateRules> {
  return (await readSetting<RateRules>(database.prisma, setting)) ?? usualRules;
}

/** Replaces the rules; every node hears of it. */
export async function saveRules({ committer }: StorageKernel, rules: RateRules): Promise<void> {
  await committer.transaction(({ prisma }) => storeSetting(prisma, setting, rules), [{ topic: 'quota', key: setting }]);
}

/**
 * Whether a path is counted by no rate limit. Paths are seen from the root namespace, those of `sys/` from each; a final
 * `*` matches any rest. Requests that change limits are never counted: a limit that is too tight must not keep itself.
 */
export function isExempt({ exemptPaths }: RateRules, namespacePath: string, path: string): boolean {
  if (path.startsWith('sys/quotas/')) return true;
  const whole = namespacePath + path;
  return exemptPaths.some((pattern) => {
    const seen = pattern.startsWith('sys/') ? path : whole;
    return pattern.endsWith('*') ? seen.startsWith(pattern.slice(0, -1)) : seen === pattern;
  });
}
