import { useMemo } from 'react';
import type { PlanJson, ResourceChange } from '../runs/plan-changes';
import { nodesOfPlan } from './graph-nodes';
import { ResourceGraph } from './resource-graph';

/** The graph of a plan: its action on each resource, and the dependencies. */
export function PlanGraph({ plan, changes }: { readonly plan: PlanJson; readonly changes: readonly ResourceChange[] }) {
  const nodes = useMemo(() => nodesOfPlan(plan, changes), [plan, changes]);
  return (
    <>
      {plan.resource_dependencies === undefined ? (
        <p className="second small">This plan was created before dependencies were stored, so the graph shows none.</p>
      ) : null}
      <ResourceGraph nodes={nodes} />
    </>
  );
}
