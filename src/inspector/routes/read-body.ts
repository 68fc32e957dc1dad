/** Maximum time to receive the whole body of a request to the admin listener, in milliseconds. */
const BODY_TIMEOUT_MS = 10_000;

/** The reason that a request body was not read, with the response status. */
export type BodyFault = 'too-large' | 'too-slow';

/** Reads the body of a request as text, up to `limit` bytes and within ten seconds; never buffers more than that. */
export async function readBody(request: Request, limit: number): Promise<{ text: string } | BodyFault> {
  if (Number(request.headers.get('content-length') ?? 0) > limit) return 'too-large';
  const reader = request.body?.getReader();
  if (reader === undefined) return { text: '' };
  const timeout = deadline();
  try {
    return await Promise.race([readAll(reader, limit), timeout.expired]);
  } finally {
    timeout.clear();
    // The unread rest is discarded, and so is its outcome.
    reader.cancel().catch(() => {});
  }
}

async function readAll(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  limit: number,
): Promise<{ text: string } | BodyFault> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return { text: text + decoder.decode() };
    bytes += value.length;
    if (bytes > limit) return 'too-large';
    text += decoder.decode(value, { stream: true });
  }
}

function deadline(): { readonly expired: Promise<BodyFault>; readonly clear: () => void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const expired = new Promise<BodyFault>((resolve) => {
    timer = setTimeout(() => resolve('too-slow'), BODY_TIMEOUT_MS);
  });
  return { expired, clear: () => clearTimeout(timer) };
}
