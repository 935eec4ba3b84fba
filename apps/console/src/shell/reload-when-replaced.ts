/** How long a page must have been open before it may be from a version that the service no longer serves. */
const longMs = 10_000;

/** After an upgrade, an open page may request chunks that no longer exist. Then the page is reloaded, but only once. */
export function reloadWhenReplaced(): void {
  addEventListener('vite:preloadError', (event) => {
    if (performance.now() < longMs) return;
    event.preventDefault();
    location.reload();
  });
}
