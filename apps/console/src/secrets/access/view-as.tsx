import { Link, useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { Badge } from '../../design/badge';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { SelectField, TextField } from '../../design/field';
import { Notice } from '../../design/notice';
import { Empty, PageHead, SameBy, Skeleton } from '../../design/page';
import { Table } from '../../design/table';
import type { ResultantRules } from '../own-rules';
import { page, useAddress } from '../pages';
import { useRead } from '../reads';

const operations = ['read', 'list', 'create', 'update', 'patch', 'delete', 'scan'];

/** Shows the combined policy rules of another token, by accessor, and checks a request against them. Needs sudo. */
export function ViewAs() {
  const { accessor = '' } = useAddress('/access/view-as');
  const found = useRead<ResultantRules>(`sys/internal/ui/resultant-acl?accessor=${encodeURIComponent(accessor)}`, {
    enabled: accessor !== '',
  });
  const rules = found.data;
  return (
    <div className="stack">
      <PageHead
        title="View as a token"
        crumbs={[
          { label: 'Tokens', to: '/access/tokens' },
          ...(accessor === '' ? [] : [{ label: accessor, to: '/access/tokens', search: { accessor } }]),
          { label: 'View as' },
        ]}
      />
      {accessor === '' ? (
        <Empty
          action={
            <Link className="button primary" {...page('/access/tokens')}>
              Choose a token
            </Link>
          }
        >
          Open a token to see what it may do.
        </Empty>
      ) : (
        <>
          <Notice>
            <span>
              You see what the token with the accessor <code>{accessor}</code> may do. You act as yourself all the same,
              and need sudo on <code>sys/internal/ui/resultant-acl</code> to see it.
            </span>
          </Notice>
          <Question accessor={accessor} />
          <ErrorNotice error={found.error} />
          {found.isPending ? <Skeleton rows={4} /> : null}
          {rules === undefined ? null : rules.root ? (
            <p>It is a root token: it may do everything; no rule is needed.</p>
          ) : (
            <RuleTable rules={rules} />
          )}
        </>
      )}
      <SameBy
        api={`GET /v1/sys/internal/ui/resultant-acl?accessor=${accessor}`}
        command={`keystead read sys/internal/ui/resultant-acl accessor=${accessor}`}
      />
    </div>
  );
}

function Question({ accessor }: { readonly accessor: string }) {
  const navigate = useNavigate();
  const [operation, setOperation] = useState('read');
  const [path, setPath] = useState('');
  const ask = (event: FormEvent) => {
    event.preventDefault();
    void navigate(page('/policies/explain', { accessor, operation, path: path.trim() }));
  };
  return (
    <form className="filters at-end" onSubmit={ask}>
      <SelectField label="Operation" value={operation} onChange={setOperation} options={operations} />
      <TextField
        label="Path"
        type="search"
        required
        value={path}
        onChange={setPath}
        placeholder="secret/data/team/db"
      />
      <div>
        <Button type="submit">Explain</Button>
      </div>
    </form>
  );
}

function RuleTable({ rules }: { readonly rules: ResultantRules }) {
  const rows = [
    ...Object.entries(rules.exact_paths ?? {}).map(([path, rule]) => ({ path, below: '', ...rule })),
    ...Object.entries(rules.glob_paths ?? {}).map(([path, rule]) => ({
      path,
      below: path.includes('+') ? '' : '*',
      ...rule,
    })),
  ].sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
  if (rows.length === 0) return <p>None of its policies has a rule: it may do nothing.</p>;
  return (
    <Table
      label="Its rules"
      rows={rows}
      keyOf={({ path, below }) => path + below}
      columns={[
        {
          head: 'Path',
          cell: ({ path, below }) => (
            <code>
              {path}
              {below}
            </code>
          ),
        },
        {
          head: 'May',
          cell: ({ capabilities }) => (
            <span className="tags">
              {capabilities.map((one) => (
                <Badge key={one} {...(one === 'deny' ? { tone: 'red' as const } : {})}>
                  {one}
                </Badge>
              ))}
            </span>
          ),
        },
      ]}
    />
  );
}
