import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from '../../design/button';
import { TextField } from '../../design/field';
import { Notice } from '../../design/notice';
import { PageHead, SameBy, Skeleton } from '../../design/page';
import { SecretValue } from '../../design/secret-value';
import { useSession } from '../../shell/session';
import { KeyFiles } from '../first-run/key-files';
import { Ceremony, type CeremonyState } from './ceremony';

/** Operations with key shares: generate a root token, rekey. */
export function KeyShares() {
  const { transport } = useSession();
  const { data: seal } = useQuery({
    queryKey: ['v1', 'seal-status'],
    queryFn: () => transport.call<{ type: string; n: number; t: number }>('GET', '/v1/sys/seal-status'),
  });
  return (
    <div className="stack">
      <PageHead title="Key shares" crumbs={[{ label: 'Operations', to: '/operations' }, { label: 'Key shares' }]} />
      <RootToken />
      {seal === undefined ? <Skeleton rows={3} /> : <NewKeys recovery={seal.type !== 'shamir'} />}
      <SameBy api="PUT /v1/sys/generate-root-token/attempt" command="keystead operator generate-root --init" />
    </div>
  );
}

function RootToken() {
  const [otp, setOtp] = useState<string>();
  const [encoded, setEncoded] = useState<string>();
  const token = encoded === undefined || otp === undefined ? undefined : undisguised(encoded, otp);
  return (
    <Ceremony
      at="sys/generate-root-token/attempt"
      give="sys/generate-root-token/update"
      title="Generate root token"
      about="Enough keys together create one, for emergencies. Revoke it after use."
      begin="Begin a root token"
      onBegun={(state) => {
        setEncoded(undefined);
        setOtp(state.otp);
      }}
      onDone={(state) => setEncoded(state.encoded_token)}
    >
      {otp !== undefined && encoded === undefined ? (
        <Notice tone="amber">
          <span>
            The token will be encoded with this one-time password. Keep this page open, or save the password: it is
            shown only once.
          </span>
          <SecretValue name="one-time password" value={otp} />
        </Notice>
      ) : null}
      {encoded === undefined ? null : (
        <Notice tone="green">
          {token === undefined ? (
            <>
              <span>Done. The person who started it has the one-time password that decodes the token.</span>
              <SecretValue name="encoded token" value={encoded} />
            </>
          ) : (
            <>
              <span>Done. The root token, shown only once:</span>
              <SecretValue name="root token" value={token} />
            </>
          )}
          <span>
            <Button
              small
              onClick={() => {
                setOtp(undefined);
                setEncoded(undefined);
              }}
            >
              I have it
            </Button>
          </span>
        </Notice>
      )}
    </Ceremony>
  );
}

/** Decodes the token with the one-time password; undefined if the password does not fit the token. */
function undisguised(encoded: string, otp: string): string | undefined {
  const bytes = atob(encoded.replace(/-/g, '+').replace(/_/g, '/'));
  if (bytes.length !== otp.length) return undefined;
  return [...bytes].map((byte, at) => String.fromCharCode(byte.charCodeAt(0) ^ otp.charCodeAt(at))).join('');
}

function NewKeys({ recovery }: { readonly recovery: boolean }) {
  const base = recovery ? 'sys/rekey-recovery-key' : 'sys/rekey';
  const [shares, setShares] = useState('5');
  const [threshold, setThreshold] = useState('3');
  const [rekeyed, setRekeyed] = useState<CeremonyState & { readonly threshold: number }>();
  const [unsavedCount, setUnsavedCount] = useState<number>();
  const keys = rekeyed?.keys_base64 ?? [];
  return (
    <Ceremony
      at={`${base}/init`}
      give={`${base}/update`}
      title={recovery ? 'New recovery keys' : 'New unseal keys'}
      about="Enough of the current keys together create new ones; the old ones become invalid."
      begin="Begin new keys"
      body={() => ({ secret_shares: Number(shares), secret_threshold: Number(threshold) })}
      fields={
        <>
          <TextField
            label="Keys"
            type="number"
            required
            value={shares}
            onChange={setShares}
            hint="One for each holder."
          />
          <TextField
            label="Key threshold"
            type="number"
            required
            value={threshold}
            onChange={setThreshold}
            hint="How many key shares are needed to unseal."
          />
        </>
      }
      onDone={(state) => {
        setUnsavedCount(undefined);
        setRekeyed({ ...state, threshold: Number(threshold) });
      }}
    >
      {rekeyed === undefined ? null : (
        <>
          <Notice tone="amber">
            The old key shares no longer work. The new ones are shown once: give each to its holder.
          </Notice>
          <KeyFiles
            keys={keys}
            threshold={rekeyed.t ?? rekeyed.threshold}
            kind={recovery ? 'Recovery' : 'Unseal'}
            onSaved={setUnsavedCount}
          />
          <span>
            <Button
              forbidden={unsavedCount === 0 ? undefined : `save the other ${unsavedCount ?? keys.length} keys first`}
              onClick={() => setRekeyed(undefined)}
            >
              Done
            </Button>
          </span>
        </>
      )}
    </Ceremony>
  );
}
