import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { Button, CreateButton } from '../../design/button';
import { Copied } from '../../design/copy';
import { Confirm } from '../../design/dialog';
import { ErrorNotice } from '../../design/error-notice';
import { TextField } from '../../design/field';
import { Empty, PageHead, SameBy, Skeleton } from '../../design/page';
import { Time } from '../../design/time';
import { useSession } from '../../shell/session';
import { LeasesOf } from '../leases/leases-of';
import { useMay } from '../may';
import { page, useAddress } from '../pages';
import { useChange } from '../reads';
import { CreateToken } from './create-token';
import type { TokenRecord } from './token-record';
import { TokenTable } from './token-table';

const creation = 'auth/token/create';
const lookUp = 'auth/token/lookup-accessor';
const revocation = 'auth/token/revoke-accessor';
const renewal = 'auth/token/renew-accessor';

/** Tokens by their accessors: their details and how to revoke them. The token itself cannot be read. */
export function Tokens() {
  const { accessor } = useAddress('/access/tokens');
  const navigate = useNavigate();
  const [typed, setTyped] = useState(accessor ?? '');
  const [adding, setAdding] = useState(false);
  const may = useMay([creation, lookUp]);
  const go = (event: FormEvent) => {
    event.preventDefault();
    void navigate(page('/access/tokens', typed === '' ? {} : { accessor: typed.trim() }));
  };
  const mayLookUp = may({ path: lookUp, capabilities: ['update'] }).forbidden === undefined;
  const finish = (created: string) => {
    setAdding(false);
    // The list is in no meaningful order, so a new token could be anywhere in it.
    if (mayLookUp) void navigate(page('/access/tokens', { accessor: created }));
  };
  return (
    <div className="stack">
      <PageHead
        title="Tokens"
        actions={
          <CreateButton {...may({ path: creation, capabilities: ['update'] })} onClick={() => setAdding(true)}>
            Create token
          </CreateButton>
        }
      >
        <p className="second">A token is listed by its accessor; the token itself cannot be read.</p>
      </PageHead>
      <form className="filters at-end" onSubmit={go}>
        <TextField label="Accessor" type="search" value={typed} onChange={setTyped} />
        <div>
          <Button type="submit">Look up</Button>
        </div>
      </form>
      {accessor === undefined ? (
        <TokenTable mayLookUp={mayLookUp} />
      ) : (
        <TokenFacts key={accessor} accessor={accessor} />
      )}
      {adding ? <CreateToken onClose={() => setAdding(false)} onDone={finish} /> : null}
    </div>
  );
}

function TokenFacts({ accessor }: { readonly accessor: string }) {
  const { transport, session } = useSession();
  const navigate = useNavigate();
  const found = useQuery<TokenRecord>({
    queryKey: ['v1', 'token', accessor],
    queryFn: async () =>
      (await transport.call<{ data: TokenRecord }>('POST', '/v1/auth/token/lookup-accessor', { accessor })).data,
  });
  const change = useChange();
  const [ending, setEnding] = useState(false);
  const token = found.data;
  const may = useMay([revocation, renewal]);
  return (
    <div className="stack">
      <ErrorNotice error={found.error ?? change.error} />
      {found.isPending ? <Skeleton rows={3} /> : null}
      {token === undefined ? (
        found.error === null ? null : (
          <Empty>No token has this accessor, or it has ended.</Empty>
        )
      ) : (
        <>
          <div className="row">
            <Link className="button" {...page('/access/view-as', { accessor })}>
              View as this token
            </Link>
            <Button
              busy={change.isPending}
              {...(token.renewable
                ? may({ path: renewal, capabilities: ['update'] })
                : { forbidden: 'This token is not renewable.' })}
              onClick={() => change.mutate({ method: 'POST', path: renewal, body: { accessor } })}
            >
              Renew
            </Button>
            <Button
              kind="danger"
              {...(accessor === session.accessor
                ? { forbidden: 'This is your own session: sign out instead.' }
                : may({ path: revocation, capabilities: ['update'] }))}
              onClick={() => setEnding(true)}
            >
              Revoke
            </Button>
          </div>
          <dl className="facts">
            <dt>Name</dt>
            <dd>{token.display_name || 'token'}</dd>
            <dt>Accessor</dt>
            <dd>
              <Copied text={token.accessor} what="accessor" />
            </dd>
            <dt>Type</dt>
            <dd>
              {token.type}
              {token.orphan ? ', without a parent' : ''}
              {token.renewable ? ', renewable' : ''}
            </dd>
            <dt>Created by</dt>
            <dd>
              <code>{token.path}</code>, <Time at={token.creation_time * 1000} />
            </dd>
            <dt>Expires</dt>
            <dd>
              <Time at={token.expire_time} />
              {token.num_uses > 0 ? `, or after ${token.num_uses} uses` : ''}
            </dd>
            <dt>Policies</dt>
            <dd>{[...token.policies, ...(token.identity_policies ?? [])].join(', ')}</dd>
            <dt>Entity</dt>
            <dd>
              {token.entity_id === '' ? (
                <span className="second">none</span>
              ) : (
                <Link {...page('/access/entities', { id: token.entity_id })}>{token.entity_id}</Link>
              )}
            </dd>
            {Object.entries(token.meta ?? {}).map(([name, value]) => [
              <dt key={`${name} name`}>{name}</dt>,
              <dd key={name}>
                <RunOr name={name} value={value} />
              </dd>,
            ])}
          </dl>
          <LeasesOf
            title="Leases"
            of={{ accessor }}
            none="None: it has requested no credentials, or they have expired."
          />
          <p>
            <Link {...page('/audit', { accessor })}>View in audit</Link>
          </p>
        </>
      )}
      {ending ? (
        <Confirm
          title="Revoke this token?"
          action="Revoke token"
          danger
          busy={change.isPending}
          onClose={() => setEnding(false)}
          onConfirm={() =>
            change.mutate(
              { method: 'POST', path: revocation, body: { accessor } },
              { onSuccess: () => void navigate(page('/access/tokens')), onSettled: () => setEnding(false) },
            )
          }
        >
          <p>Its child tokens, leases and cubbyhole go with it.</p>
        </Confirm>
      ) : null}
      <SameBy api="POST /v1/auth/token/lookup-accessor" command={`keystead token lookup -accessor ${accessor}`} />
    </div>
  );
}

/** Links a token to its run, if the workspaces console is known. */
function RunOr({ name, value }: { readonly name: string; readonly value: string }) {
  const { config } = useSession();
  const workspaces = config.other.workspaces;
  return name === 'run_id' && workspaces !== undefined ? (
    <a href={`${workspaces}/ui/runs/${encodeURIComponent(value)}`}>{value}</a>
  ) : (
    <code>{value}</code>
  );
}
