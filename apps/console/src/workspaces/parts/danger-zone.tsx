import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { ApiCall } from '../api';
import { RemoveButton } from './remove-button';

/**
 * The end of an object's page: what its deletion removes, and a button that deletes the object after the user has typed
 * its name.
 */
export function DangerZone({
  what,
  name,
  question,
  call,
  to,
  forbidden,
  warning,
  children,
}: {
  /** The kind of object: "team". */
  readonly what: string;
  readonly name: string;
  readonly question?: string;
  readonly call: ApiCall;
  /** The page to open afterwards. */
  readonly to: string;
  readonly forbidden: string | undefined;
  /** Shown before the name is typed. */
  readonly warning?: ReactNode;
  readonly children: ReactNode;
}) {
  const navigate = useNavigate();
  return (
    <section className="stack-tight danger-zone" aria-labelledby="removal">
      <h2 id="removal">Delete this {what}</h2>
      <p className="second">{children}</p>
      <span>
        <RemoveButton
          small={false}
          label={`Delete ${name}`}
          title={question ?? `Delete ${name}?`}
          name={name}
          call={call}
          forbidden={forbidden}
          after={() => void navigate({ to })}
        >
          {warning}
        </RemoveButton>
      </span>
    </section>
  );
}
