import type { ExplainRequest, Explanation } from '../../inspector/api.ts';
import { explain } from '../../inspector/explain/explain.ts';
import type { ExplainFault } from '../../inspector/explain/request-to-explain.ts';
import { decodeBody } from '../../node/decode-body.ts';
import type { CompiledRuleBook } from '../../rewrite/compiled-rule-book.ts';
import { settings } from '../../settings/settings.ts';

/** Explains requests as a gateway with these rules and the default limits would, without opening a listener. */
export function offlineExplainer(
  rules: CompiledRuleBook,
): (request: ExplainRequest) => Promise<Explanation | ExplainFault> {
  const { headerCount, headerBytes, bodyLimit } = settings;
  const parts = {
    rules,
    limits: { count: headerCount.value, bytes: headerBytes.value, bodyLimit: bodyLimit.value },
    decode: decodeBody,
    gatewayOrigin: 'http://127.0.0.1:8080',
    origin: 'https://captur3d.io',
  };
  return (request) => explain(request, parts);
}
