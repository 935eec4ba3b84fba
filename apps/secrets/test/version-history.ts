/** A write of a versioned secret, as its caller saw it. */
export interface VersionWrite {
  /** The version that it had to replace, if `cas` was given. */
  readonly cas?: number;
  readonly value: string;
  /** The version it became; null if it was refused because of `cas`; undefined if that is not known. */
  readonly version: number | null | undefined;
  readonly began: number;
  readonly ended: number;
}

/** The final state of the secret. */
export interface FinalVersions {
  readonly current: number;
  /** Values of the versions that still exist. */
  readonly values: ReadonlyMap<number, string>;
}

/**
 * Contradictions in a history to each write taking effect at one instant between its start and its end: versions given twice, skipped, lost or out of order, and wrong results of check-and-set.
 */
export function versionProblems(history: readonly VersionWrite[], final: FinalVersions): string[] {
  const problems: string[] = [];
  const byVersion = new Map<number, VersionWrite>();
  for (const write of history) {
    if (typeof write.version !== 'number') continue;
    if (byVersion.has(write.version)) problems.push(`version ${write.version} was given twice`);
    byVersion.set(write.version, write);
    if (write.cas !== undefined && write.version !== write.cas + 1) {
      problems.push(`version ${write.version} was to follow ${write.cas}`);
    }
  }
  const unknown = history.filter(({ version }) => version === undefined).length;
  const missing = Array.from({ length: final.current }, (_, i) => i + 1).filter((version) => !byVersion.has(version));
  if (missing.length > unknown) problems.push(`no write made the versions ${missing.join()}`);
  for (const [version, { value }] of byVersion) {
    if (version > final.current) problems.push(`version ${version} was acknowledged and is not there`);
    const kept = final.values.get(version);
    if (kept !== undefined && kept !== value) problems.push(`version ${version} has the value of another write`);
  }
  // No write may have ended before a write of a smaller version started.
  let latestBegin = Number.NEGATIVE_INFINITY;
  for (const [version, { began, ended }] of [...byVersion].sort(([a], [b]) => a - b)) {
    if (ended < latestBegin) problems.push(`version ${version} was written before its predecessor was begun`);
    latestBegin = Math.max(latestBegin, began);
  }
  for (const { cas, version, began, ended } of history) {
    if (version !== null) continue;
    const before = cas === 0 ? Number.NEGATIVE_INFINITY : (byVersion.get(cas!)?.ended ?? Number.POSITIVE_INFINITY);
    const after = byVersion.get(cas! + 1)?.began ?? (cas === final.current ? Number.POSITIVE_INFINITY : 0);
    if (before < began && after > ended)
      problems.push(`a write that followed ${cas} was refused while ${cas} was current`);
  }
  return problems;
}
