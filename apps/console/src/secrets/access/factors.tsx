import { useState } from 'react';
import { Button } from '../../design/button';
import { RemoveFactor } from './remove-factor';

interface Holder {
  readonly id: string;
  readonly name: string;
  /** MFA secrets by method id. */
  readonly mfa_secrets?: Readonly<Record<string, { readonly method_name: string; readonly type: string }>>;
}

/** Shows the second factors of an entity, with buttons to remove them. */
export function Factors({ entity }: { readonly entity: Holder }) {
  const [removing, setRemoving] = useState<{ readonly id: string; readonly name: string }>();
  const factors = Object.entries(entity.mfa_secrets ?? {});
  return (
    <section className="stack-tight" aria-labelledby="factors">
      <h2 id="factors">MFA secrets</h2>
      {factors.length === 0 ? <p className="second">none</p> : null}
      {factors.length === 0 ? null : (
        <ul className="list">
          {factors.map(([id, { method_name, type }]) => (
            <li key={id}>
              <span className="grow">
                {method_name || id} <span className="second">{type}</span>
              </span>
              <Button
                small
                kind="danger"
                label={`Remove MFA secret ${method_name || id}`}
                onClick={() => setRemoving({ id, name: method_name || id })}
              >
                Remove
              </Button>
            </li>
          ))}
        </ul>
      )}
      {removing === undefined ? null : (
        <RemoveFactor method={removing} entity={entity} onClose={() => setRemoving(undefined)} />
      )}
    </section>
  );
}
