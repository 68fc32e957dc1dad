import { Buffer } from 'node:buffer';

/** The body of what V2 responds to every request: 1 KB of JSON. */
export const responseBody = `{"data":${JSON.stringify({ id: 4711, status: 'ordered', notes: 'x'.repeat(950) })}}`;

/** The response with it on the wire, in HTTP/1.1. */
export const response = Buffer.from(
  `HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nx-request-id: 0\r\nContent-Length: ${responseBody.length}\r\n\r\n${responseBody}`,
);
