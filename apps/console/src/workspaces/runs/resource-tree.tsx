import { List, Workflow } from 'lucide-react';
import { lazy, Suspense, useMemo, useState } from 'react';
import { Badge, type Tone } from '../../design/badge';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { SelectField, TextField } from '../../design/field';
import { Skeleton } from '../../design/page';
import { useContent } from '../api';
import type { ResourceProgress } from './log-lines';
import {
  type AttributeChange,
  type AttributeValue,
  type ChangeKind,
  changesOf,
  outputsOf,
  type PlanJson,
  type ResourceChange,
} from './plan-changes';

const PlanGraph = lazy(() => import('../graph/plan-graph').then((m) => ({ default: m.PlanGraph })));

const marks: Readonly<Record<ChangeKind, readonly [string, string, string]>> = {
  create: ['+', 'added', 'create'],
  update: ['~', 'changed', 'change'],
  replace: ['±', 'changed', 'replace'],
  delete: ['−', 'removed', 'destroy'],
  read: ['→', 'second', 'read'],
  forget: ['·', 'second', 'forget'],
  import: ['⇥', 'second', 'import'],
};
const states: Readonly<Record<ResourceProgress['state'], readonly [Tone, string]>> = {
  planned: ['plain', 'planned'],
  running: ['accent', 'running'],
  done: ['green', 'done'],
  failed: ['red', 'failed'],
};

export interface ResourceTreeProps {
  readonly planId: string;
  readonly progress: ReadonlyMap<string, ResourceProgress>;
}

/** The changes of a plan by resource, with the attributes that differ; during an apply, with its progress. */
export function ResourceTree({ planId, progress }: ResourceTreeProps) {
  const { data, error, refetch } = useContent<PlanJson | undefined>(`plans/${planId}/content/json-output-redacted`);
  const [search, setSearch] = useState('');
  const [kind, setKind] = useState('');
  const [asGraph, setAsGraph] = useState(false);
  const changes = useMemo(() => (data === undefined ? undefined : changesOf(data)), [data]);
  const outputs = useMemo(() => (data === undefined ? [] : outputsOf(data)), [data]);
  if (error !== null) return <ErrorNotice error={error} onRetry={() => void refetch()} />;
  if (changes === undefined) return <Skeleton rows={6} />;
  if (asGraph) {
    return (
      <div className="stack">
        <ViewSwitch asGraph onChange={setAsGraph} />
        <Suspense fallback={<Skeleton rows={6} />}>
          <PlanGraph plan={data!} changes={changes} />
        </Suspense>
      </div>
    );
  }
  if (changes.length === 0 && outputs.length === 0)
    return <p>No changes. Your infrastructure matches the configuration.</p>;
  const chosen = changes.filter(
    (one) => (kind === '' || one.kind === kind) && one.address.toLowerCase().includes(search.toLowerCase()),
  );
  const kinds = [...new Set(chosen.map((one) => one.kind))];
  return (
    <div className="stack">
      {changes.length === 0 ? null : <ViewSwitch asGraph={false} onChange={setAsGraph} />}
      {changes.length < 8 ? null : (
        <div className="filters">
          <TextField label="Search resources" type="search" value={search} onChange={setSearch} />
          <SelectField
            label="Action"
            value={kind}
            onChange={setKind}
            options={[
              { value: '', label: 'All' },
              ...[...new Set(changes.map((one) => one.kind))].map((value) => ({ value, label: marks[value][2] })),
            ]}
          />
        </div>
      )}
      {kinds.map((kind) => (
        <section key={kind} className="stack-tight" aria-label={`To ${marks[kind][2]}`}>
          <h2>
            To {marks[kind][2]}: {chosen.filter((one) => one.kind === kind).length.toLocaleString('en')}
          </h2>
          <ul className="changes">
            {chosen
              .filter((one) => one.kind === kind)
              .map((one) => (
                <li key={one.address}>
                  <Resource change={one} progress={progress.get(one.address)} open={chosen.length <= 5} />
                </li>
              ))}
          </ul>
        </section>
      ))}
      {chosen.length === 0 && changes.length > 0 ? <p className="second">No resource fits.</p> : null}
      {outputs.length === 0 ? null : (
        <section className="stack-tight">
          <h2>Outputs</h2>
          <Attributes all={outputs} />
        </section>
      )}
    </div>
  );
}

/** The changes as a list, or as a dependency graph. */
function ViewSwitch({
  asGraph,
  onChange,
}: {
  readonly asGraph: boolean;
  readonly onChange: (asGraph: boolean) => void;
}) {
  return (
    <div className="row">
      <Button small icon={asGraph ? List : Workflow} onClick={() => onChange(!asGraph)}>
        {asGraph ? 'Show as list' : 'Show as graph'}
      </Button>
    </div>
  );
}

function Resource({
  change,
  progress,
  open,
}: {
  readonly change: ResourceChange;
  readonly progress: ResourceProgress | undefined;
  readonly open: boolean;
}) {
  const [mark, tone, verb] = marks[change.kind];
  const [stateTone, state] = states[progress?.state ?? 'planned'];
  return (
    <details className="change" open={open}>
      <summary>
        <span className={`mark ${tone}`} title={verb}>
          <span aria-hidden="true">{mark}</span>
          <span className="visually-hidden">{verb}</span>
        </span>
        <code>{change.address}</code>
        <span className="second small">{change.kind === 'replace' ? 'replace' : ''}</span>
        {progress === undefined || progress.state === 'planned' ? null : (
          <Badge tone={stateTone}>
            {state}
            {progress.seconds === undefined ? '' : ` · ${progress.seconds} s`}
          </Badge>
        )}
      </summary>
      {change.reason === undefined ? null : <p className="second small">Why: {change.reason}</p>}
      <Attributes all={change.attributes} />
    </details>
  );
}

/** Attributes that differ, with their old and new values. */
export function Attributes({ all }: { readonly all: readonly AttributeChange[] }) {
  if (all.length === 0) return <p className="second small">No attribute differs.</p>;
  return (
    <dl className="attributes">
      {all.map(({ path, before, after, replaces }) => (
        <div key={path}>
          <dt>
            {path}
            {replaces ? <span className="changed small"> forces replacement</span> : null}
          </dt>
          <dd>
            {before.kind === 'absent' ? null : <Value shown={before} tone="removed" />}
            {before.kind === 'absent' || after.kind === 'absent' ? null : <span> → </span>}
            {after.kind === 'absent' ? null : <Value shown={after} tone="added" />}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Value({ shown, tone }: { readonly shown: AttributeValue; readonly tone: string }) {
  return <span className={shown.kind === 'value' ? tone : 'second'}>{shown.text}</span>;
}
