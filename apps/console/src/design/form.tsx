import { type FormEvent, type ReactNode, type RefObject, useLayoutEffect, useRef, useState } from 'react';
import { Button, type ButtonProps } from './button';
import { Dialog } from './dialog';
import { ErrorNotice } from './error-notice';
import { Notice } from './notice';

/** The parts of a mutation that a form shows: whether it is running, and its error. */
export interface FormChange {
  readonly isPending: boolean;
  readonly error: unknown;
}

export interface FormProps {
  readonly title?: string;
  /** `panel` is a separate box; `line` holds one or two fields and their button. */
  readonly layout?: 'plain' | 'panel' | 'dialog' | 'line';
  /** The text of the submit button: its action. */
  readonly action: string;
  readonly kind?: ButtonProps['kind'] | undefined;
  readonly change: FormChange;
  /** A validation error found before submitting. */
  readonly problem?: string | undefined;
  /** Why the form cannot be submitted now. */
  readonly forbidden?: string | undefined;
  /** Additional explanation, shown below `forbidden`. */
  readonly why?: ReactNode;
  readonly onSend: () => void;
  readonly onBack?: (() => void) | undefined;
  /** Additional content, shown next to the submit button. */
  readonly extra?: ReactNode;
  readonly children: ReactNode;
}

const classOf = { plain: 'form', panel: 'form panel', dialog: 'stack', line: 'inline-form' } as const;

/**
 * Fields with their submit button. A form is not submitted again while a request is in progress. Errors are shown above
 * the button.
 */
export function Form({
  title,
  layout = 'plain',
  action,
  kind = layout === 'line' ? undefined : 'primary',
  change,
  problem,
  forbidden,
  why,
  onSend,
  onBack,
  extra,
  children,
}: FormProps) {
  const send = (event: FormEvent) => {
    event.preventDefault();
    // Don't submit an outer form.
    event.stopPropagation();
    if (!change.isPending && forbidden === undefined) onSend();
  };
  const button = (
    <Button type="submit" {...(kind ? { kind } : {})} busy={change.isPending} forbidden={forbidden} why={why}>
      {action}
    </Button>
  );
  const back = onBack === undefined ? null : <Button onClick={onBack}>Cancel</Button>;
  const element = useRef<HTMLFormElement>(null);
  const isAtFields = useToldAtFields(element, change.error);
  const refused = <ErrorNotice error={problem ?? (isAtFields ? null : change.error)} />;
  return (
    <form className={classOf[layout]} onSubmit={send} ref={element}>
      {title === undefined ? null : <h2>{title}</h2>}
      {children}
      {layout === 'line' ? (
        <>
          {button}
          {refused}
        </>
      ) : (
        <>
          {refused}
          <div className={layout === 'dialog' ? 'row end' : 'row'}>
            {layout === 'dialog' ? back : null}
            {button}
            {layout === 'dialog' ? null : back}
            {extra}
          </div>
        </>
      )}
    </form>
  );
}

/**
 * Whether the fields show the whole error, so that the form need not repeat it. If so, the first of these fields gets
 * the focus.
 */
function useToldAtFields(form: RefObject<HTMLFormElement | null>, error: unknown): boolean {
  const [isTold, setTold] = useState(false);
  useLayoutEffect(() => {
    const wrong = [...(form.current?.querySelectorAll<HTMLElement>('[aria-invalid="true"]') ?? [])];
    const messages = wrong.map(
      (field) => document.getElementById(field.getAttribute('aria-describedby') ?? '')?.textContent,
    );
    const { issues = [] } = (error ?? {}) as { readonly issues?: readonly { readonly detail: string }[] };
    const isAll = issues.length > 0 && issues.every(({ detail }) => messages.includes(detail));
    setTold(isAll);
    if (isAll) wrong[0]?.focus();
  }, [form, error]);
  return isTold;
}

/** A form in a dialog. */
export function FormDialog({
  title,
  onBack,
  ...form
}: FormProps & { readonly title: string; readonly onBack: () => void }) {
  return (
    <Dialog title={title} onClose={onBack}>
      <Form {...form} layout="dialog" onBack={onBack} />
    </Dialog>
  );
}

export interface SettingsFormProps extends Omit<FormProps, 'action' | 'layout' | 'onBack' | 'extra'> {
  readonly action?: string;
  readonly draft: { readonly isChanged: boolean; readonly reset: () => void };
  readonly change: FormChange & { readonly isSuccess: boolean };
}

/** Stored values with edits; only changed values are sent. */
export function SettingsForm({ draft, action = 'Save changes', forbidden, children, ...form }: SettingsFormProps) {
  const { isChanged, reset } = draft;
  return (
    <Form
      {...form}
      action={action}
      forbidden={forbidden ?? (isChanged ? undefined : 'Nothing has been changed.')}
      extra={isChanged ? <Button onClick={reset}>Undo changes</Button> : null}
    >
      {children}
      {form.change.isSuccess && !isChanged ? <Notice tone="green">Saved.</Notice> : null}
    </Form>
  );
}
