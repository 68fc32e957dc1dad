import { ByteCollector } from '../http/byte-collector.ts';
import { Refusal } from './envelope.ts';
import { isDeeper } from './json-depth.ts';

/**
 * Reads a request body as JSON: 415 for another media type, charset or content coding, 413 beyond `limit` bytes, 400 unless it is
 * JSON in UTF-8, nested at most 512 levels deep. Bodies in gzip and deflate are decoded. Numbers become doubles, as in any plain service.
 */
export async function readJson(request: Request, limit: number): Promise<unknown> {
  requireJson(request.headers);
  const bytes = await readBytes(request, limit);
  const body = parse(decode(bytes), bytes.length === 0);
  if (isDeeper(body, MAX_DEPTH))
    throw new Refusal(400, `The body is nested too deep: at most ${MAX_DEPTH} levels.`);
  return body;
}

const MAX_DEPTH = 512;

function parse(text: string, isEmpty: boolean): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const problem = isEmpty ? 'The body is empty' : 'The body is not valid JSON';
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
  throw new Refusal(415, 'The Content-Encoding is not supported: Accept-Encoding lists those that are.', {
    headers: { 'accept-encoding': 'gzip, deflate' },
  });
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
  if (Number(request.headers.get('content-length') ?? 0) > limit) throw tooLarge('body', limit);
  const decoder = decoderFor(request.headers);
  const body = new ByteCollector();
  try {
    const stream = decoder === undefined ? request.body : request.body?.pipeThrough(decoder);
    for await (const chunk of stream ?? []) {
      body.add(chunk);
      if (body.length > limit) throw tooLarge(decoder === undefined ? 'body' : 'decoded body', limit);
    }
  } catch (error) {
    if (error instanceof Refusal) throw error;
    const problem =
      decoder === undefined ? 'ended before it was complete' : 'does not match its Content-Encoding';
    throw new Refusal(400, `The body ${problem}.`);
  }
  return body.take();
}

function tooLarge(part: string, limit: number): Refusal {
  return new Refusal(413, `The ${part} is larger than ${limit} bytes.`);
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Refusal(400, 'The body is not UTF-8: send JSON in UTF-8.');
  }
}
