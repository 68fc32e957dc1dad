import { rmSync } from 'node:fs';
import type { AssembledImage } from './assemble-image.ts';

/** Removes the folders of an assembled image. */
export function removeImage({ folders }: AssembledImage): void {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
}
