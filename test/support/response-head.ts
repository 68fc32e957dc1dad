import type { HeaderList } from '../../src/http/header-list.ts';
import type { ResponseHead } from '../../src/http/response-head.ts';

/** A head that was not read from lines, by default with the standard reason phrase. */
export function responseHead(status: number, headers: HeaderList = [], reason?: string): ResponseHead {
  return { status, reason, headers, lines: undefined };
}
