import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { Badge } from '../../design/badge';
import { Button, CreateButton } from '../../design/button';
import { Copied } from '../../design/copy';
import { Confirm } from '../../design/dialog';
import { ErrorNotice } from '../../design/error-notice';
import { TextField } from '../../design/field';
import { FormDialog } from '../../design/form';
import { Empty, PageHead, SameBy, Skeleton } from '../../design/page';
import { Time } from '../../design/time';
import { page, useAddress } from '../pages';
import { PolicyPicker } from '../policy-picker';
import { useChange, useRead } from '../reads';
import { Factors } from './factors';
import { type IdentityKind, IdentityPicker, nameAndLogins, useIdentities } from './identity-pickers';

interface IdentityRecord {
  readonly id: string;
  readonly name: string;
  readonly disabled?: boolean;
  readonly type?: string;
  readonly policies: readonly string[] | null;
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly creation_time: string;
  readonly aliases?: readonly { readonly id: string; readonly name: string; readonly mount_path: string }[] | null;
  readonly group_ids?: readonly string[] | null;
  readonly member_entity_ids?: readonly string[] | null;
  readonly member_group_ids?: readonly string[] | null;
  /** MFA secrets of an entity, by the id of their method. */
  readonly mfa_secrets?: Readonly<Record<string, { readonly method_name: string; readonly type: string }>>;
}

/** The picker of a group's members. */
const ofGroup = {
  kind: 'entity',
  label: 'Members',
  hint: 'The entities that get the policies of the group.',
} as const;

const words = {
  entity: { title: 'Entities', one: 'entity', to: '/access/entities' },
  group: { title: 'Groups', one: 'group', to: '/access/groups' },
} as const;

/** Entities: the list, or a single one. */
export const Entities = () => <Identities kind="entity" />;

/** Groups: the list, or a single one. */
export const Groups = () => <Identities kind="group" />;

function Identities({ kind }: { readonly kind: IdentityKind }) {
  const { id } = useAddress('/access/entities');
  return id === undefined ? <IdentityList kind={kind} /> : <Identity key={id} kind={kind} id={id} />;
}

function IdentityList({ kind }: { readonly kind: IdentityKind }) {
  const found = useIdentities(kind);
  const [part, setPart] = useState('');
  const [adding, setAdding] = useState(false);
  const { title, one, to } = words[kind];
  const all = (found.data?.keys ?? [])
    .map((id) => ({ id, ...nameAndLogins(found.data?.key_info?.[id], id) }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const shown = all
    .filter(({ name, logins, id }) => `${name} ${logins}`.includes(part) || id.startsWith(part))
    .slice(0, 500);
  return (
    <div className="stack">
      <PageHead title={title} actions={<CreateButton onClick={() => setAdding(true)}>Create {one}</CreateButton>} />
      <ErrorNotice error={found.error} onRetry={() => void found.refetch()} />
      {found.isPending ? <Skeleton /> : null}
      {found.data !== undefined && all.length === 0 ? (
        <Empty action={<CreateButton onClick={() => setAdding(true)}>Create {one}</CreateButton>}>
          {kind === 'entity'
            ? 'An entity is a person or a program, however it logs in. The first login creates one.'
            : 'A group gives its policies to all entities in it.'}
        </Empty>
      ) : null}
      {all.length === 0 ? null : (
        <>
          <div className="filters">
            <TextField label="Search" type="search" value={part} onChange={setPart} placeholder="name, login or id" />
          </div>
          <ul className="list" aria-label={title}>
            {shown.map(({ id, name, logins }) => (
              <li key={id}>
                <Link {...page(to, { id })}>{name}</Link>
                {logins === '' ? null : <span>{logins}</span>}
              </li>
            ))}
          </ul>
          {all.length > shown.length ? (
            <p className="second small">
              {shown.length} of {all.length}
            </p>
          ) : null}
        </>
      )}
      {adding ? <NewIdentity kind={kind} onClose={() => setAdding(false)} /> : null}
      <SameBy api={`LIST /v1/identity/${kind}/id`} command={`keystead list identity/${kind}/id`} />
    </div>
  );
}

function NewIdentity({ kind, onClose }: { readonly kind: IdentityKind; readonly onClose: () => void }) {
  const [name, setName] = useState('');
  const [policies, setPolicies] = useState<readonly string[]>([]);
  const [members, setMembers] = useState<readonly string[]>([]);
  const change = useChange(() => onClose());
  const send = () => {
    const body = { name, policies, ...(kind === 'group' ? { member_entity_ids: members } : {}) };
    change.mutate({ method: 'POST', path: `identity/${kind}`, body });
  };
  return (
    <FormDialog
      title={`Create ${words[kind].one}`}
      action={`Create ${words[kind].one}`}
      change={change}
      onSend={send}
      onBack={onClose}
    >
      <TextField label="Name" required autoFocus value={name} onChange={setName} />
      <PolicyPicker chosen={policies} onChange={setPolicies} />
      {kind === 'group' ? <IdentityPicker {...ofGroup} chosen={members} onChange={setMembers} /> : null}
    </FormDialog>
  );
}

function Identity({ kind, id }: { readonly kind: IdentityKind; readonly id: string }) {
  const found = useRead<IdentityRecord>(`identity/${kind}/id/${encodeURIComponent(id)}`);
  const others = useIdentities(kind === 'entity' ? 'group' : 'entity');
  const change = useChange();
  const [policies, setPolicies] = useState<readonly string[]>();
  const [chosen, setChosen] = useState<readonly string[]>();
  const [removing, setRemoving] = useState(false);
  const { title, one, to } = words[kind];
  const shown = found.data;
  const nameOf = (other: string) => others.data?.key_info?.[other]?.name ?? other;
  const write = (body: object) => change.mutate({ method: 'POST', path: `identity/${kind}/id/${id}`, body });
  const members = kind === 'entity' ? (shown?.group_ids ?? []) : (shown?.member_entity_ids ?? []);
  return (
    <div className="stack">
      <PageHead
        title={shown?.name ?? id}
        crumbs={[{ label: title, to }]}
        state={shown?.disabled ? <Badge tone="red">disabled</Badge> : null}
        actions={
          shown === undefined ? undefined : (
            <>
              {kind === 'entity' ? (
                <Button busy={change.isPending} onClick={() => write({ disabled: !shown.disabled })}>
                  {shown.disabled ? 'Enable' : 'Disable'}
                </Button>
              ) : null}
              <Button kind="danger" onClick={() => setRemoving(true)}>
                Delete
              </Button>
            </>
          )
        }
      />
      <ErrorNotice error={found.error ?? change.error} />
      {found.isPending ? <Skeleton rows={3} /> : null}
      {shown === undefined ? null : (
        <>
          <dl className="facts">
            <dt>ID</dt>
            <dd>
              <Copied text={shown.id} what="id" />
            </dd>
            <dt>Created</dt>
            <dd>
              <Time at={shown.creation_time} />
            </dd>
            {shown.type === undefined ? null : (
              <>
                <dt>Type</dt>
                <dd>{shown.type === 'external' ? 'external: its members come with logins' : shown.type}</dd>
              </>
            )}
            <dt>Metadata</dt>
            <dd>
              {Object.entries(shown.metadata ?? {}).map(([name, value]) => (
                <span key={name} className="tag">
                  {name}={value}
                </span>
              ))}
              {Object.keys(shown.metadata ?? {}).length === 0 ? <span className="second">none</span> : null}
            </dd>
          </dl>
          <form
            className="form"
            onSubmit={(event) => {
              event.preventDefault();
              write({
                ...(policies === undefined ? {} : { policies }),
                ...(chosen === undefined ? {} : { member_entity_ids: chosen }),
              });
            }}
          >
            <PolicyPicker chosen={policies ?? shown.policies ?? []} onChange={setPolicies} />
            {kind === 'group' && shown.type !== 'external' ? (
              <IdentityPicker {...ofGroup} chosen={chosen ?? shown.member_entity_ids ?? []} onChange={setChosen} />
            ) : null}
            <div>
              <Button type="submit" busy={change.isPending}>
                Save
              </Button>
            </div>
          </form>
          {kind === 'entity' ? (
            <section className="stack-tight" aria-labelledby="aliases">
              <h2 id="aliases">Aliases</h2>
              {(shown.aliases ?? []).length === 0 ? (
                <p className="second">No one has logged in as this entity.</p>
              ) : null}
              <ul className="stack-tight">
                {(shown.aliases ?? []).map((alias) => (
                  <li key={alias.id}>
                    <code>{alias.name}</code> <span className="second">at {alias.mount_path}</span>
                  </li>
                ))}
              </ul>
            </section>
          ) : null}
          {kind === 'entity' ? <Factors entity={shown} /> : null}
          <section className="stack-tight" aria-labelledby="members">
            <h2 id="members">{kind === 'entity' ? 'In the groups' : 'Members'}</h2>
            {members.length === 0 ? <p className="second">none</p> : null}
            <ul className="stack-tight">
              {members.map((other) => (
                <li key={other}>
                  <Link {...page(words[kind === 'entity' ? 'group' : 'entity'].to, { id: other })}>
                    {nameOf(other)}
                  </Link>
                </li>
              ))}
            </ul>
          </section>
        </>
      )}
      {removing ? (
        <Confirm
          title={`Delete ${one} ${shown?.name}?`}
          action={`Delete ${one}`}
          name={shown?.name ?? id}
          danger
          busy={change.isPending}
          onClose={() => setRemoving(false)}
          onConfirm={() =>
            change.mutate(
              { method: 'DELETE', path: `identity/${kind}/id/${id}` },
              { onSuccess: () => location.assign(`/ui${to}`) },
            )
          }
        >
          <p>
            {kind === 'entity'
              ? 'Its tokens stop working, and its second factors are gone.'
              : 'Its members lose the policies of the group.'}
          </p>
        </Confirm>
      ) : null}
      <SameBy api={`GET /v1/identity/${kind}/id/${id}`} command={`keystead read identity/${kind}/id/${id}`} />
    </div>
  );
}
