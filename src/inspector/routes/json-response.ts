/** Characters serialised and sent per turn of the event loop. */
const PART_CHARACTERS = 64 * 1024;

/** Levels of a value whose members and elements are serialised one by one; deeper values are serialised whole. */
const OPENED_LEVELS = 3;

const encoder = new TextEncoder();

/**
 * Responds with a value as JSON, serialised and sent in chunks so that a large one does not block client traffic; the value is
 * read while it is sent. Waits for a slow reader.
 */
export function jsonResponse(value: object): Response {
  return partsResponse(jsonParts(value), 'application/json');
}

/** Responds with a text that is generated and sent in chunks. */
export function partsResponse(
  parts: Iterator<string>,
  contentType: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const first = nextChunk(parts);
  const all = { 'Content-Type': contentType, ...headers };
  if (first.isLast) return new Response(first.text, { headers: all });
  let next = first;
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      controller.enqueue(encoder.encode(next.text));
      if (next.isLast) {
        controller.close();
        return;
      }
      await pause();
      next = nextChunk(parts);
    },
  });
  return new Response(body, { headers: all });
}

/** Yields to everything else that is due. */
export function pause(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 0);
  });
}

function nextChunk(parts: Iterator<string>): { readonly text: string; readonly isLast: boolean } {
  let text = '';
  while (text.length < PART_CHARACTERS) {
    const { value, done } = parts.next();
    if (done === true) return { text, isLast: true };
    text += value;
  }
  return { text, isLast: false };
}

/** The JSON text of a value, in chunks. */
export function* jsonParts(value: unknown, level = 0): Generator<string, void, undefined> {
  if (level === OPENED_LEVELS || typeof value !== 'object' || value === null) {
    yield JSON.stringify(value) ?? 'null';
    return;
  }
  const isList = Array.isArray(value);
  let separator = isList ? '[' : '{';
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined && !isList) continue;
    yield isList ? separator : `${separator}${JSON.stringify(name)}:`;
    yield* jsonParts(member, level + 1);
    separator = ',';
  }
  if (separator !== ',') yield separator;
  yield isList ? ']' : '}';
}
