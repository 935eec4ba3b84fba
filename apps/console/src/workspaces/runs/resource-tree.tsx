import { List, Workflow } from 'lucide-react';
import { lazy, Suspense, useMemo, useState } from 'react';
import { Badge, type Tone } from '../../design/badge';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { SelectField, TextField } from '../../design/field';
import { Skeleton } from '../../design/page';
import { useContent } from '../api';
import { instancesOf } from '../workspace/state-diff';
import { finalAttributes, finalOutputs } from './final-values';
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
import { useFinalState } from './use-final-state';

const PlanGraph = lazy(() => import('../graph/plan-graph').then((m) => ({ default: m.PlanGraph })));

/** The sign, the colour, and the verb of each action, also in the past tense. */
const marks: Readonly<Record<ChangeKind, readonly [string, string, string, string]>> = {
  create: ['+', 'added', 'create', 'Created'],
  update: ['~', 'changed', 'change', 'Changed'],
  replace: ['±', 'changed', 'replace', 'Replaced'],
  delete: ['−', 'removed', 'destroy', 'Destroyed'],
  read: ['→', 'second', 'read', 'Read'],
  forget: ['·', 'second', 'forget', 'Forgotten'],
  import: ['⇥', 'second', 'import', 'Imported'],
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
  /** The apply, after it has ended, and whether it failed. */
  readonly ended?: { readonly applyId: string; readonly failed: boolean } | undefined;
}

/**
 * The changes of a plan by resource, with the attributes that differ; during an apply, it shows the progress; after the
 * apply, the result.
 */
export function ResourceTree({ planId, progress, ended }: ResourceTreeProps) {
  const { data, error, refetch } = useContent<PlanJson | undefined>(`plans/${planId}/content/json-output-redacted`);
  const [search, setSearch] = useState('');
  const [kind, setKind] = useState('');
  const [asGraph, setAsGraph] = useState(false);
  const [asksState, setAsksState] = useState(false);
  const final = useFinalState(ended?.applyId, asksState);
  const changes = useMemo(() => (data === undefined ? undefined : changesOf(data)), [data]);
  const outputs = useMemo(() => (data === undefined ? [] : outputsOf(data)), [data]);
  const instances = useMemo(() => (final.state === undefined ? undefined : instancesOf(final.state)), [final.state]);
  if (error !== null) return <ErrorNotice error={error} onRetry={() => void refetch()} />;
  if (changes === undefined) return <Skeleton rows={6} />;
  if (asGraph) {
    return (
      <div className="stack">
        <div className="row">
          <ViewSwitch asGraph onChange={setAsGraph} />
        </div>
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
  const isDone = ({ address }: ResourceChange) =>
    ended !== undefined && (progress.get(address)?.state ?? (ended.failed ? 'planned' : 'done')) === 'done';
  const sections = [...new Set(chosen.map((one) => one.kind))].flatMap((kind) => {
    const ofKind = chosen.filter((one) => one.kind === kind);
    const [, , verb, done] = marks[kind];
    return [
      { title: done, all: ofKind.filter(isDone) },
      {
        title: ended === undefined ? `To ${verb}` : `Not ${done.toLowerCase()}`,
        all: ofKind.filter((one) => !isDone(one)),
      },
    ].filter(({ all }) => all.length > 0);
  });
  const isOpen = [...changes.flatMap(({ attributes }) => attributes), ...outputs].some(
    ({ after }) => after.kind === 'unknown',
  );
  const attributesOf = (one: ResourceChange) =>
    isDone(one) ? finalAttributes(one.attributes, instances?.get(one.address)) : one.attributes;
  return (
    <div className="stack">
      <div className="row">
        {changes.length === 0 ? null : <ViewSwitch asGraph={false} onChange={setAsGraph} />}
        {ended === undefined || !isOpen || final.state !== undefined || final.isAbsent ? null : (
          <Button small busy={final.isPending && final.error === null} onClick={() => setAsksState(true)}>
            Show final values
          </Button>
        )}
      </div>
      <ErrorNotice error={final.error} />
      {final.isAbsent ? <p className="second small">There is no state of this apply that you may read.</p> : null}
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
      {sections.map(({ title, all }) => (
        <section key={title} className="stack-tight" aria-label={title}>
          <h2>
            {title}: {all.length.toLocaleString('en')}
          </h2>
          <ul className="changes">
            {all.map((one) => (
              <li key={one.address}>
                <Resource
                  change={{ ...one, attributes: attributesOf(one) }}
                  progress={progress.get(one.address)}
                  open={chosen.length <= 5}
                />
              </li>
            ))}
          </ul>
        </section>
      ))}
      {chosen.length === 0 && changes.length > 0 ? <p className="second">No resource matches.</p> : null}
      {outputs.length === 0 ? null : (
        <section className="stack-tight">
          <h2>Outputs</h2>
          <Attributes all={ended === undefined ? outputs : finalOutputs(outputs, final.state)} />
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
    <Button small icon={asGraph ? List : Workflow} onClick={() => onChange(!asGraph)}>
      {asGraph ? 'Show as list' : 'Show as graph'}
    </Button>
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
