import { ByteCollector } from '../http/byte-collector.ts';
import { Refusal } from './envelope.ts';

/**
 * Reads a request body as JSON: 415 for another media type, charset or content coding, 413 beyond `limit` bytes, 400 unless it is
 * JSON in UTF-8. Bodies in gzip and deflate are decoded. Numbers become doubles, as in any plain service.
 */
export async function readJson(request: Request, limit: number): Promise<unknown> {
  requireJson(request.headers);
  const text = decode(await readBytes(request, limit));
  try {
    return JSON.parse(text);
  } catch {
    const problem = text.trim() === '' ? 'The body is empty' : 'The body is not valid JSON';
    throw new Refusal(400, `${problem}: send one JSON object.`);
  }
}

function requireJson(headers: Headers): void {
  const type = headers.get('content-type') ?? '';
  if (!isUtf8Json(type)) {
    throw new Refusal(415, 'The body must be application/json in UTF-8.', {
      headers: { accept: 'application/json' },
    });
  }
}

/** The stream that undoes the coding of a body; undefined when it has none. */
function decoderFor(headers: Headers): DecompressionStream | undefined {
  const coding = (headers.get('content-encoding') ?? 'identity').trim().toLowerCase();
  if (coding === 'identity') return undefined;
  if (coding === 'gzip' || coding === 'deflate') return new DecompressionStream(coding);
  throw new Refusal(
    415,
    `The body is encoded as ${JSON.stringify(coding)}: send it in gzip, in deflate or without Content-Encoding.`,
    { headers: { 'accept-encoding': 'gzip, deflate' } },
  );
}

function isUtf8Json(contentType: string): boolean {
  const [type = '', ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase());
  if (type !== 'application/json' && !/^application\/[\w.-]+\+json$/.test(type)) return false;
  return parameters.every((parameter) => {
    const [name, value = ''] = parameter.split('=');
    return name !== 'charset' || value.replaceAll('"', '') === 'utf-8';
  });
}

/** Counts the bytes received: a Content-Length may be absent or false, so it only rejects oversized uploads early. */
async function readBytes(request: Request, limit: number): Promise<Uint8Array> {
  const tooLarge = new Refusal(413, `The body is larger than ${limit} bytes.`);
  if (Number(request.headers.get('content-length') ?? 0) > limit) throw tooLarge;
  const decoder = decoderFor(request.headers);
  const body = new ByteCollector();
  try {
    const stream = decoder === undefined ? request.body : request.body?.pipeThrough(decoder);
    for await (const chunk of stream ?? []) {
      body.add(chunk);
      if (body.length > limit) throw tooLarge;
    }
  } catch (error) {
    throw error instanceof Refusal ? error : new Refusal(400, 'The body ended before it was complete.');
  }
  return body.take();
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Refusal(400, 'The body is not UTF-8: send JSON in UTF-8.');
  }
}
