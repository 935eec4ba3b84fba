import { KeyRound } from 'lucide-react';
import { useCallback, useEffect, useState } from 'react';
import { Button } from '../../../design/button';
import { CopyButton } from '../../../design/copy';
import { ErrorNotice } from '../../../design/error-notice';
import { Facts } from '../../../design/facts';
import { TextField } from '../../../design/field';
import { Form } from '../../../design/form';
import { Notice } from '../../../design/notice';
import { useMay } from '../../may';
import { encodedPath, useChange } from '../../reads';
import { RecordPage, sameBy } from '../record-page';
import type { TotpKey } from './keys';

/** A key: its current code, and a field to validate codes. */
export function KeyPage({ mount, name }: { readonly mount: string; readonly name: string }) {
  return (
    <RecordPage<TotpKey>
      mount={mount}
      tab="keys"
      name={name}
      one="key"
      parts={[{ part: 'codes', label: 'Codes', same: sameBy('read', `${mount}code/${name}`), readless: true }]}
      deletion="Its codes can no longer be made or checked here, and the key cannot be restored."
      isFinal
    >
      {(_part, key) => (
        <div className="columns">
          <div className="stack">
            <CurrentCode path={`${mount}code/${name}`} />
            <Validate path={`${mount}code/${name}`} digits={key?.digits} />
          </div>
          {key === undefined ? null : (
            <aside className="stack-tight" aria-labelledby="facts">
              <h2 id="facts">Key</h2>
              <Facts
                rows={[
                  ['Account name', key.account_name || '–'],
                  ['Issuer', key.issuer || '–'],
                  ['Algorithm', key.algorithm],
                  ['Digits', key.digits],
                  ['Period', `${key.period} s`],
                ]}
              />
            </aside>
          )}
        </div>
      )}
    </RecordPage>
  );
}

interface Code {
  readonly data: { readonly code: string; readonly generated: number; readonly expire_time: number };
}

/** How many codes are shown one after the other before the user must press the button again. */
const mostCodes = 10;

/** The current code with its remaining seconds. While the page is visible, the next code follows automatically. */
function CurrentCode({ path }: { readonly path: string }) {
  const may = useMay([path]);
  const [shown, setShown] = useState<{ readonly code: string; readonly endsAt: number }>();
  const [secondsLeft, setSecondsLeft] = useState(0);
  const [count, setCount] = useState(0);
  const { mutate, error, isPending } = useChange<Code>(({ data: { code, generated, expire_time } }) => {
    const seconds = Math.max(1, expire_time - generated);
    setShown({ code, endsAt: performance.now() + seconds * 1000 });
    setSecondsLeft(seconds);
    setCount((before) => before + 1);
  });
  const show = useCallback(() => mutate({ method: 'GET', path: encodedPath(path) }), [mutate, path]);
  useEffect(() => {
    if (shown === undefined) return undefined;
    const timer = setInterval(() => {
      const seconds = Math.ceil((shown.endsAt - performance.now()) / 1000);
      setSecondsLeft(Math.max(0, seconds));
      if (seconds > 0) return;
      clearInterval(timer);
      if (document.visibilityState === 'visible' && count < mostCodes) show();
      else setShown(undefined);
    }, 250);
    return () => clearInterval(timer);
  }, [shown, count, show]);
  return (
    <section className="panel stack-tight" aria-labelledby="code">
      <h2 id="code">Current code</h2>
      <ErrorNotice error={error} />
      {shown === undefined || error !== null ? (
        <div>
          <Button
            icon={KeyRound}
            busy={isPending}
            {...may({ path, capabilities: ['read'] })}
            onClick={() => {
              setCount(0);
              show();
            }}
          >
            Show code
          </Button>
        </div>
      ) : (
        <>
          <span className="row">
            <output className="code-now" aria-label="Code">
              {shown.code}
            </output>
            <CopyButton text={shown.code} what="code" secret />
          </span>
          <p className="second small">
            Good for <span aria-hidden="true">{secondsLeft} s</span>
            <span className="visually-hidden">a few seconds</span>
          </p>
        </>
      )}
    </section>
  );
}

/** Validates a code of an authenticator app. */
function Validate({ path, digits = 6 }: { readonly path: string; readonly digits: number | undefined }) {
  const may = useMay([path]);
  const [code, setCode] = useState('');
  const change = useChange<{ readonly data: { readonly valid: boolean } }>(() => setCode(''));
  const valid = change.data?.data.valid;
  return (
    <section className="panel stack-tight" aria-labelledby="validate">
      <h2 id="validate">Validate a code</h2>
      <Form
        layout="line"
        action="Validate"
        change={change}
        {...may({ path, capabilities: ['update'] })}
        onSend={() =>
          change.mutate({ method: 'POST', path: encodedPath(path), body: { code: code.replace(/\s+/g, '') } })
        }
      >
        <TextField
          label="Code"
          required
          inputMode="numeric"
          autoComplete="one-time-code"
          value={code}
          onChange={(text) => {
            if (!change.isIdle) change.reset();
            setCode(text);
          }}
          placeholder={'0'.repeat(digits)}
        />
      </Form>
      <div role="status">
        {valid === true ? (
          <Notice tone="green">Valid. A code is accepted only once: it is refused from now on.</Notice>
        ) : null}
        {valid === false ? <Notice tone="red">Not valid: another key made it, or at another time.</Notice> : null}
      </div>
    </section>
  );
}
