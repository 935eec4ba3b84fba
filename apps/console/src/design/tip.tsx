import { Tooltip } from '@base-ui/react/tooltip';
import type { LucideIcon } from 'lucide-react';
import type { ReactElement } from 'react';
import { useLayer } from './layer';

/** A tooltip, shown on hover and keyboard focus. */
function Tip({ text, children }: { readonly text: string; readonly children: ReactElement }) {
  const layer = useLayer();
  return (
    <Tooltip.Root>
      <Tooltip.Trigger delay={300} render={children} />
      <Tooltip.Portal container={layer}>
        <Tooltip.Positioner className="popup-place" sideOffset={6}>
          <Tooltip.Popup className="popup tip">{text}</Tooltip.Popup>
        </Tooltip.Positioner>
      </Tooltip.Portal>
    </Tooltip.Root>
  );
}

/** An icon button, named after its action. */
export function IconButton({
  icon: Shape,
  name,
  onClick,
}: {
  readonly icon: LucideIcon;
  readonly name: string;
  readonly onClick: () => void;
}) {
  return (
    <Tip text={name}>
      <button type="button" className="icon-button" aria-label={name} onClick={onClick}>
        <Shape size={16} aria-hidden="true" />
      </button>
    </Tip>
  );
}
