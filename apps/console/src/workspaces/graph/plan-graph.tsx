import { useMemo } from 'react';
import type { PlanJson, ResourceChange } from '../runs/plan-changes';
import { nodesOfPlan } from './graph-nodes';
import { ResourceGraph } from './resource-graph';

/** A plan, drawn: what it does to each resource, and what depends on that. */
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
