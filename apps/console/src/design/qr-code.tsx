import { useEffect, useRef } from 'react';

/** A URL as a QR code, drawn in the page so that the secret does not leave it. */
export function QrCode({ text, label }: { readonly text: string; readonly label: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    let isGone = false;
    // Loaded only when it is needed.
    void import('qrcode').then(({ create }) => {
      if (!isGone && canvas.current !== null) draw(canvas.current, create(text, {}).modules);
    });
    return () => {
      isGone = true;
    };
  }, [text]);
  return <canvas ref={canvas} className="qr-code" role="img" aria-label={label} width={4} height={4} />;
}

const border = 4;
const scale = 4;

function draw(
  canvas: HTMLCanvasElement,
  modules: { readonly size: number; get(row: number, column: number): unknown },
) {
  const side = (modules.size + 2 * border) * scale;
  canvas.width = side;
  canvas.height = side;
  const pen = canvas.getContext('2d');
  if (pen === null) return;
  // A light background in both themes: scanners expect dark on light.
  pen.fillStyle = '#ffffff';
  pen.fillRect(0, 0, side, side);
  pen.fillStyle = '#000000';
  for (let row = 0; row < modules.size; row++) {
    for (let column = 0; column < modules.size; column++) {
      if (modules.get(row, column)) pen.fillRect((column + border) * scale, (row + border) * scale, scale, scale);
    }
  }
}
