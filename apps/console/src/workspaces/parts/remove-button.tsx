import type { ReactNode } from 'react';
import { Confirm } from '../../design/dialog';
import { ErrorNotice } from '../../design/error-notice';
import { type Sent, useSend } from '../data/use-api';
import { Opener } from './form';

export interface RemoveButtonProps {
  /** What happens: "Delete workspace". */
  readonly label: string;
  readonly title: string;
  readonly path: string;
  readonly body?: object;
  readonly method?: Sent['method'];
  /** Has to be typed, for what cannot be undone. */
  readonly name?: string;
  readonly small?: boolean;
  readonly forbidden?: string | undefined;
  readonly after?: () => void;
  readonly children?: ReactNode;
}

/** Removes something, after it was asked. */
export function RemoveButton({ label, forbidden, small = true, ...rest }: RemoveButtonProps) {
  return (
    <Opener label={label} kind="danger" small={small} forbidden={forbidden}>
      {(close) => <Ask label={label} onClose={close} {...rest} />}
    </Opener>
  );
}

function Ask({
  label,
  title,
  path,
  body,
  method = 'DELETE',
  name,
  after,
  children,
  onClose,
}: Omit<RemoveButtonProps, 'forbidden' | 'small'> & { readonly onClose: () => void }) {
  const send = useSend(
    () => ({ method, path, ...(body === undefined ? {} : { body }) }),
    () => {
      onClose();
      after?.();
    },
  );
  return (
    <Confirm
      title={title}
      action={label}
      danger
      busy={send.busy}
      onClose={onClose}
      onConfirm={() => send.run()}
      {...(name === undefined ? {} : { name })}
    >
      {children}
      <ErrorNotice error={send.error} />
    </Confirm>
  );
}
