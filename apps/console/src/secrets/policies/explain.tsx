import { useMutation } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type FormEvent, useEffect, useState } from 'react';
import { Badge } from '../../design/badge';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { SelectField, TextField } from '../../design/field';
import { PageHead, SameBy } from '../../design/page';
import { useSession } from '../../shell/session';
import { PolicyTabs } from './policies';
import type { ExplainSearch } from './search';
import { WhoMay } from './who-may';

const operations = ['read', 'list', 'create', 'update', 'patch', 'delete', 'scan'];

interface Rule {
  readonly path: string;
  readonly capabilities: readonly string[];
  readonly places: readonly {
    readonly policy: string;
    readonly namespace: string;
    readonly path: string;
    readonly line: number;
  }[];
}
interface Explanation {
  readonly allowed: boolean;
  readonly policies: readonly string[];
  readonly granted_by_policy: boolean;
  readonly root: boolean;
  readonly sudo: boolean;
  readonly reason: string | null;
  readonly rule: Rule | null;
  readonly losing_rules: readonly (Rule & { readonly lost_because: string })[];
  readonly obstacles: readonly { readonly kind: string; readonly message: string }[];
  readonly mfa_methods: readonly string[];
}

/** May somebody do something: the answer, the rule that decides, and those that lost. */
export function Explain() {
  const { transport } = useSession();
  const search = useSearch({ strict: false }) as ExplainSearch;
  const navigate = useNavigate();
  const [draft, setDraft] = useState<ExplainSearch>({ operation: 'read', ...search });
  const asked = search.path === undefined ? undefined : search;
  const ask = useMutation({
    mutationFn: async ({ path, operation = 'read', accessor }: ExplainSearch) => {
      const body = { path, operation, ...(accessor ? { accessor } : {}) };
      return (await transport.call<{ data: Explanation }>('POST', '/v1/sys/policies/explain', body)).data;
    },
  });
  const { mutate } = ask;
  const { path, operation, accessor } = search;
  useEffect(() => {
    if (path !== undefined)
      mutate({
        path,
        ...(operation === undefined ? {} : { operation }),
        ...(accessor === undefined ? {} : { accessor }),
      });
  }, [path, operation, accessor, mutate]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const next = Object.fromEntries(Object.entries(draft).filter(([, value]) => value !== ''));
    if (JSON.stringify(next) === JSON.stringify(search)) mutate(next);
    void navigate({ to: '/policies/explain', search: next as never });
  };
  const set = (name: keyof ExplainSearch) => (value: string) => setDraft((before) => ({ ...before, [name]: value }));
  return (
    <div className="stack">
      <PageHead title="May X do Y?" crumbs={[{ label: 'Policies', to: '/policies' }]} />
      <PolicyTabs />
      <form className="stack-tight" onSubmit={submit}>
        <div className="ask">
          <TextField
            label="Accessor"
            value={draft.accessor ?? ''}
            onChange={set('accessor')}
            placeholder="your own session"
          />
          <SelectField
            label="Operation"
            value={draft.operation ?? 'read'}
            onChange={set('operation')}
            options={operations}
          />
          <TextField
            label="Path"
            required
            type="search"
            value={draft.path ?? ''}
            onChange={set('path')}
            placeholder="secret/data/team/db"
          />
        </div>
        <p className="second small">The accessor names another token than your own; asking about it needs sudo here.</p>
        <div className="row">
          <Button type="submit" kind="primary" busy={ask.isPending}>
            Explain
          </Button>
        </div>
      </form>
      <ErrorNotice error={ask.error} />
      {ask.data === undefined ? null : <Answer explanation={ask.data} />}
      {asked === undefined ? null : <WhoMay path={asked.path!} operation={asked.operation ?? 'read'} />}
      <SameBy api="POST /v1/sys/policies/explain" command={`keystead policy explain ${search.path ?? 'PATH'}`} />
    </div>
  );
}

function Answer({ explanation }: { readonly explanation: Explanation }) {
  const { allowed, root, rule, reason, losing_rules: losers, obstacles, policies, mfa_methods: factors } = explanation;
  return (
    <section className="stack" aria-labelledby="answer">
      <div className="row">
        <h2 id="answer">{allowed ? 'Yes' : 'No'}</h2>
        <Badge tone={allowed ? 'green' : 'red'}>
          {allowed ? 'allowed' : (reason ?? 'something stands in the way')}
        </Badge>
        <span className="second">by the policies {policies.join(', ') || '(none)'}</span>
      </div>
      {root ? <p>A root token may do everything; no rule is asked.</p> : null}
      {obstacles.map(({ kind, message }) => (
        <p key={kind + message}>
          <Badge tone="amber">{kind}</Badge> {message}
        </p>
      ))}
      {factors.length > 0 ? <p>The request must prove a second factor: {factors.join(', ')}.</p> : null}
      {rule === null ? (
        root ? null : (
          <p>No rule of these policies is about this path.</p>
        )
      ) : (
        <div className="stack-tight">
          <h3>The rule that decides</h3>
          <RuleLine rule={rule} />
        </div>
      )}
      {losers.length === 0 ? null : (
        <div className="stack-tight">
          <h3>Lost to it</h3>
          <ul className="list">
            {losers.map((loser) => (
              <li key={loser.path + loser.lost_because}>
                <RuleLine rule={loser} />
                <span className="second small">{loser.lost_because}</span>
              </li>
            ))}
          </ul>
        </div>
      )}
    </section>
  );
}

function RuleLine({ rule }: { readonly rule: Rule }) {
  return (
    <div className="row">
      <code>
        path "{rule.path}" {'{'} capabilities = [{rule.capabilities.map((one) => `"${one}"`).join(', ')}] {'}'}
      </code>
      {rule.places.map(({ policy, namespace, line }) => (
        <span key={`${namespace}${policy}:${line}`} className="second small">
          policy{' '}
          <Link to="/policies/$name" params={{ name: policy } as never}>
            {namespace}
            {policy}
          </Link>
          , line {line}
        </span>
      ))}
    </div>
  );
}
