import { useContent, useRead } from '../api';
import { ownPath, type StateFile } from '../workspace/state-diff';

/** The state that an apply stored, read only when the user asks for it, because it can contain secrets. */
export function useFinalState(applyId: string | undefined, isRequested: boolean) {
  const apply = useRead(
    ['applies', applyId],
    (api) => api.GET('/api/v2/applies/{id}', { params: { path: { id: applyId ?? '' } } }),
    { enabled: isRequested && applyId !== undefined },
  );
  const id = apply.data?.data?.relationships['state-versions'].data.at(-1)?.id;
  const version = useRead(
    ['state-version', id],
    (api) => api.GET('/api/v2/state-versions/{state_version_id}', { params: { path: { state_version_id: id ?? '' } } }),
    { enabled: isRequested && id !== undefined },
  );
  const address = ownPath(version.data?.data?.attributes['hosted-state-download-url'] ?? null);
  const file = useContent<StateFile>(isRequested ? address : undefined);
  const isAbsent = (apply.isSuccess && id === undefined) || (version.isSuccess && address === undefined);
  return {
    state: file.data,
    error: apply.error ?? version.error ?? file.error,
    /** Whether the apply stored no state, or the user may not read it. */
    isAbsent,
    isPending: isRequested && file.data === undefined && !isAbsent,
  };
}
