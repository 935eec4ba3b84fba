import { useMemo } from 'react';
import { ErrorNotice } from '../../design/error-notice';
import { Skeleton } from '../../design/page';
import { useContent } from '../api';
import type { StateFile } from '../workspace/state-diff';
import { nodesOfState } from './graph-nodes';
import { ResourceGraph } from './resource-graph';

/** The graph of a state. Only addresses are taken from its file, which can contain secrets. */
export function StateGraph({ address }: { readonly address: string }) {
  const { data, error } = useContent<StateFile>(address);
  const nodes = useMemo(() => (data === undefined ? undefined : nodesOfState(data)), [data]);
  if (error !== null) return <ErrorNotice error={error} />;
  return nodes === undefined ? <Skeleton /> : <ResourceGraph nodes={nodes} />;
}
