import { describe } from 'vitest';
import { UndiciUpstream } from '../../src/node/upstream/undici-upstream.ts';
import { nodeUpstreamContract } from './node-upstream.ts';

describe('the upstream on undici', () => {
  nodeUpstreamContract((options) => new UndiciUpstream(options));
});
