// Resolves a Postback URL to a target: the parsed URL and the checked addresses of its host. Both are cached,
// because the same few URLs are used thousands of times a second.

import { type AddressRange, judgeAddress } from "#core/domain/address.ts";
import { type PostbackUrl, parsePostbackUrl } from "#core/domain/postback-url.ts";
import type { Outcome } from "#core/domain/verdict.ts";
import type { LookUp } from "#core/ports.ts";

export interface Target {
	readonly url: PostbackUrl;
	/** Address of a literal host. Undefined for a host name, which is looked up for each attempt. */
	readonly literal: LookUp | undefined;
	/** The checked list of addresses. If a lookup returns the same list, it is not checked again. */
	judged: readonly string[] | undefined;
	judgement: Judgement | undefined;
}

/**
 * One way to the host, which is a host name and an address. Connections are pooled by route, because a connection is
 * only valid for the host name in its certificate.
 */
export interface Route {
	readonly address: string;
	readonly key: string;
}

export type Judgement = { ok: true; routes: readonly Route[] } | { ok: false; outcome: Outcome };

export interface Targets {
	find(url: string): Target | undefined;
	/**
	 * Checks all addresses of a host. If one of them is forbidden, the host is refused and nothing is sent to
	 * any of them.
	 */
	judge(target: Target, addresses: readonly string[]): Judgement;
}

/**
 * Maximum number of cached targets, about 20 MB with URLs of the full 2,048 characters. An evicted URL is
 * parsed again.
 */
const MAX_TARGETS = 4_096;

export function createTargets(allowedPrivateRanges: readonly AddressRange[]): Targets {
	const targets = new Map<string, Target>();

	function parse(text: string): Target | undefined {
		const parsed = parsePostbackUrl(text);
		if (!parsed.ok) return undefined;
		if (targets.size >= MAX_TARGETS) targets.clear();
		const url = parsed.value;
		const literal: LookUp | undefined = url.isLiteral ? { ok: true, addresses: [url.hostname] } : undefined;
		const target: Target = { url, literal, judged: undefined, judgement: undefined };
		targets.set(text, target);
		return target;
	}

	return {
		find: (text) => targets.get(text) ?? parse(text),
		judge(target, addresses) {
			if (target.judged !== addresses || target.judgement === undefined) {
				target.judged = addresses;
				target.judgement = judgeRoutes(target.url, addresses, allowedPrivateRanges);
			}
			return target.judgement;
		},
	};
}

function judgeRoutes(
	url: PostbackUrl,
	addresses: readonly string[],
	allowed: readonly AddressRange[],
): Judgement {
	for (const address of addresses) {
		const verdict = judgeAddress(address, allowed);
		if (!verdict.public) {
			return { ok: false, outcome: { kind: "forbidden-address", address, reason: verdict.reason } };
		}
	}
	return { ok: true, routes: addresses.map((address) => ({ address, key: `${url.origin} ${address}` })) };
}
