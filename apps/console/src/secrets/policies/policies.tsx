import { Link, useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { Button, CreateButton } from '../../design/button';
import { Dialog } from '../../design/dialog';
import { ErrorNotice } from '../../design/error-notice';
import { TextField } from '../../design/field';
import { PageHead, SameBy, Skeleton, Tabs } from '../../design/page';
import { policyPage } from '../pages';
import { useList } from '../reads';

const tabs = [
  { to: '/policies', label: 'Policies', exact: true },
  { to: '/policies/explain', label: 'Explain access' },
];

/** Policies by name. */
export function Policies() {
  const names = useList('sys/policies/acl');
  const [part, setPart] = useState('');
  const [adding, setAdding] = useState(false);
  const shown = (names.data ?? []).filter((name) => name.includes(part));
  return (
    <div className="stack">
      <PageHead title="Policies" actions={<CreateButton onClick={() => setAdding(true)}>Create policy</CreateButton>} />
      <PolicyTabs />
      <ErrorNotice error={names.error} onRetry={() => void names.refetch()} />
      {names.isPending ? <Skeleton /> : null}
      {names.data === undefined ? null : (
        <>
          {names.data.length < 8 ? null : (
            <TextField label="Search" type="search" value={part} onChange={setPart} placeholder="part of a name" />
          )}
          <ul className="list" aria-label="Policies">
            {shown.map((name) => (
              <li key={name}>
                {name === 'root' ? (
                  <>
                    <span>root</span>
                    <span className="second small">allows everything; it has no rules</span>
                  </>
                ) : (
                  <>
                    <Link {...policyPage(name)}>{name}</Link>
                    {name === 'default' ? (
                      <span className="second small">added to every token, unless it is created without it</span>
                    ) : null}
                  </>
                )}
              </li>
            ))}
          </ul>
        </>
      )}
      {adding ? <NewPolicy onClose={() => setAdding(false)} /> : null}
      <SameBy api="LIST /v1/sys/policies/acl" command="keystead policy list" />
    </div>
  );
}

/** The two tabs of this area. */
export const PolicyTabs = () => <Tabs label="Policies" tabs={tabs} />;

function NewPolicy({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('');
  const navigate = useNavigate();
  const send = (event: FormEvent) => {
    event.preventDefault();
    void navigate(policyPage(name.trim().toLowerCase()));
  };
  return (
    <Dialog title="Create policy" onClose={onClose}>
      <form className="stack" onSubmit={send}>
        <TextField label="Name" required autoFocus value={name} onChange={setName} hint="Lower case." />
        <div className="row end">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary">
            Continue
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
