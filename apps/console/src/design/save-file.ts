/** Saves a string or bytes as a file, without sending them anywhere. */
export function saveFile(name: string, content: BlobPart, type = 'text/plain'): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name.replace(/[^\w.-]+/g, '-');
  link.click();
  URL.revokeObjectURL(url);
}
