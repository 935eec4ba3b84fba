import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { dataOf } from '../../api/transport';
import { TextField } from '../../design/field';
import { Form } from '../../design/form';
import { Table } from '../../design/table';
import { useChange, useOrganizationName, useRead } from '../api';
import { Status } from '../parts/states';

/** A workspace that uses the module, with the source address that its configuration contains. */
export interface ModuleUser {
  readonly id: string;
  readonly name: string;
  readonly source: string;
}

interface TriedPlan extends ModuleUser {
  readonly run?: string;
  readonly problem?: string;
}

/** Plans the workspaces that use a module with another version of it. Nothing is applied. */
export function TryVersion({ module, users }: { readonly module: string; readonly users: readonly ModuleUser[] }) {
  const [version, setVersion] = useState('');
  const [plans, setPlans] = useState<readonly TriedPlan[]>([]);
  const start = useChange(async (api) => {
    const newPlans: TriedPlan[] = [];
    for (const user of users) {
      const attributes = {
        message: `Plan with ${module} ${version}`,
        'plan-only': true,
        'module-versions': [{ source: user.source, version }],
      };
      const workspace = { data: { type: 'workspaces' as const, id: user.id } };
      const call = api.POST('/api/v2/runs', {
        body: { data: { type: 'runs', attributes, relationships: { workspace } } },
      });
      const one = await dataOf(call).then(
        ({ data }): TriedPlan => ({ ...user, ...(data ? { run: data.id } : {}) }),
        (error: Error): TriedPlan => ({ ...user, problem: error.message }),
      );
      newPlans.push(one);
      setPlans([...newPlans]);
    }
    return { response: new Response(), data: undefined };
  });
  return (
    <>
      <Form layout="line" action="Plan with this version" change={start} onSend={() => start.mutate()}>
        <TextField
          label="Try another version in these workspaces"
          required
          value={version}
          onChange={setVersion}
          placeholder="2.0.0"
          hint="Plan-only runs, even of workspaces whose configurations do not accept this version."
        />
      </Form>
      {plans.length === 0 ? null : (
        <Table
          label="Plans with this version"
          rows={plans}
          keyOf={({ id }) => id}
          columns={[
            { head: 'Workspace', cell: ({ name }) => name },
            {
              head: 'Plan',
              cell: ({ name, run, problem }) => (run === undefined ? problem : <Outcome workspace={name} run={run} />),
            },
          ]}
        />
      )}
    </>
  );
}

function Outcome({ workspace, run: id }: { readonly workspace: string; readonly run: string }) {
  const org = useOrganizationName();
  const run = useRead(['runs', id], (api) => api.GET('/api/v2/runs/{run_id}', { params: { path: { run_id: id } } }), {
    everyMs: 2000,
    asLongAs: ({ data }) => data?.attributes.actions['is-cancelable'] === true,
  });
  const attributes = run.data?.data?.attributes;
  return (
    <Link to={`/organizations/${encodeURIComponent(org)}/workspaces/${encodeURIComponent(workspace)}/runs/${id}`}>
      {attributes === undefined ? id : <Status status={attributes.status} />}
      {attributes?.status === 'planned_and_finished'
        ? attributes['has-changes']
          ? ' with changes'
          : ' no changes'
        : null}
    </Link>
  );
}
