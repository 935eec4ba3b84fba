import { exactJson } from '@keystead/envelope';
import { useQuery } from '@tanstack/react-query';
import { ApiError } from '../../api/api-error';
import { useSession } from '../../shell/session';
import { hasVersions, type Mount } from '../mounts';
import { encodedPath } from '../reads';

/** Fields of a secret. */
export type Fields = Readonly<Record<string, unknown>>;

/** A version of a secret; `data` is null if it was deleted or destroyed. */
export interface Secret {
  readonly data: Fields | null;
  readonly version?: number;
  readonly deletedAt?: string;
  readonly destroyed?: boolean;
}

interface VersionTwo {
  readonly data: Fields | null;
  readonly metadata: { readonly version: number; readonly deletion_time: string; readonly destroyed: boolean };
}

/** The API paths of a secret. */
export const valuesAt = (mount: Mount, path: string): string =>
  hasVersions(mount) ? `${mount.path}data/${path}` : `${mount.path}${path}`;

/**
 * Reads a secret; its values are dropped from the cache when the user leaves the page. `data` is undefined if it does
 * not exist.
 */
export function useSecret(mount: Mount, path: string, version: number | undefined, enabled = true) {
  const { transport } = useSession();
  return useQuery<Secret | null>({
    queryKey: ['v1', 'secret', mount.path, path, version],
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
    enabled,
    queryFn: async () => {
      const query = version === undefined ? '' : `?version=${version}`;
      try {
        const { data } = await transport.call<{ data: VersionTwo & Fields }>(
          'GET',
          `/v1/${encodedPath(valuesAt(mount, path))}${query}`,
        );
        return hasVersions(mount) ? secretOf(data) : { data };
      } catch (error) {
        if (!(error instanceof ApiError) || error.status !== 404) throw error;
        // The 404 for a deleted version contains the metadata of the version.
        const answer = (error.body as { data?: VersionTwo } | undefined)?.data;
        return answer?.metadata ? secretOf(answer) : null;
      }
    },
  });
}

function secretOf({ data, metadata }: VersionTwo): Secret {
  const { version, deletion_time, destroyed } = metadata;
  return { data, version, destroyed, ...(deletion_time === '' ? {} : { deletedAt: deletion_time }) };
}

/** The text of a field; for values that are not strings, JSON. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : exactJson(value, 2));

/** How the fields of two versions differ. */
export interface FieldChange {
  readonly name: string;
  readonly how: 'added' | 'removed' | 'changed' | 'same';
  readonly before: unknown;
  readonly after: unknown;
}

/** Compares fields, sorted by name. */
export function changesOf(before: Fields, after: Fields): FieldChange[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names.map((name) => {
    const was = before[name];
    const is = after[name];
    const how = !(name in before)
      ? 'added'
      : !(name in after)
        ? 'removed'
        : textOf(was) === textOf(is)
          ? 'same'
          : 'changed';
    return { name, how, before: was, after: is };
  });
}
