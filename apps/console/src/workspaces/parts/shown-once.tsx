import { Button } from '../../design/button';
import { Notice } from '../../design/notice';
import { SecretValue } from '../../design/secret-value';

/**
 * A value that the service returns only once: a new token, a link. When the user closes it, the page drops the value.
 */
export function ShownOnce({
  name,
  value,
  onClose,
  children,
}: {
  readonly name: string;
  readonly value: string;
  readonly onClose: () => void;
  readonly children?: string;
}) {
  return (
    <Notice tone="green" alert>
      <strong>{name}: copy it now, it is not shown again.</strong>
      {children === undefined ? null : <span>{children}</span>}
      <SecretValue name={name} value={value} />
      <span>
        <Button small onClick={onClose}>
          I have it
        </Button>
      </span>
    </Notice>
  );
}
