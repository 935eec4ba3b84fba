import type { ReactNode } from 'react';
import { Confirm } from '../../design/dialog';
import { ErrorNotice } from '../../design/error-notice';
import { type ApiCall, useChange } from '../api';
import { Opener } from './opener';

export interface RemoveButtonProps {
  /** The action: "Delete workspace". */
  readonly label: string;
  /** The text of the button, if shorter than the label. */
  readonly text?: string;
  /** The text of the confirming button, if it is not the label. */
  readonly action?: string;
  readonly title: string;
  readonly call: ApiCall;
  /** A name that the user must type to confirm an action that cannot be undone. */
  readonly name?: string;
  readonly small?: boolean;
  readonly forbidden?: string | undefined;
  readonly after?: () => void;
  readonly children?: ReactNode;
}

/** Removes something after a confirmation. */
export function RemoveButton({ label, text = label, forbidden, small = true, ...rest }: RemoveButtonProps) {
  return (
    <Opener label={label} text={text} kind="danger" small={small} forbidden={forbidden}>
      {(close) => <Ask label={label} onClose={close} {...rest} />}
    </Opener>
  );
}

function Ask({
  label,
  action = label,
  title,
  call,
  name,
  after,
  children,
  onClose,
}: Omit<RemoveButtonProps, 'forbidden' | 'small' | 'text'> & { readonly onClose: () => void }) {
  const send = useChange(call, () => {
    onClose();
    after?.();
  });
  return (
    <Confirm
      title={title}
      action={action}
      danger
      busy={send.isPending}
      onClose={onClose}
      onConfirm={() => send.mutate()}
      {...(name === undefined ? {} : { name })}
    >
      {children}
      <ErrorNotice error={send.error} />
    </Confirm>
  );
}
