import { readFileSync } from 'node:fs';

/** A stage of a Dockerfile. */
export interface Stage {
  /** Its name, or `image` for the last one. */
  readonly name: string;
  /** Its `COPY` and `RUN` instructions, in order, each in one line. */
  readonly steps: readonly string[];
}

/** The parts of a Dockerfile that building and starting the image depend on. */
export interface Dockerfile {
  readonly stages: readonly Stage[];
  readonly env: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  /** User and group, such as `65532:65532`. */
  readonly user: string;
  readonly workdir: string;
  readonly entrypoint: readonly string[];
  readonly cmd: readonly string[];
  readonly healthcheck: readonly string[];
  /** Times and retries of the health check, by name: `interval`, `timeout`, `start-period`, `retries`. */
  readonly healthcheckOptions: Readonly<Record<string, string>>;
  readonly ports: readonly string[];
}

/** Reads the Dockerfile in `root`. */
export function readDockerfile(root: URL): Dockerfile {
  const text = readFileSync(new URL('Dockerfile', root), 'utf8').replaceAll('\\\n', ' ');
  const last = text.slice(text.lastIndexOf('\nFROM '));
  const value = (instruction: string): string =>
    new RegExp(`^${instruction} +(.*)$`, 'm').exec(last)?.[1]?.trim() ?? '';
  const words = (instruction: string): readonly string[] =>
    JSON.parse(new RegExp(`^${instruction} .*?(\\[.*\\])$`, 'm').exec(last)?.[1] ?? '[]');
  return {
    stages: stagesOf(text),
    env: pairs(value('ENV')),
    labels: pairs(value('LABEL')),
    user: value('USER'),
    workdir: value('WORKDIR'),
    entrypoint: words('ENTRYPOINT'),
    cmd: words('CMD'),
    healthcheck: words('HEALTHCHECK'),
    healthcheckOptions: pairs(value('HEALTHCHECK').replaceAll('--', '')),
    ports: value('EXPOSE').split(/\s+/),
  };
}

function stagesOf(text: string): readonly Stage[] {
  return text
    .split(/^(?=FROM )/m)
    .slice(1)
    .map((stage) => ({
      name: /^FROM \S+ AS (\S+)/.exec(stage)?.[1] ?? 'image',
      steps: [...stage.matchAll(/^(?:COPY|RUN) .*$/gm)].map(([line]) => line),
    }));
}

function pairs(text: string): Readonly<Record<string, string>> {
  const found = [...text.matchAll(/([\w.-]+)=(?:"([^"]*)"|(\S+))/g)];
  return Object.fromEntries(found.map(([, name = '', quoted, bare = '']) => [name, quoted ?? bare]));
}
