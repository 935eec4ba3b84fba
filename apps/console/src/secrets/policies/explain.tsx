import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useEffect, useState } from 'react';
import { Badge } from '../../design/badge';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { SelectField, TextField } from '../../design/field';
import { PageHead, SameBy } from '../../design/page';
import { useSession } from '../../shell/session';
import { page, useAddress } from '../pages';
import { PolicyPicker } from '../policy-picker';
import { type Explanation, RuleLine, whatWouldAllow } from './explanation';
import { PolicyTabs } from './policies';
import type { ExplainSearch } from './search';
import { WhoMay } from './who-may';

const operations = ['read', 'list', 'create', 'update', 'patch', 'delete', 'scan'];

/** Explains why a request is denied. */
const reasons: ReadonlyMap<string, string> = new Map([
  ['no-rule', 'no rule is about it'],
  ['capability', 'the rule does not give this'],
  ['wrapping', 'the rule asks for another wrapping'],
  ['required-parameter', 'a parameter is required'],
  ['denied-parameter', 'a parameter is denied'],
  ['allowed-parameter', 'a parameter is not allowed'],
  ['pagination', 'the rule asks for smaller pages'],
]);

/** The equivalent command. `policy explain` can only explain the rights of tokens. */
function commandFor({ path = 'PATH', operation = 'read', accessor, policies }: ExplainSearch): string {
  if (policies) return `keystead write sys/policies/explain path=${path} operation=${operation} policies=${policies}`;
  const flags = [operation === 'read' ? '' : `-operation=${operation} `, accessor ? `-accessor=${accessor} ` : ''];
  return `keystead policy explain ${flags.join('')}${path}`;
}

/** Whose rights are explained: those of the session, of given policies, or of another token. */
type Whose = 'own' | 'policies' | 'accessor';

/** Whether a request is allowed, the rule that decides, and the rules it overrides. */
export function Explain() {
  const { transport } = useSession();
  const search = useAddress('/policies/explain');
  const navigate = useNavigate();
  const [draft, setDraft] = useState<ExplainSearch>({ operation: 'read', ...search });
  const question = search.path === undefined ? undefined : search;
  const ask = useMutation({
    mutationFn: async ({ path, operation = 'read', accessor, policies }: ExplainSearch) => {
      const body = { path, operation, ...(accessor ? { accessor } : {}), ...(policies ? { policies } : {}) };
      return (await transport.call<{ data: Explanation }>('POST', '/v1/sys/policies/explain', body)).data;
    },
  });
  const { mutate } = ask;
  const { path, operation, accessor, policies } = search;
  const [whose, setWhose] = useState<Whose>(policies ? 'policies' : accessor ? 'accessor' : 'own');
  useEffect(() => {
    if (path !== undefined)
      mutate({
        path,
        ...(operation === undefined ? {} : { operation }),
        ...(accessor === undefined ? {} : { accessor }),
        ...(policies === undefined ? {} : { policies }),
      });
  }, [path, operation, accessor, policies, mutate]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const unasked = (['accessor', 'policies'] as const).filter((one) => one !== whose);
    const next = Object.fromEntries(
      Object.entries(draft).filter(([name, value]) => value !== '' && !unasked.includes(name as never)),
    );
    if (JSON.stringify(next) === JSON.stringify(search)) mutate(next);
    void navigate(page('/policies/explain', next));
  };
  const set = (name: keyof ExplainSearch) => (value: string) => setDraft((before) => ({ ...before, [name]: value }));
  return (
    <div className="stack">
      <PageHead title="Explain access" crumbs={[{ label: 'Policies', to: '/policies' }]} />
      <PolicyTabs />
      <form className="stack-tight" onSubmit={submit}>
        <div className="ask">
          <SelectField
            label="For"
            value={whose}
            onChange={(value) => setWhose(value as Whose)}
            options={[
              { value: 'own', label: 'this session' },
              { value: 'policies', label: 'policies' },
              { value: 'accessor', label: 'another token' },
            ]}
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
        {whose === 'policies' ? (
          <PolicyPicker
            chosen={(draft.policies ?? '').split(',').filter((one) => one !== '')}
            onChange={(chosen) => set('policies')(chosen.join(','))}
            hint="Explains the rights of a token that has only these policies. Needs sudo."
          />
        ) : null}
        {whose === 'accessor' ? (
          <TextField
            label="Accessor"
            required
            value={draft.accessor ?? ''}
            onChange={set('accessor')}
            hint="The accessor of the token, from the list of tokens. Needs sudo."
          />
        ) : null}
        <div className="row">
          <Button type="submit" kind="primary" busy={ask.isPending}>
            Explain
          </Button>
        </div>
      </form>
      <ErrorNotice error={ask.error?.message === 'invalid token' ? 'No token has this accessor.' : ask.error} />
      {ask.data === undefined ? null : (
        <Answer explanation={ask.data} path={search.path ?? ''} operation={search.operation ?? 'read'} />
      )}
      {question === undefined ? null : <WhoMay path={question.path!} operation={question.operation ?? 'read'} />}
      <SameBy api="POST /v1/sys/policies/explain" command={commandFor(search)} />
    </div>
  );
}

function Answer({
  explanation,
  path,
  operation,
}: {
  readonly explanation: Explanation;
  readonly path: string;
  readonly operation: string;
}) {
  const { allowed, root, rule, reason, losing_rules: losers, obstacles, policies, mfa_methods: factors } = explanation;
  return (
    <section className="stack" aria-labelledby="answer">
      <div className="row">
        <h2 id="answer">{allowed ? 'Yes' : 'No'}</h2>
        <Badge tone={allowed ? 'green' : 'red'}>
          {allowed ? 'allowed' : reason === null ? 'not allowed' : (reasons.get(reason) ?? reason)}
        </Badge>
        <span className="second">by the policies {policies.join(', ') || '(none)'}</span>
      </div>
      {root ? <p>A root token may do everything; no rule is needed.</p> : null}
      {obstacles.map(({ kind, message }) => (
        <p key={kind + message}>
          <Badge tone="amber">{kind}</Badge> {message}
        </p>
      ))}
      {factors.length > 0 ? <p>The request must prove a second factor: {factors.join(', ')}.</p> : null}
      {rule === null ? (
        root ? null : (
          <p>No rule of these policies applies to this path.</p>
        )
      ) : (
        <div className="stack-tight">
          <h3>Rule that decides</h3>
          <RuleLine rule={rule} />
        </div>
      )}
      {allowed ? null : <p>{whatWouldAllow(explanation, path, operation)}</p>}
      {losers.length === 0 ? null : (
        <div className="stack-tight">
          <h3>Other rules that match</h3>
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
