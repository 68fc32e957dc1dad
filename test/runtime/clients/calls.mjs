// Plays the calls in a JSON file (argument 2) with a library (argument 1) to each address that follows: see calls.py.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';

const [library, file, ...bases] = process.argv.slice(2);
const TIMEOUT = 20_000;

/** With values of one name in a list. */
const grouped = (fields) => {
  const record = {};
  for (const [name, value] of fields) record[name] = name in record ? [record[name], value].flat() : value;
  return record;
};

const parts = function* (body, size = 1000) {
  for (let at = 0; at < body.length; at += size) yield body.subarray(at, at + size);
};

const pairsOf = (raw) => raw.flatMap((name, at) => (at % 2 === 0 ? [[name, raw[at + 1]]] : []));

const LIBRARIES = {
  http: () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    return ({ method, address, fields, body, chunked }) =>
      new Promise((resolve, reject) => {
        const headers = grouped(fields);
        // Without it Node writes the body of a DELETE behind the request.
        if (body !== undefined && !chunked) headers['Content-Length'] = body.length;
        const request = http.request(address, { method, headers, agent, timeout: TIMEOUT });
        request.on('error', reject).on('timeout', () => request.destroy(new Error('timeout')));
        request.on('response', (response) =>
          buffer(response).then(
            (content) => resolve([response.statusCode, pairsOf(response.rawHeaders), content]),
            reject,
          ),
        );
        if (!chunked) return request.end(body);
        for (const part of parts(body)) request.write(part);
        return request.end();
      });
  },
  fetch:
    () =>
    async ({ method, address, fields, body, chunked }) => {
      const content = chunked ? Readable.toWeb(Readable.from(parts(body))) : body;
      const signal = AbortSignal.timeout(TIMEOUT);
      const init = { method, headers: fields, body: content, duplex: 'half', signal };
      const response = await fetch(address, init);
      return [response.status, [...response.headers], Buffer.from(await response.arrayBuffer())];
    },
  axios: async () => {
    const { default: axios } = await import('axios');
    return async ({ method, address, fields, body, chunked }) => {
      const response = await axios.request({
        url: address,
        method,
        headers: grouped(fields),
        data: chunked ? Readable.from(parts(body)) : body,
        responseType: 'arraybuffer',
        validateStatus: () => true,
        timeout: TIMEOUT,
      });
      return [response.status, listed(response.headers), response.data];
    };
  },
  got: async () => {
    const { default: got } = await import('got');
    return async ({ method, address, fields, body, chunked }) => {
      const response = await got(address, {
        method,
        headers: grouped(fields),
        body: chunked ? Readable.from(parts(body)) : body,
        responseType: 'buffer',
        throwHttpErrors: false,
        retry: { limit: 0 },
        timeout: { request: TIMEOUT },
        allowGetBody: true,
      });
      return [response.statusCode, listed(response.headers), Buffer.from(response.body)];
    };
  },
  curl:
    () =>
    ({ method, address, fields, body, chunked }) =>
      new Promise((resolve, reject) => {
        const args = [
          '-sS',
          '-L',
          '--compressed',
          '-m',
          '20',
          '-w',
          '%{stderr}%{http_code} %{header_json}',
          address,
        ];
        args.push(...(method === 'HEAD' ? ['-I', '-o', '/dev/null'] : ['-X', method]));
        for (const [name, value] of fields) args.push('-H', value === '' ? `${name};` : `${name}: ${value}`);
        if (body !== undefined) args.push('--data-binary', '@-');
        if (chunked) args.push('-H', 'Transfer-Encoding: chunked');
        const child = execFile(
          'curl',
          args,
          { encoding: 'buffer', maxBuffer: 2 ** 27 },
          (error, out, head) => {
            if (error !== null) return reject(Object.assign(error, { code: `curl ${error.code}` }));
            const text = head.toString('latin1');
            const record = Object.entries(JSON.parse(text.slice(4)));
            const pairs = record.flatMap(([name, values]) => values.map((value) => [name, value]));
            return resolve([Number(text.slice(0, 3)), pairs, out]);
          },
        );
        child.stdin.on('error', () => {}).end(body);
      }),
};

/** Fields of a record with lists, as pairs. */
const listed = (record) =>
  Object.entries(record).flatMap(([name, values]) => [values].flat().map((value) => [name, value]));

const calls = JSON.parse(readFileSync(file, 'utf8'));

for (const base of bases) {
  const send = await LIBRARIES[library]();
  let tag = '';
  for (const call of calls) {
    const fields = call.fields.map(([name, value]) => [name, value.replace('{etag}', tag)]);
    const body = call.body === null ? undefined : readFileSync(call.body);
    try {
      const [status, head, content] = await send({ ...call, address: base + call.path, fields, body });
      tag = head.find(([name]) => name.toLowerCase() === 'etag')?.[1] ?? tag;
      console.log(JSON.stringify([status, head, content.toString('base64')]));
    } catch (error) {
      console.log(JSON.stringify(error.cause?.code ?? error.code ?? error.name));
    }
  }
}
