import type { ExplainWork } from './operator-work.ts';

/** Bytes of the body that is explained: enough for the code to be compiled, little enough to be done in a moment. */
const BODY_BYTES = 256 * 1024;

/** Work whose result nobody needs: with it a thread has loaded and compiled what the first large body of an operator takes. */
export function warmUpWork(parts: Omit<ExplainWork, 'kind' | 'text'>): ExplainWork {
  const photo = { id: 1, url: 'https://photos.invalid/', tags: ['a', 'b'], isCover: false, caption: null };
  const photos = Array.from({ length: BODY_BYTES / JSON.stringify(photo).length }, () => photo);
  const body = JSON.stringify({ data: { photos, name: 'none' } });
  const headers = [['Content-Type', 'application/json']];
  const text = JSON.stringify({ method: 'POST', target: '/api/v1/warm-up', headers, body });
  return { kind: 'explain', text, ...parts };
}
