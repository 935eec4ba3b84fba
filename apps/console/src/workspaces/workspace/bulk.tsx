import { useQueryClient } from '@tanstack/react-query';
import {
  CircleCheck,
  CircleX,
  FolderInput,
  Lock,
  LockOpen,
  type LucideIcon,
  MessageSquarePlus,
  Minus,
  Tag,
  Trash2,
} from 'lucide-react';
import { type ReactNode, useRef, useState } from 'react';
import { dataOf } from '../../api/transport';
import { type WorkspacesApi, workspacesApi } from '../../api/workspaces';
import { Button } from '../../design/button';
import { Dialog } from '../../design/dialog';
import { CheckField, SelectField, TextField } from '../../design/field';
import { Form } from '../../design/form';
import { useSession } from '../../shell/session';
import type { ApiAnswer } from '../api';
import { ChoiceField } from '../parts/choice-field';
import { RequestFields, requestChange } from './change-request-form';
import { type Mark, useMarks } from './marks';

/** The maximum number of requests in progress at the same time. */
const atOnce = 4;

const actions = {
  tag: { label: 'Tags', icon: Tag, title: 'Tags of' },
  move: { label: 'Move', icon: FolderInput, title: 'Move' },
  lock: { label: 'Lock', icon: Lock, title: 'Lock' },
  unlock: { label: 'Unlock', icon: LockOpen, title: 'Unlock' },
  request: { label: 'Request change', icon: MessageSquarePlus, title: 'Request a change of' },
  delete: { label: 'Delete', icon: Trash2, title: 'Delete' },
} as const satisfies Record<string, { label: string; icon: LucideIcon; title: string }>;
type BulkAction = keyof typeof actions;

const numberOf = (chosen: readonly Mark[]) =>
  `${chosen.length.toLocaleString('en')} ${chosen.length === 1 ? 'workspace' : 'workspaces'}`;

export interface BulkProps {
  readonly org: string;
  readonly chosen: readonly Mark[];
  /** Sets the selection. */
  readonly onChoose: (chosen: readonly Mark[]) => void;
}

/** Actions on all chosen workspaces. */
export function BulkBar({ org, chosen, onChoose }: BulkProps) {
  const [action, setAction] = useState<BulkAction>();
  if (chosen.length === 0) return null;
  return (
    <section className="bulk-bar" aria-label="Chosen workspaces">
      <span className="strong" role="status">
        {numberOf(chosen)} chosen
      </span>
      <div className="row">
        {(Object.keys(actions) as BulkAction[]).map((one) => (
          <Button
            key={one}
            small
            icon={actions[one].icon}
            {...(one === 'delete' ? { kind: 'danger' } : {})}
            onClick={() => setAction(one)}
          >
            {actions[one].label}
          </Button>
        ))}
        <Button small kind="quiet" onClick={() => onChoose([])}>
          Clear
        </Button>
      </div>
      {action === undefined ? null : (
        <BulkDialog
          org={org}
          chosen={chosen}
          onChoose={onChoose}
          action={action}
          onClose={() => setAction(undefined)}
        />
      )}
    </section>
  );
}

type WorkspaceCall = (api: WorkspacesApi, id: string) => Promise<ApiAnswer<unknown>>;
type RowOutcome = 'waiting' | 'busy' | 'done' | { readonly error: string };

function BulkDialog({
  org,
  chosen,
  onChoose,
  action,
  onClose,
}: BulkProps & { readonly action: BulkAction; readonly onClose: () => void }) {
  const { transport } = useSession();
  const queries = useQueryClient();
  const marks = useMarks(org);
  // The selection at the time when the dialog was opened, because deleted workspaces are removed from the selection.
  const [all] = useState(chosen);
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, RowOutcome>>();
  const stopped = useRef(false);
  const call = useRef<WorkspaceCall>(undefined);

  const begin = async (some: readonly Mark[]) => {
    stopped.current = false;
    const api = workspacesApi(transport);
    const note = (id: string, outcome: RowOutcome) => setOutcomes((before) => new Map(before).set(id, outcome));
    for (const { id } of some) note(id, 'waiting');
    const remaining = [...some];
    const done: string[] = [];
    const work = async () => {
      for (let next = remaining.shift(); next !== undefined && !stopped.current; next = remaining.shift()) {
        const { id } = next;
        note(id, 'busy');
        try {
          await dataOf(call.current!(api, id));
          done.push(id);
          note(id, 'done');
        } catch (error) {
          note(id, { error: (error as Error).message });
        }
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
    if (action === 'delete') {
      marks.forget(done);
      onChoose(all.filter(({ id }) => !done.includes(id)));
    }
    await queries.invalidateQueries({ queryKey: ['api'] });
  };
  const close = () => {
    stopped.current = true;
    onClose();
  };
  const title = `${actions[action].title} ${numberOf(all)}`;
  if (outcomes === undefined) {
    return (
      <Dialog title={title} onClose={close}>
        <Ask
          org={org}
          action={action}
          all={all}
          onClose={close}
          onSend={(chosenCall) => {
            call.current = chosenCall;
            void begin(all);
          }}
        />
      </Dialog>
    );
  }
  const failed = all.filter(({ id }) => typeof outcomes.get(id) === 'object');
  const done = all.filter(({ id }) => outcomes.get(id) === 'done').length;
  const isOver = stopped.current || done + failed.length === all.length;
  return (
    <Dialog title={title} onClose={close}>
      <div className="stack-tight">
        <p role="status">
          {done.toLocaleString('en')} of {all.length.toLocaleString('en')} done
          {failed.length === 0 ? '' : `, ${failed.length.toLocaleString('en')} refused`}
        </p>
        <progress max={all.length} value={done + failed.length} aria-label={title} />
        <ul className="list outcomes">
          {all.map(({ id, name }) => (
            <li key={id}>
              <OutcomeIcon outcome={outcomes.get(id) ?? 'waiting'} />
              <span className="grow">{name}</span>
              <OutcomeText outcome={outcomes.get(id) ?? 'waiting'} />
            </li>
          ))}
        </ul>
        <div className="row end">
          {isOver && failed.length > 0 ? (
            <Button onClick={() => void begin(failed)}>Try the refused again</Button>
          ) : null}
          {isOver ? (
            <Button kind="primary" onClick={close}>
              Close
            </Button>
          ) : (
            <Button onClick={close}>Stop</Button>
          )}
        </div>
      </div>
    </Dialog>
  );
}

function OutcomeIcon({ outcome }: { readonly outcome: RowOutcome }) {
  if (outcome === 'done') return <CircleCheck size={16} className="added" aria-hidden="true" />;
  if (typeof outcome === 'object') return <CircleX size={16} className="removed" aria-hidden="true" />;
  return <Minus size={16} className="second" aria-hidden="true" />;
}

function OutcomeText({ outcome }: { readonly outcome: RowOutcome }) {
  if (typeof outcome === 'object') return <span className="small removed">{outcome.error}</span>;
  return <span className="small second">{outcome === 'busy' ? 'in progress' : outcome}</span>;
}

interface AskProps {
  readonly org: string;
  readonly action: BulkAction;
  readonly all: readonly Mark[];
  readonly onClose: () => void;
  readonly onSend: (call: WorkspaceCall) => void;
}

/** The fields of an action. */
function Ask({ org, action, all, onClose, onSend }: AskProps) {
  const [text, setText] = useState('');
  const [verb, setVerb] = useState<'add' | 'remove'>('add');
  const [project, setProject] = useState('');
  const [isForced, setForced] = useState(false);
  const [request, setRequest] = useState({ subject: '', message: '' });
  const tags = text.split(/[\s,]+/).filter(Boolean);
  const params = (id: string) => ({ path: { workspace_id: id } });
  const data = tags.map((name) => ({ type: 'tags' as const, attributes: { name } }));
  const shapes: Record<
    BulkAction,
    { readonly fields: ReactNode; readonly forbidden?: string | undefined; readonly call: WorkspaceCall }
  > = {
    tag: {
      fields: (
        <>
          <SelectField
            label="What to do"
            value={verb}
            onChange={setVerb}
            options={[
              { value: 'add', label: 'Add tags' },
              { value: 'remove', label: 'Remove tags' },
            ]}
          />
          <TextField label="Tags" value={text} onChange={setText} placeholder="env, team" autoFocus />
        </>
      ),
      forbidden: tags.length === 0 ? 'Name a tag first.' : undefined,
      call: (api, id) =>
        verb === 'add'
          ? api.POST('/api/v2/workspaces/{workspace_id}/relationships/tags', { params: params(id), body: { data } })
          : api.DELETE('/api/v2/workspaces/{workspace_id}/relationships/tags', { params: params(id), body: { data } }),
    },
    move: {
      fields: (
        <>
          <p className="second">
            Teams with access to the project get access to the workspaces, and the project’s settings apply to them.
          </p>
          <ChoiceField
            label="Project"
            kind="projects"
            organization={org}
            value={project}
            onChange={setProject}
            none="Choose a project"
          />
        </>
      ),
      forbidden: project === '' ? 'Choose a project first.' : undefined,
      call: (api, id) =>
        api.PATCH('/api/v2/workspaces/{workspace_id}', {
          params: params(id),
          body: {
            data: {
              type: 'workspaces',
              attributes: {},
              relationships: { project: { data: { type: 'projects', id: project } } },
            },
          },
        }),
    },
    lock: {
      fields: (
        <>
          <p className="second">While they are locked no run starts, and no one else writes their states.</p>
          <TextField
            label="Reason"
            value={text}
            onChange={setText}
            autoFocus
            hint="Everyone who sees the workspaces can read it."
          />
        </>
      ),
      call: (api, id) =>
        api.POST('/api/v2/workspaces/{workspace_id}/actions/lock', { params: params(id), body: { reason: text } }),
    },
    unlock: {
      fields: <p className="second">Locks held by runs or other people stay.</p>,
      call: (api, id) => api.POST('/api/v2/workspaces/{workspace_id}/actions/unlock', { params: params(id) }),
    },
    request: {
      fields: <RequestFields value={request} onChange={setRequest} />,
      forbidden:
        request.subject.trim() === '' || request.message.trim() === '' ? 'Describe the change first.' : undefined,
      call: (api, id) => requestChange(api, org, id, request),
    },
    delete: {
      fields: (
        <>
          <p className="second">
            Their states, variables and runs are deleted too. The infrastructure they manage stays. Workspaces that
            still manage resources are skipped unless you choose otherwise.
          </p>
          <CheckField label="Also workspaces that manage resources" checked={isForced} onChange={setForced} />
          <TextField label={`Type ${all.length} to confirm`} value={text} onChange={setText} autoFocus />
        </>
      ),
      forbidden: text.trim() === String(all.length) ? undefined : `Type ${all.length} first.`,
      call: (api, id) =>
        isForced
          ? api.DELETE('/api/v2/workspaces/{workspace_id}', { params: params(id) })
          : api.POST('/api/v2/workspaces/{workspace_id}/actions/safe-delete', { params: params(id) }),
    },
  };
  const { fields, forbidden, call } = shapes[action];
  return (
    <Form
      layout="dialog"
      action={action === 'tag' ? (verb === 'add' ? 'Add tags' : 'Remove tags') : actions[action].label}
      kind={action === 'delete' ? 'danger primary' : 'primary'}
      change={{ isPending: false, error: null }}
      forbidden={forbidden}
      onBack={onClose}
      onSend={() => onSend(call)}
    >
      {fields}
    </Form>
  );
}
